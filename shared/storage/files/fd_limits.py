"""Error texts for a process, or a machine, that has no file descriptor left.

The texts name the limit to raise, because a retry helps only if other descriptors are closed. Code that hits
this error cannot open files, so everything here is loaded beforehand.
"""

import errno
import resource

CHAIN_MAX = 20
"""Length of the chain of causes that is searched."""


def out_of_descriptors(error: BaseException | None) -> str | None:
    """One sentence if a lack of file descriptors caused this error, else None. Also searches the causes,
    because clients raise errors of their own."""
    for _ in range(CHAIN_MAX):
        if error is None:
            return None
        code = error.errno if isinstance(error, OSError) else None
        if code == errno.EMFILE:
            most, _hard = resource.getrlimit(resource.RLIMIT_NOFILE)
            return (
                f"this process has no file descriptor left (its limit is {most}); raise the limit "
                "(`ulimit -n`, LimitNOFILE of systemd, ulimits of Compose)"
            )
        if code == errno.ENFILE:
            return "this machine has no file descriptor left; raise its limit (`sysctl fs.file-max`)"
        error = error.__cause__ or error.__context__
    return None
