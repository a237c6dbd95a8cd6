"""Exponential gaps between events whose rate changes."""

from collections.abc import Callable

from shared.basics.units import to_whole_us


def reschedule_at_rate(
    next_us: int | None, now_us: int, rates: tuple[float, float], draw_us: Callable[[float], int]
) -> int | None:
    """Move an event from its time `next_us` (None if never) at the first of two rates to its time at the
    second rate. An event that is already due stays.

    The rest of an exponential gap is exponential, however much time has passed, and stays so if it is
    stretched by the ratio of the rates. If no event was scheduled, `draw_us` draws a whole gap for a rate,
    under a separate key, because the gap that did not end before the rate fell to 0 is known to be long.
    """
    before, after = rates
    if before == after or (next_us is not None and next_us <= now_us):
        return next_us
    if not after:
        return None
    if next_us is None or not before:
        return now_us + draw_us(after)
    return now_us + to_whole_us((next_us - now_us) * (before / after), 1)
