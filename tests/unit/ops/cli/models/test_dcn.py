"""`lightwave dcn` at the command line: a plan and the next one from it, weights, output formats, mistakes."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from ops.cli.main import root
from shared.basics.errors import InvalidInput

NETWORK = """
site: campus
fabrics:
  - {name: pod-0}
  - name: dcn-0
    kind: dcn
    config:
      seed: 3
      network:
        racks: 8
        racks_full: 32
        blocks:
          - {generation: 400, uplinks: 256, count: 3}
          - {generation: 100, uplinks: 256, count: 3}
      demand: {load: 0.4}
"""


def site_of(network: str, demand: str = "{}") -> str:
    """Return the site file of a single network."""
    return (
        f"site: a\nfabrics: [{{name: dcn-0, kind: dcn, config: {{network: {network}, demand: {demand}}}}}]\n"
    )


@pytest.fixture
def network(tmp_path: Path) -> str:
    path = tmp_path / "network.yaml"
    path.write_text(NETWORK)
    return str(path)


def run(*words: str) -> Result:
    return CliRunner().invoke(root, ["dcn", *words], catch_exceptions=True, prog_name="lightwave")


def answer(*words: str) -> Any:
    done = run(*words, "-o", "json")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def planned(network: str, tmp_path: Path, *words: str) -> Path:
    path = tmp_path / "state.json"
    path.write_text(run("plan", network, *words, "-o", "json").stdout)
    return path


def test_check_shows_what_a_file_describes(network: str) -> None:
    assert run("check", network).stdout == f"{network}: dcn-0: 6 blocks on 8 racks of 4 OCSes (palomar)\n"
    response = answer("check", network)
    assert response == {
        "file": network,
        "fabric": "dcn-0",
        "blocks": 6,
        "racks": 8,
        "ocs": 32,
        "technology": "palomar",
    }
    assert answer("check", network, "--fabric", "dcn-0") == response
    assert str(run("check", network, "--fabric", "dcn-1").exception).startswith(
        "--fabric dcn-1: no network of "
    )


def test_a_plan_leads_from_the_plan_before(network: str, tmp_path: Path) -> None:
    state = planned(network, tmp_path)
    first = json.loads(state.read_text())
    assert (first["changes"], first["stages"]) == (None, [])
    second = answer("plan", network, "--from", str(state), "--hour", "168", "--capacity-floor", "0.8")
    changes = second["changes"]
    assert changes["circuits_made"] >= changes["at_least_made"] > 0
    assert changes["circuits_made"] == sum(len(stage["made"]) for stage in second["stages"])
    assert changes["least_capacity_kept"] == min(stage["capacity_kept"] for stage in second["stages"]) >= 0.8
    # The stages lead from the circuits of the first plan to those of the second.
    now = circuits(first)
    for stage in second["stages"]:
        for circuit in stage["removed"]:
            now.remove(circuit)
        now += stage["made"]
    assert sorted(now) == sorted(circuits(second))


def test_defaults_are_those_of_the_running_network(network: str, tmp_path: Path) -> None:
    state = str(planned(network, tmp_path))
    other = tmp_path / "other.yaml"
    own = "topology: {capacity_floor: 0.97, chain_max: 0, drain_s: 0, qualify_s: 100, undrain_s: 0}"
    other.write_text(NETWORK.replace("demand:", f"{own}\n      demand:"))
    explicit = answer(
        "plan", network, "--from", state, "--hour", "168", "--capacity-floor", "0.97", "--chain", "0"
    )
    response = answer("plan", str(other), "--from", state, "--hour", "168")
    assert response["circuits"] == explicit["circuits"]
    assert [stage["made"] for stage in response["stages"]] == [stage["made"] for stage in explicit["stages"]]
    default = answer("plan", network, "--from", state, "--hour", "168")
    assert (
        0.75 <= default["changes"]["least_capacity_kept"] < 0.97 <= response["changes"]["least_capacity_kept"]
    )
    # By default, drain and undrain take 10 s each, and qualifying 30 s.
    longer = {
        round(a["seconds"] - b["seconds"], 6)
        for a, b in zip(response["stages"], explicit["stages"], strict=True)
    }
    assert longer == {50.0}


def circuits(content: Any) -> list[list[str]]:
    return [[row["ocs"], *pair] for row in content["circuits"] for pair in row["circuits"]]


def test_trunks_follow_from_the_circuits(network: str) -> None:
    content = answer("plan", network)
    links: dict[frozenset[str], int] = {}
    for _, *pair in circuits(content):
        links[frozenset(pair)] = links.get(frozenset(pair), 0) + 1
    assert links == {frozenset((row["between"], row["and"])): row["links"] for row in content["trunks"]}
    assert content["largest_use"] == max(max(row["use"], row["use_back"]) for row in content["trunks"])


def test_te_is_near_the_linear_programs_optimum(network: str, tmp_path: Path) -> None:
    state = planned(network, tmp_path)
    content = answer("te", network, "--from", str(state), "--exact")
    assert content["lower_bound"] <= content["optimum"] <= content["largest_use"] <= 1.02 * content["optimum"]
    assert content["worst_use"] > content["largest_use"]
    for row in content["tables"]:
        assert sum(row["entries"].values()) == 128
    hedged = answer("te", network, "--from", str(state), "--hedge", "0.5")
    assert hedged["mean_path"] > content["mean_path"]


def test_recorded_demand_replaces_drawn_demand(network: str, tmp_path: Path) -> None:
    first, second = tmp_path / "one.csv", tmp_path / "other.csv"
    first.write_text("from,to,mbps\nblock-0,block-1,8000000\n")
    second.write_text("from,to,mbps\nblock-0,block-1,1000000\nblock-4,block-5,2000000\n")
    content = answer("show", network, "--demand", str(first), "--demand", str(second))
    sent = {row["name"]: row["sends_gbps"] for row in content["blocks"]}
    assert sent == {
        "block-0": 8000.0,
        "block-1": 0.0,
        "block-2": 0.0,
        "block-3": 0.0,
        "block-4": 2000.0,
        "block-5": 0.0,
    }


def test_output_formats(network: str, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    done = run("show", network, "--html", str(page))
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("6 blocks on 8 racks of 4 OCSes (palomar)\n\nNAME ")
    assert "Uniform mesh:\nBETWEEN " in done.stdout
    assert "written to" in done.stderr
    assert page.read_text().count("<circle") == 6
    assert yaml.safe_load(run("te", network, "-o", "yaml").stdout)["topology"] == "Uniform mesh"
    table = run("plan", network).stdout
    assert "largest_use" in table
    assert "… and" in table


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["plan", "--capacity-floor", "1.5"], "1.5 is not in the range 0.0<=x<=1.0"),
        (["plan", "--hour", "-1"], "--hour"),
        (["te", "--factor", "0.5"], "0.5 is not in the range 1.0<=x<=100.0"),
        (["show", "--html", "."], "is a folder, not a file"),
        (["plan", "--from", ""], "'' is not a valid path"),
        (["pln"], "no command 'pln'; did you mean plan?"),
    ],
)
def test_a_wrong_option_is_an_error_in_one_sentence(network: str, words: list[str], sentence: str) -> None:
    done = run(words[0], network, *words[1:])
    assert done.exit_code == 2
    assert sentence in done.output


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["te", "--pairs", "31"], "--pairs 31: too many; must be 0 to 30"),
        (["plan", "--from", "none.json"], "none.json: no file"),
        (["te", "--demand", "none.csv"], "none.csv: no file"),
    ],
)
def test_an_impossible_value_is_an_error_in_one_sentence(
    network: str, words: list[str], sentence: str
) -> None:
    done = run(words[0], network, *words[1:])
    assert isinstance(done.exception, InvalidInput)
    assert str(done.exception) == sentence


def test_a_seed_is_that_of_fabrics_without_one(tmp_path: Path) -> None:
    path, own = tmp_path / "site.yaml", tmp_path / "own.yaml"
    path.write_text(NETWORK.replace("      seed: 3\n", ""))
    own.write_text(NETWORK)
    for words in (["show"], ["plan"], ["te"], ["fail", "rack-1"], ["grow", str(path)]):
        drawn = answer(words[0], str(path), *words[1:], "--seed", "3")
        rest = [str(own) if word == str(path) else word for word in words[1:]]
        assert drawn == answer(words[0], str(own), *rest)
    assert answer("te", str(path), "--seed", "3") != answer("te", str(path))
    assert answer("te", str(path), "--seed", "0") == answer("te", str(path))
    assert answer("te", str(own), "--seed", "4") == answer("te", str(own)), "a pod has none, the network one"
    single = tmp_path / "alone.yaml"
    single.write_text(NETWORK.replace("  - {name: pod-0}\n", ""))
    refused = run("te", str(single), "--seed", "4")
    assert str(refused.exception).startswith("--seed 4: every fabric of")


def test_weights_are_hedged_as_the_file_has_it(network: str, tmp_path: Path) -> None:
    path = tmp_path / "hedged.yaml"
    path.write_text(NETWORK + "      traffic: {hedge: 0.5}\n")
    hedged = answer("te", network, "--hedge", "0.5")
    assert answer("te", str(path)) == hedged
    assert answer("te", str(path), "--hedge", "0") == answer("te", network) != hedged


def test_an_empty_demand_is_reported(network: str, tmp_path: Path) -> None:
    path = tmp_path / "none.csv"
    path.write_text("from,to,mbps\n")
    for command in ("show", "plan", "te"):
        done = run(command, network, "--demand", str(path))
        assert str(done.exception) == "demand (none.csv): no demand; must have at least one"


def test_blocks_that_must_not_be_joined_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "apart.yaml"
    path.write_text(site_of("{blocks: [{customer: team-1}, {customer: team-2}]}"))
    for words in (["show"], ["plan"], ["te"], ["fail", "rack-1"]):
        done = run(words[0], str(path), *words[1:])
        assert str(done.exception).startswith("dcn-0: no two of its blocks can be joined; two must have")


def test_a_rack_costs_its_share_everywhere(tmp_path: Path) -> None:
    path = tmp_path / "alike.yaml"
    path.write_text(
        site_of("{racks: 32, racks_full: 32, blocks: [{generation: 100, uplinks: 512, count: 5}]}")
    )
    equal = tmp_path / "equal.csv"
    pairs = [f"block-{a},block-{b},4000000" for a in range(5) for b in range(5) if a != b]
    equal.write_text("\n".join(["from,to,mbps", *pairs]))
    words = [str(path), "--each", "rack", "--demand", str(equal)]
    rows = answer("fail", *words)
    assert [row["failed"] for row in rows] == [f"rack-{n}" for n in range(32)]
    for row in rows:
        assert (row["least_left"], row["most_left"], row["cut_off_gbps"]) == (0.96875, 0.96875, 0.0)
        assert row["use_rerouted"] <= row["use_at_once"]
    assert "rack-31 " in run("fail", *words).stdout


def test_a_failure_is_answered_in_three_ways(network: str, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    done = run("fail", network, "block-0", "rack-2", "-o", "json", "--html", str(page))
    content = json.loads(done.stdout)
    assert content["failed"] == ["block-0", "rack-2"]
    used = content["largest_use"]
    assert used["planned_anew"] <= used["rerouted"] <= used["at_once"]
    assert content["cut_off_gbps"] > 0.0
    assert content["blocks"][0] == {"name": "block-0", "capacity_left": 0.0}
    assert not any("block-0" in circuit or circuit[0] in ("ocs-8", "ocs-11") for circuit in circuits(content))
    assert "Without block-0, rack-2" in page.read_text()
    table = run("fail", network, "block-0", "rack-2").stdout
    assert "largest_use_rerouted" in table


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "Missing argument 'PART...': what fails, such as rack-3; or --each KIND"),
        (["rack-1", "--each", "rack"], "PART 'rack-1' cannot be combined with --each, which fails each part"),
        (["--each", "fan"], "no kind of part 'fan'"),
        (["--each", "rack", "--html", "x.html"], "--html cannot be combined with --each"),
    ],
)
def test_the_failing_parts_are_given_once(network: str, words: list[str], sentence: str) -> None:
    done = run("fail", network, *words)
    assert done.exit_code == 2
    assert sentence in done.output


def test_a_failure_that_leaves_nothing_cuts_off_all(network: str, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    everything = [f"power-{n}" for n in range(4)]
    content = json.loads(
        run("fail", network, *everything, "-o", "json", "--fabric", "dcn-0", "--html", str(page)).stdout
    )
    wanted = sum(block["sends_gbps"] for block in answer("show", network)["blocks"])
    assert content["cut_off_gbps"] == pytest.approx(wanted)
    used = content["largest_use"]
    assert used.pop("before") > 0
    assert used == {"at_once": None, "rerouted": None, "planned_anew": None}
    assert "Without power-0" in page.read_text()
    table = run("fail", network, *everything).stdout
    assert re.search(r"^largest_use_rerouted +- +the same with new weights$", table, re.MULTILINE)


def test_failing_parts_can_have_the_names_of_a_running_network(network: str) -> None:
    assert answer("fail", network, "dcn-0/rack-3") == answer("fail", network, "rack-3") | {
        "failed": ["dcn-0/rack-3"]
    }


@pytest.mark.parametrize(
    ("part", "sentence"),
    [
        ("rack-9", "rack-9: no part that can fail has this name; must be ocs-0 to ocs-31"),
        ("dcn-1/rack-3", "dcn-1/rack-3: no part that can fail has this name; must be"),
        ("block-1/bundle-99", "block-1/bundle-99: no part that can fail has this name; must be bundle-0 to"),
        ("rack-" + "1" * 5_000, f"rack-{'1' * 54}…: no part that can fail has this name"),
    ],
)
def test_a_missing_part_is_an_error_in_one_sentence(network: str, part: str, sentence: str) -> None:
    assert str(run("fail", network, part).exception).startswith(sentence)


def test_growth_is_reported_in_steps_with_their_disturbance(network: str, tmp_path: Path) -> None:
    later = tmp_path / "later.yaml"
    later.write_text(
        NETWORK.replace("racks: 8", "racks: 16")
        .replace("      demand:", "          - {generation: 400, uplinks: 512}\n      demand:")
        .replace("generation: 100", "generation: 200")
    )
    rows = answer("grow", network, str(later), "--capacity-floor", "0.5")
    assert [row["step"] for row in rows] == [f"rack-{2 * n + 1}" for n in range(8)] + [
        "block-3",
        "block-4",
        "block-5",
        "block-6",
    ]
    assert [row["change"] for row in rows] == ["new rack"] * 8 + ["newer block"] * 3 + ["new block"]
    assert [row["strands_laid"] for row in rows] == [0] * 11 + [512]
    assert rows[-1]["spine_prebuilt_manual_strands"] == 0
    assert rows[0]["spine_grown_manual_strands"] is None
    assert all(row["capacity_kept"] >= 0.5 and row["keeps_capacity_floor"] for row in rows)
    recorded = tmp_path / "d.csv"
    recorded.write_text("from,to,mbps\nblock-0,block-1,8000000\nblock-2,block-6,3000000\n")
    output = run("grow", network, str(later), "--capacity-floor", "0.5", "--demand", str(recorded)).stdout
    assert output.startswith("STEP ")
    assert "less than the capacity floor" not in output
    promised = answer("grow", network, str(later), "--capacity-floor", "0.9")
    short = [row["step"] for row in promised if not row["keeps_capacity_floor"]]
    assert short == ["block-3", "block-4", "block-5"], "modules are replaced a quarter at a time"
    output = run("grow", network, str(later), "--capacity-floor", "0.9").stdout
    why = "because racks and modules are changed by hand"
    assert f"block-3, block-4, block-5 keep less than the capacity floor of 0.9, {why}" in output
    assert run("grow", network, network).stdout == "nothing to do: the networks are the same\n"
    done = run("grow", str(later), network)
    assert str(done.exception).startswith("racks: 8 of 32 is not allowed after 16 of 32")


def test_the_cost_of_a_network_is_reported_with_its_uncertainty(network: str) -> None:
    content = answer("cost", network, "--draws", "50")
    answers = {row["answer"]: row for row in content["answers"]}
    assert answers["dcn_cost_saving"]["paper"] == 0.3
    for row in answers.values():
        assert row["p5"] <= row["p50"] <= row["p95"]
    bills = content["bills"]
    saving = 1.0 - bills["spine-free"]["watts"] / bills["clos"]["watts"]
    assert saving == pytest.approx(answers["dcn_power_saving"]["value"], abs=1e-3)
    for bill in bills.values():
        assert bill["cost"] == pytest.approx(
            sum(part["cost"] for part in bill["parts"]), abs=len(bill["parts"])
        )
    free = answer("cost", network, "--draws", "50", "--price", "ocs_cost=0")
    assert free["answers"][0]["value"] > answers["dcn_cost_saving"]["value"]
    assert run("cost", network, "--draws", "50").stdout.startswith("ANSWER ")


def test_a_price_is_a_name_and_a_number(network: str) -> None:
    assert (
        "'ocs_cost' is not of the form NAME=VALUE, such as ocs_cost=20000"
        in run("cost", network, "--price", "ocs_cost").output
    )
    done = run("cost", network, "--price", "ocs_cots=1")
    assert str(done.exception) == "price: ocs_cots does not exist; the nearest is ocs_cost"


def test_a_plan_can_serve_the_hours_before(network: str, tmp_path: Path) -> None:
    single = answer("plan", network, "--hour", "30")
    plan = answer("plan", network, "--hour", "30", "--history", "6")
    assert plan["demand"] == "seed 3, hour 24 to 30: 7 matrices"
    assert plan["largest_use_of_all"] >= plan["largest_use"]
    assert plan["lower_bound"] >= single["lower_bound"] * 0.97
    recorded = tmp_path / "d.csv"
    recorded.write_text("from,to,mbps\nblock-0,block-1,8000000\n")
    done = run("plan", network, "--history", "2", "--demand", str(recorded))
    assert (done.exit_code, "--history cannot be combined with --demand" in done.output) == (2, True)


def test_a_block_whose_failure_leaves_nothing_is_an_ordinary_row(tmp_path: Path) -> None:
    path = tmp_path / "two.yaml"
    path.write_text(
        site_of("{racks: 4, racks_full: 32, blocks: [{generation: 100, uplinks: 256, count: 2}]}")
    )
    rows = answer("fail", str(path), "--each", "block")
    assert [(row["failed"], row["use_rerouted"], row["least_left"]) for row in rows] == [
        ("block-0", None, 0.0),
        ("block-1", None, 0.0),
    ]
    assert all(row["cut_off_gbps"] > 0.0 for row in rows)
