"""The swarm: drawing, shrinking, and the sentences about its result, on plain values."""

from pathlib import Path

import pytest
import yaml

from ops.drills.document import read_drill
from ops.drills.suite_plan import read_suite
from ops.drills.swarm.combination import (
    Combination,
    SwarmStep,
    SwarmTarget,
    document_of,
    drill_of,
    duration_text,
    lab_drill_of,
)
from ops.drills.swarm.draw import CHANGES, NETWORK_CHANGES, SETTINGS, draw_combination
from ops.drills.swarm.findings_folder import FindingsFolder, judge_command
from ops.drills.swarm.hunt import Finding, SeedResult, SwarmResult
from ops.drills.swarm.judge import Cost, Judgement, Problem, windows
from ops.drills.swarm.shrink import Shrunk, fewer, shrink
from ops.drills.swarm.swarm_text import judgement_text, swarm_json, swarm_text
from schemas.config.parameter import parameters_of
from schemas.config.pods import SuperpodConfig
from schemas.config.runtime_parameters import RUNTIME_PARAMETERS
from shared.basics.errors import InvalidInput
from shared.basics.parsing import parse_duration_s

SEEDS, CHECKED = 60, 12


def step(verb: str, **arguments: object) -> SwarmStep:
    return SwarmStep(verb, arguments)


HOSTS = [f"pod-0/cube-1/host-{number}" for number in range(8)]
SEVERAL = Combination(
    seed=5,
    steps=(
        step("wait", lasts=600),
        step("inject", kind="ocs", target=["pod-0/ocs-1"], lasts=300),
        step("inject", kind="host", target=HOSTS, lasts=7_200),
        SwarmStep("request_slice", {"shape": "4x4x4", "fabric": "pod-0", "tier": "filler"}, 40, 20),
        step("drain", cube="${t1}"),
        step("set_parameters", parameters={"repairs.technicians": 1, "cubes.heartbeat_s": 1}, fabric="pod-0"),
        step("wait", lasts=7_200),
    ),
    targets={"t1": SwarmTarget("cubes", "chips_used>0", 1)},
    pairs={"pod.cubes": 8, "scheduler.hot_spares": 1, "workload.replicates_share": 0.5},
)


# --- drawing ------------------------------------------------------------------------------------------------


def test_the_same_seed_draws_the_same_document() -> None:
    for seed in range(SEEDS):
        first, second = draw_combination(seed), draw_combination(seed)
        assert document_of(first, "T", "D") == document_of(second, "T", "D")


def test_every_drawn_document_is_valid_and_has_a_lab() -> None:
    kinds, verbs, sites = set(), set(), set()
    for seed in range(SEEDS):
        one = draw_combination(seed)
        if seed < CHECKED:
            assert lab_drill_of(one).drill.plan.lease_us > 0
        verbs |= {each.verb for each in one.steps}
        kinds |= {each.arguments["kind"] for each in one.steps if each.verb == "inject"}
        sites.add(one.site)
    # A swarm that never draws something proves nothing about it.
    assert verbs == {
        *("inject", "drain", "undrain", "request_slice", "release_slice", "set_parameters", "restart_ocs"),
        *("connect", "disconnect", "plan_topology", "wait"),
    }
    assert len(kinds) > 25
    assert sites == {None, "campus"}


def test_all_drawn_settings_and_changes_exist() -> None:
    assert parameters_of(SuperpodConfig).keys() > SETTINGS.keys()
    assert RUNTIME_PARAMETERS.keys() > CHANGES.keys() | NETWORK_CHANGES.keys()


@pytest.mark.parametrize("seconds", [0, 1, 59, 60, 3_661, 86_400, 7 * 86_400 + 60])
def test_durations_are_exact(seconds: int) -> None:
    assert parse_duration_s(duration_text(seconds)) == seconds


def test_targets_that_no_step_uses_are_left_out() -> None:
    assert SEVERAL.with_steps(SEVERAL.steps[:4]).targets == {}
    assert SEVERAL.with_steps(SEVERAL.steps[4:]).targets == SEVERAL.targets


# --- shrinking ----------------------------------------------------------------------------------------------


def test_delta_debugging_keeps_only_what_is_needed() -> None:
    *_, last = fewer(tuple(range(20)), lambda kept: {3, 17} <= set(kept))
    assert last == (3, 17)


def test_one_item_is_kept() -> None:
    *_, last = fewer(tuple("abc"), lambda kept: True)
    assert len(last) == 1


def needs_host_3_for_ten_minutes(one: Combination) -> bool:
    """A fake product that fails if host 3 is out for ten minutes while one cube is a hot spare."""
    injected = [each.arguments for each in one.steps if each.verb == "inject"]
    out = [each for each in injected if HOSTS[3] in each["target"] and each.get("lasts", 10**9) >= 600]
    return bool(out) and "scheduler.hot_spares" in one.pairs


