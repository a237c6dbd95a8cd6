"""What is said where no file descriptor is left, to this process or to the whole machine.

It says what to do, for trying again helps only if others let some go. Whoever comes upon it can open nothing
to find out more: all of this is loaded and made before.
"""

import errno
import resource

CHAIN_MAX = 20
"""How far back it is looked for what led to an error."""


def out_of_descriptors(error: BaseException | None) -> str | None:
    """One sentence, if it was that which led to this error; None of any other. Clients raise errors of their
    own while they handle it."""
    for _ in range(CHAIN_MAX):
        if error is None:
            return None
        number = error.errno if isinstance(error, OSError) else None
        if number == errno.EMFILE:
            most, _hard = resource.getrlimit(resource.RLIMIT_NOFILE)
            return (
                f"this process has no file descriptor left of the {most} that it may have; raise its limit "
                "(`ulimit -n`, LimitNOFILE of systemd, ulimits of Compose)"
            )
        if number == errno.ENFILE:
            return "this machine has no file descriptor left; raise its limit (`sysctl fs.file-max`)"
        error = error.__cause__ or error.__context__
    return None
