"""The checker of hardware reports accepts a drain of a drained cube only for another request.

The report then has the end that it replaces.
"""

import pytest

from ops.invariants.part_reports import PartReportChecker
from schemas.body import Body
from schemas.envelope import enclose
from schemas.messages.cubes import CubeDrained, CubeUndrained

UNDRAINED = CubeUndrained(cube=1)


def window(until_us: int | None, was_until_us: int | None = None) -> CubeDrained:
    return CubeDrained(cube=1, why="window", until_us=until_us, was_until_us=was_until_us)


def by_operator(was_until_us: int | None = None) -> CubeDrained:
    return CubeDrained(cube=1, was_until_us=was_until_us)


def maintenance() -> CubeDrained:
    return CubeDrained(cube=1, why="maintenance")


@pytest.mark.parametrize(
    ("reports", "problem"),
    [
        ([(window(9), 1), (window(12, 9), 2)], None),
        ([(window(9), 1), (window(7, 9), 2)], None),
        ([(window(9), 1), (window(9), 2)], None),
        ([(window(9), 1), (window(None, 9), 2)], None),
        ([(window(9), 1), (by_operator(9), 2)], None),
        ([(window(9), 1), (UNDRAINED, 2), (window(12), 3)], None),
        ([(maintenance(), 1), (window(9, 7), 2), (UNDRAINED, 3), (maintenance(), 4)], None),
        ([(window(9), 1), (window(9), 1)], "was drained (window of operator@pod-0/1) already"),
        ([(window(9), 1), (window(12, 9), 1)], "was drained (window of operator@pod-0/1) already"),
        ([(window(9), 1), (window(12), 2)], "replaces the end None, but it was 9"),
        ([(window(9), 1), (window(12, 8), 2)], "replaces the end 8, but it was 9"),
        ([(window(9), 1), (by_operator(), 2)], "replaces the end None, but it was 9"),
        ([(by_operator(), 1), (by_operator(), 2)], "was drained (by an operator) already"),
        ([(maintenance(), 1), (maintenance(), 2)], "was drained (maintenance) already"),
        ([(window(9), 1), (UNDRAINED, 2), (UNDRAINED, 3)], "was well already"),
    ],
)
def test_a_drain_is_reported_once_for_each_request(
    reports: list[tuple[Body, int]], problem: str | None
) -> None:
    """Each case is a list of reports with the number of the request."""
    checker = PartReportChecker()
    log = [
        enclose(
            body, fabric="pod-0", at_us=seq, cause=f"operator@pod-0/{request}", source="cubes@pod-0", seq=seq
        )
        for seq, (body, request) in enumerate(reports, start=1)
    ]
    found = [one for message in log for one in checker.see(message)]
    assert len(found) == (problem is not None)
    assert problem is None or problem in found[0]
