"""The queue by shape, against a plain sorted list."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from schemas.names import Shape
from services.scheduler.queue import Place, Queue
from shared.models.superpod.shapes import chips_of

SHAPES: list[Shape] = [(1, 1, 1), (2, 2, 4), (4, 4, 4), (4, 4, 16), (4, 8, 8), (8, 8, 8)]
CUBE: Shape = (4, 4, 4)


@given(st.lists(st.tuples(st.sampled_from(SHAPES), st.integers(-2, 2)), max_size=40), st.randoms())
def test_it_is_one_queue_in_order_whatever_is_taken(entries: list[tuple[Shape, int]], random: Random) -> None:
    queue = Queue()
    plain: list[tuple[int, int, Shape]] = []
    for number, (shape, priority) in enumerate(entries):
        queue.add(shape, priority, number)
        plain.append((-priority, number, shape))
        if random.random() < 0.3:
            taken = plain.pop(random.randrange(len(plain)))
            queue.remove(taken[2], -taken[0], taken[1])
    plain.sort()
    while plain:
        assert queue.head() == plain[0][:2]
        idle = random.choice([0, 64, 256, 4096])
        fitting = [entry for entry in plain if chips_of(entry[2]) <= max(idle, 63)]
        expected: dict[Shape, tuple[Place, Shape]] = {}
        for minus_priority, number, shape in fitting:
            expected.setdefault(shape, ((minus_priority, number), shape))
        assert queue.firsts(idle) == sorted(expected.values())
        shape = plain[0][2]
        queue.take_first(shape)
        plain.remove(min(entry for entry in plain if entry[2] == shape))
    assert queue.firsts(4096) == []
    assert queue.by_shape == {}


def test_what_remains_after_a_removal_is_still_in_order() -> None:
    queue = Queue()
    for number, priority in enumerate((9, 4, 8, 3, 2, 7, 6)):
        queue.add(CUBE, priority, number)
    queue.remove(CUBE, 9, 0)
    order = []
    while queue.by_shape:
        order.append(queue.head())
        queue.take_first(CUBE)
    assert order == [(-8, 2), (-7, 5), (-6, 6), (-4, 1), (-3, 3), (-2, 4)]
