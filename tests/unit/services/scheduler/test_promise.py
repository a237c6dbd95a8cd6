"""What the first in the queue is promised, and that nobody who passes breaks it."""

from hypothesis import given
from hypothesis import strategies as st

from services.scheduler.promise import Promise, promise

rows = st.lists(st.tuples(st.integers(0, 30), st.integers(1, 6)), max_size=8)


def idle_at(idle: int, ends: list[tuple[int, int]], at_us: int) -> int:
    return idle + sum(cubes for end_us, cubes in ends if end_us <= at_us)


@given(st.integers(0, 8), rows, st.integers(1, 20))
def test_it_is_the_first_moment_with_enough_cubes(idle: int, ends: list[tuple[int, int]], cubes: int) -> None:
    now_us = 10
    found = promise(idle, ends, cubes, now_us)
    enough = [
        at_us
        for at_us in range(now_us, 40)
        if idle_at(idle, overrun(ends, idle, cubes, now_us), at_us) >= cubes
    ]
    assert (found is None) == (not enough)
    if found is not None:
        assert found.at_us == min(enough)


def overrun(ends: list[tuple[int, int]], idle: int, cubes: int, now_us: int) -> list[tuple[int, int]]:
    """One that should have ended already still holds its cubes: it is taken to end now."""
    return [(max(end_us, now_us), held) for end_us, held in ends] if idle < cubes else []


@given(st.integers(0, 8), rows, st.integers(1, 20), rows)
def test_whoever_passes_delays_the_first_by_nothing(
    idle: int, ends: list[tuple[int, int]], cubes: int, passing: list[tuple[int, int]]
) -> None:
    """On estimates that come true, against the same promise computed anew."""
    now_us = 10
    found = promise(idle, ends, cubes, now_us)
    if found is None or idle >= cubes:
        return
    at_us, kept = found.at_us, found
    for runs_us, wanted in passing:
        ends_us = now_us + runs_us
        if wanted <= idle and kept.lets_pass(wanted, ends_us):
            idle -= wanted
            ends = [*ends, (ends_us, wanted)]
            kept = kept.after(wanted, ends_us)
            again = promise(idle, ends, cubes, now_us)
            assert again is not None
            assert again.at_us == at_us
            assert again.spare >= kept.spare


def test_it_may_not_pass_who_needs_what_is_promised() -> None:
    kept = promise(4, [(50, 3), (90, 8)], 6, 10)
    assert kept == Promise(50, 1)
    assert kept.lets_pass(4, 50)
    assert kept.lets_pass(1, 51)
    assert not kept.lets_pass(2, 51)
    assert not kept.after(1, 51).lets_pass(1, 51)
