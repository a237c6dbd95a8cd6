"""The gate's own rules: which stages there are, when a stage is too slow, which seeds a commit runs."""

from itertools import product

import pytest

from tests.stages import GATE, STAGES, TOTAL_S
from tests.support import seeds
from tests.support.stage_run import CORES, SLOWER, Result, Stage, judged, over_budget
from tests.unit.tree.tidy import ROOT


@pytest.fixture(autouse=True)
def _budgets_of_an_idle_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """The gate itself may run with larger budgets."""
    monkeypatch.delenv(SLOWER, raising=False)


def test_every_stage_is_a_target_of_make_and_has_a_section() -> None:
    makefile, guide = (ROOT / "Makefile").read_text(), (ROOT / "docs" / "how-to" / "test.md").read_text()
    for stage in STAGES:
        assert f"\n{stage.name}: ## " in makefile
        assert f"| `{stage.name}` |" in guide


def test_the_budgets_of_the_gate_fit_into_its_total() -> None:
    assert sum(stage.budget_s or 0.0 for stage in GATE) / CORES <= TOTAL_S


def test_every_folder_of_tests_belongs_to_a_stage() -> None:
    folders = {path.name for path in (ROOT / "tests").iterdir() if [*path.glob("**/test_*.py")]}
    covered = {word.removeprefix("tests/") for stage in STAGES for word in stage.tests}
    assert folders <= covered


@pytest.mark.parametrize(
    ("wall_s", "cpu_s", "others", "cores", "late"),
    [
        (90.0, 90.0, 0.0, 2, False),
        (101.0, 90.0, 0.0, 2, True),
        (500.0, 90.0, 8.0, 2, False),
        (500.0, 90.0, 0.0, 1, False),
        (90.0, 201.0, 0.0, 2, True),
        (500.0, 201.0, 8.0, 2, True),
    ],
    ids=["in time", "late", "late on a busy machine", "late on one core", "too much CPU", "the same, busy"],
)
def test_wall_time_counts_on_idle_cores_and_cpu_time_always(
    wall_s: float, cpu_s: float, others: float, cores: int, late: bool
) -> None:
    assert (over_budget(100.0, wall_s, cpu_s, others, cores=cores) is not None) == late


def test_a_slower_machine_has_larger_budgets(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage("unit", "", budget_s=100.0)
    assert judged(stage, 10.0, 250.0, 9.0).problems
    monkeypatch.setenv(SLOWER, "2")
    found = judged(stage, 10.0, 250.0, 9.0)
    assert found.problems == ()
    assert str(found) == "== unit: 10.0 s of 200 s, CPU 250.0 s, other processes used 9.0 cores"


def test_a_result_shows_its_problems() -> None:
    found = Result(Stage("unit", "", budget_s=5.0), 1.0, 2.0, 0.0, ("exit code 1 of pytest",))
    assert str(found) == "== unit: 1.0 s of 5 s, CPU 2.0 s; exit code 1 of pytest"


def test_a_stage_that_could_not_measure_says_so() -> None:
    found = Result(Stage("advisories", ""), 1.0, 2.0, 0.0, (), is_measured=False)
    assert str(found) == "== advisories: 1.0 s, CPU 2.0 s; NOT MEASURED"


# --- seeds --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("count", "first"), [*product([1, 6, 24, 100], [0, 18])])
def test_the_slices_of_a_swarm_cover_it_and_none_is_empty(
    monkeypatch: pytest.MonkeyPatch, count: int, first: int
) -> None:
    found = []
    for number in range(min(count, seeds.SLICES)):
        monkeypatch.setenv(seeds.SLICE, str(number))
        found += seeds.sliced(count, first)
    assert sorted(found) == [*range(first, first + count)]


def test_seeds_that_failed_once_always_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(seeds.SLICE, "3")
    assert seeds.sliced(20, always=(13, 7, 2**20)) == [3, 13, 7, 2**20]


def test_a_commit_always_runs_the_same_slice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(seeds.SLICE, raising=False)
    monkeypatch.setattr(seeds, "commit", lambda: "0000000f" + "0" * 32)
    assert {seeds.slice_number() for _ in range(3)} == {5}


def test_random_seeds_are_drawn_in_test_all_only_and_can_be_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(seeds.SEED, raising=False)
    assert seeds.explored(3, "pods") == []
    monkeypatch.setenv(seeds.SEED, "11")
    assert seeds.explored(3, "pods") == seeds.explored(3, "pods") != seeds.explored(3, "networks")
    assert min(seeds.explored(100, "pods")) >= 1_000


def test_cases_outside_the_slice_are_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(seeds.SLICE, "1")
    found = seeds.rotating("abc" * 4, "why")
    assert [place for place, case in enumerate(found) if isinstance(case, str)] == [1, 11]
    assert found[0].marks[0].args == ("why",)
