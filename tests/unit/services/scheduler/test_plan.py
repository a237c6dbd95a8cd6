"""Bookings over time, against a check at every time."""

from hypothesis import given
from hypothesis import strategies as st

from services.scheduler.structures.reservations import ReservationTable
from services.scheduler.structures.timeline import FOREVER

NOW_US = 10
TIMES = [10, 11, 12, 15, 20, FOREVER]
BOOKINGS = st.lists(
    st.tuples(st.integers(0, 15), st.sampled_from(TIMES[:-1]), st.sampled_from(TIMES[1:])), max_size=6
)


@given(st.lists(st.sampled_from(TIMES), min_size=4, max_size=4), BOOKINGS, st.sampled_from(TIMES[1:]))
def test_free_is_the_set_of_cubes_without_a_booking_at_any_time(
    ends: list[int], bookings: list[tuple[int, int, int]], until_us: int
) -> None:
    plan = ReservationTable(NOW_US, ends)
    valid_bookings = [(cubes, start, end) for cubes, start, end in bookings if start < end]
    for cubes, start, end in valid_bookings:
        plan.reserve(cubes, start, end)
    assert plan.times == sorted(set(plan.times))
    for at, at_us in enumerate(plan.times):
        for cube in range(4):
            times = [t for t in range(at_us, 25) if t == at_us or t < until_us]
            used = any(
                ends[cube] > t or any(c >> cube & 1 and start <= t < end for c, start, end in valid_bookings)
                for t in times
            )
            assert plan.free(at, until_us) >> cube & 1 == (not used)
    for cube in range(4):
        assert plan.is_booked(cube, until_us) == any(
            c >> cube & 1 and start < until_us for c, start, _ in valid_bookings
        )
