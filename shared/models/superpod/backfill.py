"""When the first in the queue has whole cubes kept for it, and when others may pass."""


def keeping(requested_us: int, patience_us: int, now_us: int) -> tuple[bool, int | None]:
    """(Whether whole cubes are kept for the first in the queue, which was requested at this time; until when
    that stays so, None where it has no end).

    Not for its first patience, then for one, then not for the next, and so on: one that may never fit (others
    run on without an end) thus holds up the queue for half the time at most. Without patience, for ever.
    """
    if patience_us == 0:
        return True, None
    turns = (now_us - requested_us) // patience_us
    return turns % 2 == 1, requested_us + (turns + 1) * patience_us