def test_a_failing_combination_shrinks_to_its_cause() -> None:
    tried: list[Combination] = []

    def still_fails(one: Combination) -> bool:
        tried.append(one)
        return needs_host_3_for_ten_minutes(one)

    found = shrink(SEVERAL, still_fails, 200)
    assert found.is_minimal
    assert found.tries == len(tried) == len({repr(one) for one in tried})
    assert found.combination.steps == (step("inject", kind="host", target=[HOSTS[3]]),)
    assert found.combination.pairs == {"scheduler.hot_spares": 1}
    assert (found.combination.targets, found.combination.warm_up_s) == ({}, 3_600)
    assert shrink(SEVERAL, needs_host_3_for_ten_minutes, 200) == found


def test_repeats_and_parameters_shrink_too() -> None:
    def still_fails(one: Combination) -> bool:
        bursts = [each for each in one.steps if each.verb == "request_slice" and each.repeat >= 5]
        changed = [each.arguments["parameters"] for each in one.steps if each.verb == "set_parameters"]
        return bool(bursts) and any("repairs.technicians" in each for each in changed)

    found = shrink(SEVERAL, still_fails, 200).combination
    assert [each.verb for each in found.steps] == ["request_slice", "set_parameters"]
    assert found.steps[0].repeat == 5
    assert found.steps[0].arguments == {"shape": "4x4x4", "fabric": "pod-0"}
    assert found.steps[1].arguments["parameters"] == {"repairs.technicians": 1}


def test_shrinking_ends_when_the_tries_are_used_up_or_it_is_stopped() -> None:
    short = shrink(SEVERAL, needs_host_3_for_ten_minutes, 3)
    assert (short.tries, short.is_minimal) == (3, False)
    assert needs_host_3_for_ten_minutes(short.combination)
    assert shrink(SEVERAL, lambda _: None, 200) == Shrunk(SEVERAL, 1, is_minimal=False)


@pytest.mark.parametrize("seed", range(6))
def test_every_simplification_of_a_drawn_combination_is_valid(seed: int) -> None:
    def still_fails(one: Combination) -> bool:
        drill_of(one)
        return len(repr(one)) % 3 > 0

    assert 0 < shrink(draw_combination(seed), still_fails, 25).tries <= 25


# --- results ------------------------------------------------------------------------------------------------

STARVED = Problem("starved", "pod-0: research slices wait for more than 1h")
FOUND = Finding(STARVED, Shrunk(SEVERAL, 12, is_minimal=True))


def test_findings_of_the_same_sign_are_kept_once() -> None:
    result = SwarmResult(3)
    assert result.add(SeedResult(0, "completed", 500, 2.0, (FOUND,))) == [FOUND]
    other = Finding(Problem("starved", "pod-1: research slices wait for more than 2h"), FOUND.shrunk)
    assert result.add(SeedResult(1, "failed", 700, None, (other,))) == []
    assert result.add(SeedResult(2, None)) == []
    assert (result.seeds_run, result.messages, result.worst_ratio) == (2, 1_200, 2.0)


def test_the_result_names_seeds_problems_and_documents() -> None:
    result = SwarmResult(3, ended_by="budget")
    result.add(SeedResult(0, "completed", 500, 2.0, (FOUND,)))
    text = swarm_text(result, [Path("out/seed-5-starved.yaml")])
    for part in ("1 of 3 seeds, 500 messages; the budget is over", "7 steps, minimal", STARVED.sentence):
        assert part in text
    rows = swarm_json(result, [Path("out/seed-5-starved.yaml")])["findings"]
    assert rows == [
        {
            "kind": "starved",
            "problem": STARVED.sentence,
            "seed": 5,
            "steps": 7,
            "is_minimal": True,
            "document": "out/seed-5-starved.yaml",
        }
    ]
    assert swarm_text(SwarmResult(0), []).endswith("nothing found")


def test_a_judgement_says_what_was_found() -> None:
    found = Judgement((STARVED,), "completed", None, 321, Cost(0.001, 0.004))
    assert judgement_text(found).splitlines() == [
        "completed, 321 messages",
        "most expensive: 4.0 calm hours per message (a measured time)",
        f"starved: {STARVED.sentence}",
    ]
    assert judgement_text(Judgement((), "failed", "refused", 9, None)).splitlines() == [
        "failed (refused), 9 messages",
        "no problem found",
    ]


def test_short_hours_are_joined_before_they_are_compared() -> None:
    hours = [(40, 1.0), (70, 2.0), (300, 4.0), (99, 5.0)]
    assert list(windows(hours)) == [(110, 3.0), (300, 4.0)]


def test_the_folder_of_findings_is_a_suite(tmp_path: Path) -> None:
    folder = FindingsFolder(tmp_path / "found")
    paths = [folder.write(FOUND), folder.write(FOUND)]
    assert [path.name for path in paths] == ["seed-5-starved.yaml", "seed-5-starved-2.yaml"]
    suite = read_suite(folder.folder)
    assert set(suite) == set(paths)
    settings = suite[paths[0]]
    assert (settings.seed, settings.warm_up_us) == (5, 12 * 3_600 * 10**6)
    assert "pod.cubes=8" in settings.pairs
    assert read_drill(paths[0]).plan.steps == drill_of(SEVERAL).plan.steps
    assert judge_command(SEVERAL, paths[0].name) in paths[0].read_text()
    assert STARVED.sentence in yaml.safe_load(paths[0].read_text())["description"]


def test_a_folder_with_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(InvalidInput, match="must be a new or an empty folder"):
        FindingsFolder(tmp_path)
