"""The queue by size, against a plain sorted list."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from services.scheduler.queue import Place, Queue

SIZES = [1, 16, 64, 128, 512]


@given(st.lists(st.tuples(st.sampled_from(SIZES), st.integers(-2, 2)), max_size=40), st.randoms())
def test_it_is_one_queue_in_order_whatever_is_taken(entries: list[tuple[int, int]], random: Random) -> None:
    queue = Queue()
    plain: list[tuple[int, int, int]] = []
    for number, (chips, priority) in enumerate(entries):
        queue.add(chips, priority, number)
        plain.append((-priority, number, chips))
        if random.random() < 0.3:
            taken = plain.pop(random.randrange(len(plain)))
            queue.remove(taken[2], -taken[0], taken[1])
    plain.sort()
    while plain:
        assert queue.head() == plain[0][:2]
        idle = random.choice([0, 64, 128, 4096])
        fitting = [entry for entry in plain if entry[2] <= idle or entry[2] < 64]
        expected: dict[int, tuple[Place, int]] = {}
        for minus_priority, number, chips in fitting:
            expected.setdefault(chips, ((minus_priority, number), chips))
        assert queue.firsts(idle) == sorted(expected.values())
        chips = plain[0][2]
        queue.take_first(chips)
        plain.remove(min(entry for entry in plain if entry[2] == chips))
    assert queue.firsts(4096) == []
    assert queue.by_chips == {}


def test_what_remains_after_a_removal_is_still_in_order() -> None:
    queue = Queue()
    for number, priority in enumerate((9, 4, 8, 3, 2, 7, 6)):
        queue.add(64, priority, number)
    queue.remove(64, 9, 0)
    order = []
    while queue.by_chips:
        order.append(queue.head())
        queue.take_first(64)
    assert order == [(-8, 2), (-7, 5), (-6, 6), (-4, 1), (-3, 3), (-2, 4)]
