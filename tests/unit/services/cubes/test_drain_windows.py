"""Planned drains of operators: when they start and end, what cancels them, and what is refused."""

import pytest

from ops.invariants.part_reports import PartReportChecker
from schemas.config.cubes import CubesConfig
from schemas.config.pods import PodConfig, SuperpodConfig
from schemas.messages.cubes import (
    CubeDrained,
    CubeUndrained,
    DrainPlanned,
    DrainRefused,
    PlannedDrainCancelled,
)
from schemas.messages.operator import DrainCube, UndrainCube
from services.cubes.service import SERVICE
from shared.basics.units import US_PER_DAY, US_PER_HOUR
from tests.support.rig import Bench, bodies

HOUR, NAME = US_PER_HOUR, "pod-0/cube-1"


def pod(**config: float) -> Bench:
    config_ = CubesConfig(**config)  # type: ignore[arg-type]  # numbers for fields of numbers
    return Bench([SERVICE], SuperpodConfig(pod=PodConfig(cubes=4), cubes=config_))


def changes(bench: Bench) -> list[tuple[int, str]]:
    """(time, type) of every start and end of a drain."""
    return [(m.at_us, m.type) for m in bench.log if isinstance(m.body, CubeDrained | CubeUndrained)]


@pytest.mark.parametrize(
    ("from_us", "hours", "expected"),
    [
        (3 * HOUR, 4, [(3 * HOUR, "CubeDrained"), (7 * HOUR, "CubeUndrained")]),
        (3 * HOUR, None, [(3 * HOUR, "CubeDrained")]),
        (None, 4, [(HOUR, "CubeDrained"), (5 * HOUR, "CubeUndrained")]),
        (HOUR // 2, 1, [(HOUR, "CubeDrained"), (HOUR * 3 // 2, "CubeUndrained")]),
    ],
)
def test_a_planned_drain_starts_and_ends_at_its_times(
    from_us: int | None, hours: int | None, expected: list[tuple[int, str]]
) -> None:
    bench = pod()
    duration_us = None if hours is None else hours * HOUR
    bench.say(DrainCube(cube=NAME, from_us=from_us, duration_us=duration_us), HOUR)
    document = bench.documents["cubes", NAME]
    assert (document.drain_from_us is None) == (expected[0][0] == HOUR)
    assert document.drain_until_us == (expected[1][0] if len(expected) > 1 else None)
    bench.reload()
    bench.run(2 * US_PER_DAY)
    assert changes(bench) == expected
    bench.assert_documents_hold()


def test_a_planned_drain_can_be_cancelled_once() -> None:
    bench = pod()
    bench.say(DrainCube(cube=NAME, from_us=3 * HOUR, duration_us=HOUR), 1)
    (cancelled,) = bodies(bench.say(UndrainCube(cube=NAME), 2))
    assert cancelled == PlannedDrainCancelled(cube=1, from_us=3 * HOUR)
    (refused,) = bodies(bench.say(UndrainCube(cube=NAME), 3), DrainRefused)
    assert refused.reason.endswith("is not drained")
    bench.run(US_PER_DAY)
    assert changes(bench) == []


def test_an_undrain_ends_a_planned_drain_early() -> None:
    bench = pod()
    bench.say(DrainCube(cube=NAME, from_us=3 * HOUR, duration_us=4 * HOUR), 1)
    bench.say(UndrainCube(cube=NAME), 5 * HOUR)
    bench.run(US_PER_DAY)
    assert changes(bench) == [(3 * HOUR, "CubeDrained"), (5 * HOUR, "CubeUndrained")]


def test_an_immediate_drain_replaces_the_planned_one() -> None:
    bench = pod()
    bench.say(DrainCube(cube=NAME, from_us=3 * HOUR, duration_us=HOUR), 1)
    drained, cancelled = bodies(bench.say(DrainCube(cube=NAME), HOUR))
    assert (type(drained), type(cancelled)) == (CubeDrained, PlannedDrainCancelled)
    bench.run(US_PER_DAY)
    assert changes(bench) == [(HOUR, "CubeDrained")]


@pytest.mark.parametrize(
    ("before", "words"),
    [
        (
            [DrainCube(cube=NAME, from_us=HOUR * 9)],
            ["planned drain from 0d09:00:00 without an end", "undrain"],
        ),
        ([DrainCube(cube=NAME, from_us=HOUR * 9, duration_us=HOUR)], ["from 0d09:00:00 to 0d10:00:00"]),
        ([DrainCube(cube=NAME)], ["is drained already, without an end"]),
    ],
)
def test_a_second_plan_is_refused_with_its_reason(before: list[DrainCube], words: list[str]) -> None:
    bench = pod()
    for body in before:
        bench.say(body, 1)
    (refused,) = bodies(bench.say(DrainCube(cube=NAME, from_us=3 * HOUR), 2), DrainRefused)
    assert all(word in refused.reason for word in [NAME, *words])


def test_a_plan_in_the_past_is_refused() -> None:
    (refused,) = bodies(
        pod().say(DrainCube(cube=NAME, from_us=HOUR, duration_us=HOUR), 5 * HOUR), DrainRefused
    )
    assert (
        refused.reason == f"cube: '{NAME}' would be drained until 0d02:00:00, which is past; must end later"
    )


def test_maintenance_yields_to_the_drain_of_an_operator() -> None:
    """A roll-out that has drained the cube hands it over with the later end, and continues."""
    bench = pod(rollout_every_days=1.0, rollout_cubes=1, rollout_h=4.0)
    bench.say(DrainCube(cube="pod-0/cube-0", from_us=US_PER_DAY + HOUR, duration_us=HOUR), 1)
    bench.run(US_PER_DAY + 22 * HOUR)
    first = [(m.at_us, m.body.why) for m in bench.log if isinstance(m.body, CubeDrained) and m.body.cube == 0]
    assert first == [(US_PER_DAY, "rollout"), (US_PER_DAY + HOUR, "window")]
    ends = [m.at_us for m in bench.log if isinstance(m.body, CubeUndrained) and m.body.cube == 0]
    assert ends == [US_PER_DAY + 4 * HOUR]
    assert [body.cube for body in bodies(bench.log, CubeDrained) if body.why == "rollout"] == [0, 1, 2, 3]
    assert len(bodies(bench.log, DrainPlanned)) == 1


WINDOWS = [(3 * HOUR, 4), (3 * HOUR, None), (None, 4)]
"""Begin and hours of a drain."""


@pytest.mark.parametrize(("from_us", "hours"), WINDOWS)
@pytest.mark.parametrize("later_us", [HOUR + 1, 2 * HOUR, 4 * HOUR, 6 * HOUR])
def test_the_same_drain_again_changes_nothing(from_us: int | None, hours: int | None, later_us: int) -> None:
    """Whether it is planned or has begun. One that began at once is the same if it ends at the same time."""
    bench = pod()
    duration_us = None if hours is None else hours * HOUR
    bench.say(DrainCube(cube=NAME, from_us=from_us, duration_us=duration_us), HOUR)
    before = bench.documents["cubes", NAME]
    again = DrainCube(cube=NAME, from_us=HOUR if from_us is None else from_us, duration_us=duration_us)
    begun = later_us > (from_us or 0)
    if duration_us is not None and later_us >= (from_us or HOUR) + duration_us:
        return  # it is over
    assert bodies(bench.say(again, later_us), DrainRefused) == []
    assert not begun or from_us is None or bench.documents["cubes", NAME].drained
    if not begun:
        assert bench.documents["cubes", NAME] == before
    bench.run(2 * US_PER_DAY)
    assert [kind for _, kind in changes(bench)].count("CubeDrained") == 1


def test_another_drain_is_still_refused_or_replaces_the_end() -> None:
    bench = pod()
    bench.say(DrainCube(cube=NAME, from_us=3 * HOUR, duration_us=4 * HOUR), 1)
    for other in ((3 * HOUR, 5 * HOUR), (3 * HOUR, None), (4 * HOUR, 3 * HOUR)):
        assert bodies(
            bench.say(DrainCube(cube=NAME, from_us=other[0], duration_us=other[1]), 2), DrainRefused
        )


def test_a_drain_emits_the_end_that_it_replaces() -> None:
    bench = pod()
    bench.say(DrainCube(cube=NAME, duration_us=HOUR), 0)
    (longer,) = bodies(bench.say(DrainCube(cube=NAME, duration_us=2 * HOUR), 1), CubeDrained)
    assert (longer.until_us, longer.was_until_us) == (2 * HOUR + 1, HOUR)
    (endless,) = bodies(bench.say(DrainCube(cube=NAME), 2), CubeDrained)
    assert (endless.until_us, endless.was_until_us) == (None, 2 * HOUR + 1)
    assert bodies(bench.say(DrainCube(cube=NAME), 3)) == []


def test_a_drain_under_way_and_the_next_one_are_both_shown() -> None:
    bench = pod()

    def shown() -> tuple[int | None, ...]:
        row = bench.documents["cubes", NAME]
        return row.drain_from_us, row.drain_until_us, row.next_drain_from_us, row.next_drain_until_us

    bench.say(DrainCube(cube=NAME, duration_us=HOUR), 0)
    assert shown() == (None, HOUR, None, None)
    bench.say(DrainCube(cube=NAME, from_us=5 * HOUR), 1)
    assert shown() == (None, HOUR, 5 * HOUR, None)
    bench.run(2 * HOUR)
    assert shown() == (5 * HOUR, None, None, None)
    bench.run(6 * HOUR)
    assert shown() == (None, None, None, None)
    bench.assert_documents_hold()


@pytest.mark.parametrize(
    ("from_h", "hours", "reports", "end_h"),
    [
        (None, 1, [(4, None), (3, 4)], 3),  # requested at 2 h without a plan: it sets the end
        (None, 6, [(4, None), (8, 4)], 8),
        (None, 2, [(4, None)], 4),
        (3, 4, [(4, None), (7, 4)], 7),  # planned: the later end counts
        (3, 0.5, [(4, None), (4, None)], 4),
        (3, 1, [(4, None), (4, None)], 4),
        (3, None, [(4, None), (None, 4)], None),
        (4, 1, [(4, None), (5, None)], 5),  # it begins when the first one ends
    ],
)
def test_a_second_drain_during_another_one(
    from_h: float | None,
    hours: float | None,
    reports: list[tuple[float | None, float | None]],
    end_h: float | None,
) -> None:
    """A drain until 4 h is followed at 2 h by another request; each report has the end, and the one that it
    replaces."""

    def us(at_h: float | None) -> int | None:
        return None if at_h is None else round(at_h * HOUR)

    bench = pod()
    bench.say(DrainCube(cube=NAME, duration_us=4 * HOUR), 0)
    bench.say(DrainCube(cube=NAME, from_us=us(from_h), duration_us=us(hours)), 2 * HOUR)
    bench.run(US_PER_DAY)
    drained = [(body.until_us, body.was_until_us) for body in bodies(bench.log, CubeDrained)]
    assert drained == [(us(until_h), us(was_h)) for until_h, was_h in reports]
    ends = [m.at_us for m in bench.log if isinstance(m.body, CubeUndrained)]
    assert ends[-1:] == [us(end_h)] * (end_h is not None)
    assert bench.documents["cubes", NAME].drained is (end_h is None)
    checker = PartReportChecker()
    assert [problem for message in bench.log for problem in checker.see(message)] == []
    bench.assert_documents_hold()


def test_a_drain_for_planned_work_keeps_its_later_end() -> None:
    """A roll-out needs all of its time, also if an operator drains the cube for less."""
    bench = pod(rollout_every_days=1.0, rollout_cubes=1, rollout_h=4.0)
    bench.run(US_PER_DAY)
    shorter = DrainCube(cube="pod-0/cube-0", duration_us=HOUR)
    (drained,) = bodies(bench.say(shorter, US_PER_DAY + HOUR), CubeDrained)[:1]
    assert (drained.why, drained.until_us) == ("window", US_PER_DAY + 4 * HOUR)
