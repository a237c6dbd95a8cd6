"""The queue with its lines, against a plain sorted list."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from services.scheduler.structures.waiting_lines import FILLER, Line, Queue

LINES: list[Line] = [
    (0, "operator", (4, 4, 4)),
    (1, "team-1", (4, 4, 4)),
    (1, "team-2", (4, 4, 4)),
    (1, "team-2", (2, 2, 1)),
    (2, "free", (4, 4, 8)),
]


@given(st.lists(st.tuples(st.sampled_from(LINES), st.integers(-2, 2)), max_size=40), st.randoms())
def test_every_line_stays_sorted_after_removals(entries: list[tuple[Line, int]], random: Random) -> None:
    queue = Queue()
    plain: list[tuple[Line, tuple[int, int]]] = []
    for number, (line, priority) in enumerate(entries):
        queue.add(line, (-priority, number))
        plain.append((line, (-priority, number)))
        if random.random() < 0.3:
            removed = plain.pop(random.randrange(len(plain)))
            queue.remove(*removed)
        for key in LINES:
            assert queue.lines.get(key, []) == sorted(place for line, place in plain if line == key)
        for owner in ("operator", "team-1", "team-2", "free"):
            assert queue.waiting(owner) == sum(line[1] == owner for line, _ in plain)
    assert queue.firm_owners() == {line[1] for line, _ in plain if line[0] != FILLER}
    assert set(queue.filler()) == {line for line, _ in plain if line[0] == FILLER}
