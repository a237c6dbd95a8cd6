"""Loads that change during a run, against a fluid that is followed in small steps."""

import pytest

from ops.lab.lasting_loads import LoadPiece, lasting_loads, overloaded_days
from shared.models.reliability.server_load import ServerLoad

DAYS = 60.0


def pieces(*steps: tuple[float, float]) -> list[LoadPiece]:
    """From (days, load) of two servers."""
    found, at = list[LoadPiece](), 0.0
    for days, load in steps:
        found.append(LoadPiece(ServerLoad("technicians", 2.0, 2.0 * load, 1.0), at, at + days))
        at += days
    return found


def followed(steps: tuple[tuple[float, float], ...]) -> float:
    """Days with a backlog, in steps of a hundredth of a day."""
    waiting = found = 0.0
    for days, load in steps:
        for _ in range(round(days * 100)):
            waiting = max(0.0, waiting + 2.0 * (load - 1.0) / 100)
            found += 0.01 * (waiting > 1e-9)
    return found


@pytest.mark.parametrize(
    "steps",
    [
        ((60.0, 0.5),),
        ((1.0, 1.5), (59.0, 0.5)),
        ((30.0, 0.1), (30.0, 1.2)),
        ((59.0, 0.5), (1.0, 9.0)),
        ((5.0, 3.0), (55.0, 0.9)),
        ((5.0, 1.5), (10.0, 0.5), (5.0, 1.5), (40.0, 0.2)),
    ],
)
def test_a_backlog_lasts_as_long_as_that_of_a_fluid(steps: tuple[tuple[float, float], ...]) -> None:
    assert overloaded_days(pieces(*steps)) == pytest.approx(followed(steps), abs=0.1)


@pytest.mark.parametrize(
    ("steps", "want"),
    [
        (((60.0, 0.5),), [0.5]),
        (((1.0, 1.5), (59.0, 0.5)), [0.5]),
        (((59.0, 0.5), (1.0, 9.0)), [0.5]),
        (((30.0, 0.1), (30.0, 1.2)), [0.1, 1.2]),
        (((5.0, 3.0), (55.0, 0.9)), [3.0, 0.9]),
        (((20.0, 0.5), (20.0, 0.5), (20.0, 0.6)), [0.5, 0.6]),
        (((2.0, 0.5), (58.0, 0.6)), [0.6]),
    ],
)
def test_short_loads_do_not_count(steps: tuple[tuple[float, float], ...], want: list[float]) -> None:
    assert [one.load.load for one in lasting_loads(pieces(*steps), DAYS)] == pytest.approx(want)


def test_of_many_short_loads_all_count() -> None:
    many = pieces(*[(2.0, 0.3 + 0.01 * n) for n in range(30)])
    assert len(lasting_loads(many, DAYS)) == 30
