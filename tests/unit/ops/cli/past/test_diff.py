"""`lightwave diff`: the fields that differ between two points in time."""

import json

import pytest

from ops.cli.past.diff import _table
from ops.client.differences import FieldDifference, differences
from tests.support.fake_twin import FakeTwin, answering, as_json, lightwave

pytestmark = pytest.mark.integration

BEFORE = {"name": "pod-0/cube-1", "health": "healthy", "changed_us": 0, "now_us": 5, "links": {"up": 3}}
AFTER = {
    "name": "pod-0/cube-1",
    "health": "unhealthy",
    "changed_us": 7_200_000_000,
    "now_us": 9,
    "links": {"up": 2},
}


def test_every_changed_field_is_named_except_time() -> None:
    assert [*differences("cubes", [BEFORE], [AFTER])] == [
        FieldDifference("cubes", "pod-0/cube-1", "health", "healthy", "unhealthy"),
        FieldDifference("cubes", "pod-0/cube-1", "changed_us", 0, 7_200_000_000),
        FieldDifference("cubes", "pod-0/cube-1", "links.up", 3, 2),
    ]
    assert [*differences("cubes", [AFTER], [AFTER])] == []


def test_removed_and_added_objects_are_named() -> None:
    other = BEFORE | {"name": "pod-0/cube-2"}
    assert [*differences("cubes", [BEFORE], [other])] == [
        FieldDifference("cubes", "pod-0/cube-1", "name", "pod-0/cube-1", None),
        FieldDifference("cubes", "pod-0/cube-2", "name", None, "pod-0/cube-2"),
    ]


def twin_of(before: object, after: object) -> FakeTwin:
    """Return a twin that answers two queries for `cubes`, at one time and at another."""
    return FakeTwin({"/v1/cubes": [as_json([before]), as_json([after])]})


@pytest.mark.parametrize("form", ["table", "json"])
def test_differences_are_reported_with_the_exit_code_of_diff(form: str) -> None:
    with answering(answers=twin_of(BEFORE, AFTER).answers) as twin:
        done = lightwave("diff", "-2h", "now", "cubes", "-o", form, url=twin.url)
        assert [request.query for request in twin.requests] == ["at=-2h", "at=now"]
    assert (done.returncode, done.stderr) == (1, "")
    if form == "json":
        assert [row["field"] for row in json.loads(done.stdout)] == ["health", "changed_us", "links.up"]
    else:
        assert done.stdout.splitlines()[2].split() == [
            "cubes",
            "pod-0/cube-1",
            "changed_us",
            "0d00:00:00",
            "0d02:00:00",
        ]


def test_nothing_differs_is_code_0() -> None:
    with answering(answers=twin_of(BEFORE, BEFORE).answers) as twin:
        done = lightwave("diff", "-2h", "-1h", "cube", url=twin.url)
    assert (done.returncode, done.stdout) == (0, "nothing differs\n")


def test_an_unknown_kind_is_an_error_in_one_sentence() -> None:
    with answering() as twin:
        done = lightwave("diff", "-2h", "now", "dragons", url=twin.url)
    assert done.returncode == 2
    assert "no kind 'dragons'" in done.stderr


def test_now_is_one_time_for_both_sides() -> None:
    with answering({"/v1/cubes": [as_json([BEFORE])]}, headers={"Lightwave-At-Us": "7"}) as twin:
        done = lightwave("diff", "now", "now", "cubes", url=twin.url)
        assert [request.query for request in twin.requests] == ["at=now", "at=7us"]
    assert (done.returncode, done.stdout) == (0, "nothing differs\n")


def circuits(*souths: int) -> list[dict[str, int]]:
    return [{"north": north, "south": south} for north, south in enumerate(souths)]


def conditions(*states: str) -> list[dict[str, object]]:
    return [{"state": state, "since_us": 3_600_000_000 * n} for n, state in enumerate(states)]


@pytest.mark.parametrize(
    ("before", "after", "rows"),
    [
        (
            {"state": "queued", "conditions": conditions("queued")},
            {"state": "running", "conditions": conditions("queued", "running")},
            [["state", "queued since 0d00:00:00", "running since 0d01:00:00"]],
        ),
        (
            {"circuits": circuits(4, 5, 6)},
            {"circuits": circuits(4, 6, 5, 9)},
            [["circuits", "3, 2 of them gone", "4, 3 of them new"]],
        ),
        (
            {"use": 0.5, "powered": True},
            {"use": 0.75, "powered": False},
            [["use", "50.00%", "75.00%"], ["powered", "yes", "no"]],
        ),
        (
            {"cubes": ["pod-0/cube-1"], "duration_us": 7_200_000_000},
            {"cubes": [], "duration_us": None},
            [["cubes", "pod-0/cube-1", "-"], ["duration_us", "2h", "-"]],
        ),
    ],
)
def test_cells_are_words_and_not_objects_of_a_program(
    before: dict[str, object], after: dict[str, object], rows: list[list[str]]
) -> None:
    name = {"name": "pod-0/slice-1"}
    rows_found = [*differences("slices", [name | before], [name | after])]
    lines = _table(rows_found).splitlines()[1:]
    shown = [[cell.strip() for cell in line.split("   ") if cell.strip()][2:] for line in lines]
    assert shown == rows


def test_an_object_that_is_new_exists_now() -> None:
    rows = [*differences("slices", [], [{"name": "pod-0/slice-1"}])]
    assert _table(rows).splitlines()[1].split() == ["slices", "pod-0/slice-1", "exists", "no", "yes"]
