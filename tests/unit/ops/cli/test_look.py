"""Links with problems and missing link ends, as commands show them."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from click.testing import CliRunner

from ops.cli.common.kind_tables import table_of
from ops.cli.look.get import _description_text
from ops.cli.main import root
from schemas.resource_kinds import REPAIRS, VERDICTS
from shared.basics.errors import LightwaveError, NotFound
from tests.support.fake_twin import FakeTwin, answering, as_json, first_answer
from tests.support.gateway_twin import QUIET, DrivenTwin
from tests.support.records import as_record

pytestmark = pytest.mark.integration

HALF, HALF_FAR = "pod-0/cube-0/+x/9", "pod-0/cube-0/-x/9"
"""Strand 0 lost at the far end's port; dirty."""
NEITHER, NEITHER_FAR = "pod-0/cube-1/+y/4", "pod-0/cube-1/-y/4"
"""Both strands lost."""
DEAD, DEAD_FAR = "pod-0/cube-0/+z/3", "pod-0/cube-1/-z/3"
SOUND, SOUND_FAR, DARK = "pod-0/cube-0/+z/5", "pod-0/cube-1/-z/5", "pod-0/cube-3/+y/7"
ENDS = (HALF, HALF_FAR, NEITHER, NEITHER_FAR, DEAD, DEAD_FAR, SOUND, SOUND_FAR, DARK)
ABSENT = (
    *("pod-0/cube-99/+y/7", "pod-0/cube-0/+y/16", "pod-0/cube-0/+y/07", "pod-0/cube-0/+w/1", "pod-0/cube-0"),
    *("cube-0/+y/7", "pod-7/cube-0/+y/7", "pod-0/cube-" + "9" * 40 + "/+y/7", ""),
)


@pytest.fixture(scope="module")
def recorded_twin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FakeTwin]:
    """Record a gateway's answers about a torus of two cubes in a pod of four, with some broken links and no
    spare cube."""
    driven = DrivenTwin(tmp_path_factory.mktemp("twin"), ["pod.cubes=4", *QUIET])
    client = driven.client()
    faults = [
        ("port", "pod-0/ocs-9/S1"),
        ("connector", HALF),
        ("port", "pod-0/ocs-20/N2"),
        ("port", "pod-0/ocs-20/N3"),
        ("link", DEAD),
    ]
    requests: list[tuple[str, Any]] = [("slices", {"shape": "4x4x8"})]
    requests += [(f"cubes/pod-0/cube-{cube}/drain", None) for cube in (2, 3)]
    requests += [("faults", {"kind": kind, "target": target}) for kind, target in faults]
    for path, body in requests:
        answer = client.post(f"/v1/{path}", json=body, params={"wait": 20})
        assert answer.status_code == 200, answer.text
        driven.advance(0.01)
    paths = ["config/pod-0", "faults", "clock", "describe/slices/pod-0/slice-0", "describe/ocs/pod-0/ocs-37"]
    kinds = ("trace", "links", "describe/links")
    paths += [f"{kind}/{end}" for end in (*ENDS, *ABSENT) for kind in kinds if end or kind != "links"]
    paths += ["links/pod-0/cube-2/-x/9"]
    answers = {path: client.get(f"/v1/{path}") for path in paths}
    driven.close()
    bodies = {f"/v1/{path}": [as_json(answer.json(), answer.status_code)] for path, answer in answers.items()}
    with answering(bodies) as twin:
        yield twin


@pytest.fixture
def twin(recorded_twin: FakeTwin, monkeypatch: pytest.MonkeyPatch) -> FakeTwin:
    monkeypatch.setenv("LIGHTWAVE_URL", recorded_twin.url)
    return recorded_twin


def read(*words: str) -> list[str]:
    """Return the lines that a command prints."""
    done = CliRunner().invoke(root, list(words))
    assert done.exit_code == 0, (done.output, done.exception)
    return done.stdout.splitlines()


def refused(*words: str) -> tuple[int, str]:
    """Run a command that fails; return (exit code, sentence)."""
    done = CliRunner().invoke(root, list(words))
    if isinstance(done.exception, LightwaveError):
        return done.exception.exit_code, str(done.exception)
    return done.exit_code, " ".join(done.output.split())


def cells(lines: list[str], name: str) -> list[str]:
    """Return the row of a table that begins with this name."""
    return next(line.split() for line in lines if line.split()[:1] == [name])


# --- numbers ------------------------------------------------------------------------------------------------


def test_every_view_of_a_link_shows_the_same_loss_and_the_same_rate(twin: FakeTwin) -> None:
    link = first_answer(twin, f"links/{SOUND}")
    loss, ber = f"{link['loss_db']:.4f}", f"{link['ber']:.1e}"
    assert cells(read("get", "links", SOUND), SOUND)[4:6] == [loss, ber]
    assert (
        read("trace", SOUND)[0]
        == f"{SOUND} is up (module ok, path loss {loss} dB, BER {ber}), used by pod-0/slice-0"
    )
    described = dict(line.split(": ", 1) for line in read("describe", "link", SOUND) if ": " in line)
    assert (described["Loss dB"].strip(), described["BER"].strip()) == (loss, ber)


def test_the_loss_of_a_link_is_that_of_its_worse_circuit_and_the_fibre(twin: FakeTwin) -> None:
    """The loss is equal to the last digit, in JSON and in tables, to those of the OCS and the budget."""
    link, path = first_answer(twin, f"links/{SOUND}"), first_answer(twin, f"trace/{SOUND}")
    ports = [strand["north"] for strand in path["strands"]]
    circuits = first_answer(twin, "describe/ocs/pod-0/ocs-37")["object"]["circuits"]
    losses = [circuit["loss_db"] for circuit in circuits if circuit["north"] in ports]
    assert link["loss_db"] == round(max(losses) + 1.0, 4)
    budget = json.loads("\n".join(read("link", "budget", SOUND, "-o", "json")))
    assert [strand["insertion_loss_db"] for strand in budget["strands"]] == losses
    shown = [
        line.split()[-1] for line in read("describe", "ocs", "pod-0/ocs-37") if line.split()[:1] == ["N0"]
    ]
    assert shown == [f"{losses[0]:.4f}"]


def test_related_links_show_rates_by_their_order_of_magnitude(twin: FakeTwin) -> None:
    lines = read("describe", "link", DEAD)
    partner = first_answer(twin, f"links/{DEAD_FAR}")
    row = cells(lines[lines.index("Partner:") :], DEAD_FAR)
    assert row[4:6] == [f"{partner['loss_db']:.4f}", "-"]
    lines = read("describe", "link", SOUND)
    partner = first_answer(twin, f"links/{SOUND_FAR}")
    assert cells(lines[lines.index("Partner:") :], SOUND_FAR)[5] == f"{partner['ber']:.1e}"
    assert read("describe", "link", DARK)[read("describe", "link", DARK).index("Partner:") + 1] == "  none"


# --- what is broken -----------------------------------------------------------------------------------------


def test_a_dead_module_is_reported_at_both_ends(twin: FakeTwin) -> None:
    for end, condition in ((DEAD, "failed"), (DEAD_FAR, "ok")):
        link = first_answer(twin, f"links/{end}")
        assert (link["state"], link["condition"], link["ber"]) == ("down", condition, None)
        assert cells(read("get", "link", end), end)[4:6] == [f"{link['loss_db']:.4f}", "-"]
    loss = f"path loss {first_answer(twin, f'links/{DEAD}')['loss_db']:.4f} dB, BER -"
    used = "used by pod-0/slice-0"
    assert read("trace", DEAD)[0] == f"{DEAD} is down (module failed, {loss}), {used}"
    assert (
        read("trace", DEAD_FAR)[0]
        == f"{DEAD_FAR} is down (module ok, {loss}; the far end's module has failed), {used}"
    )
    assert "a module has failed: this is what sound ones would receive" in read("link", "budget", DEAD_FAR)


@pytest.mark.parametrize(
    ("end", "why", "partner"),
    [
        (HALF, f"strand 0 is not made; strand 1 reaches {HALF_FAR}", HALF_FAR),
        (HALF_FAR, f"strand 0 is not made; strand 1 reaches {HALF}", HALF),
        (NEITHER, f"neither strand to {NEITHER_FAR} is made", NEITHER_FAR),
        (NEITHER_FAR, f"neither strand to {NEITHER} is made", NEITHER),
        (DARK, "no circuit is wanted", "pod-0/cube-3/-y/7"),
    ],
)
def test_a_path_without_far_end_explains_why_and_where_it_should_lead(
    twin: FakeTwin, end: str, why: str, partner: str
) -> None:
    path = first_answer(twin, f"trace/{end}")
    assert path["far_end"] is None
    assert path["wanted_end"] == (None if end == DARK else partner)
    assert read("trace", end)[-1] == f"far end   none: {why}"
    sentence = f"link {end}: {why}; name an end with --to, such as {partner}"
    assert refused("link", "budget", end) == (2, sentence)


def test_the_budget_of_a_link_that_is_wanted_keeps_its_dirt(twin: FakeTwin) -> None:
    [dirt_db] = [f["severity"] for f in first_answer(twin, "faults") if f["severity"] is not None]
    near = json.loads("\n".join(read("link", "budget", HALF, "--to", HALF_FAR, "-o", "json")))
    far = json.loads("\n".join(read("link", "budget", HALF_FAR, "--to", HALF, "-o", "json")))
    assert (near["near_excess_db"], far["far_excess_db"]) == (dirt_db, dirt_db)
    why = f"strand 0 is not made; strand 1 reaches {HALF_FAR}"
    assert near["note"] == f"{why}: this is what the link would receive"
    other = json.loads("\n".join(read("link", "budget", HALF, "--to", "pod-0/cube-2/-x/9", "-o", "json")))
    assert (other["near_excess_db"], other["note"]) == (
        0.0,
        "a link that could be made, with clean connectors",
    )


# --- ends that are not there --------------------------------------------------------------------------------

NAMED = "names are like pod-0/cube-12/+y/7, on the faces +x, -x, +y, -y, +z, -z"
SENTENCES = (
    "cube 99 does not exist; must be between 0 and 3; the nearest is pod-0/cube-3/+y/7",
    "face index 16 does not exist; must be between 0 and 15; the nearest is pod-0/cube-0/+y/15",
    "no such link; the nearest is pod-0/cube-0/+y/7",
    *(f"no such link; {NAMED}",) * 2,
    "no such link; the nearest is pod-0/cube-0/+y/7",
    None,
    *(f"no such link; {NAMED}",) * 2,
)


@pytest.mark.parametrize("command", ["trace", "link budget", "get link", "describe link"])
@pytest.mark.parametrize(("end", "why"), [*zip(ABSENT, SENTENCES, strict=True)])
def test_a_missing_link_end_is_reported_with_the_allowed_names(
    twin: FakeTwin, command: str, end: str, why: str | None
) -> None:
    code, output = refused(*command.split(), end)
    if command == "get link" and not end:
        assert (code, "NAME '': is empty" in output) == (2, True)
        return
    whole = "fabric 'pod-7': no such fabric; must be one of pod-0" if why is None else f"link {end!r}: {why}"
    assert (code, output) == (NotFound.exit_code, whole)


@pytest.mark.parametrize(
    ("kind", "row", "sections_shown"),
    [
        (
            "fabrics",
            {"ocs": 48, "cubes": 64, "slices": None},
            {"OCS": "48, all up", "Cubes": "64, all healthy, none drained"},
        ),
        ("fabrics", {"ocs": 0, "cubes": 64, "slices": None}, {"OCS": "none", "Faults": "none active"}),
        ("cubes", {"name": "pod-0/cube-1"}, {"Hosts": "all up", "Links": "none down or degraded"}),
        ("slices", {"name": "pod-0/slice-1"}, {"Cubes": "none", "Links": "none down or degraded"}),
    ],
)
def test_an_empty_section_reports_no_problems(
    kind: str, row: dict[str, Any], sections_shown: dict[str, str]
) -> None:
    sections: dict[str, list[Any]] = {title.lower(): [] for title in sections_shown}
    content = {"object": row, "related": sections, "events": [], "events_in_all": 0}
    lines = _description_text(kind, as_record(content)).splitlines()
    assert {title: lines[lines.index(f"{title}:") + 1].strip() for title in sections_shown} == sections_shown


def test_durations_are_formatted_as_durations() -> None:
    row = {
        "requested_us": 93_600_000_000,
        "duration_us": 7_200_000_000,
        "left_us": None,
        "waits": {"median_us": 5_400_000_000, "p95_us": 90_000_000},
    }
    content = {"object": row, "related": {"slices": [row]}, "events": [], "events_in_all": 0}
    text = _description_text("faults", as_record(content))
    for line in (
        "Requested:  1d02:00:00",
        "Duration:   2h",
        "Left:       -",
        "Waits:      median 1h30m, p95 1m30s",
    ):
        assert line in text
    assert "1d02:00:00   2h" in text


@pytest.mark.parametrize(
    ("fabric", "there", "gone"), [("pod-0", ["SLICE"], "NORTH-BLOCK"), ("dcn-0", ["NORTH-BLOCK"], "SLICE")]
)
def test_circuits_have_slices_or_blocks(fabric: str, there: list[str], gone: str) -> None:
    circuit = {"north": 1, "south": 2, "made": True, "loss_db": 1.5, "slice": None}
    blocks: dict[str, str | None] = {"north_block": "dcn-0/block-0", "south_block": "dcn-0/block-2"}
    if fabric == "pod-0":
        blocks = {"north_block": None, "south_block": None}
    name = f"{fabric}/ocs-3"
    row = {
        "name": name,
        "state": "up",
        "circuits": [circuit | blocks],
        "spares_left": [8, 8],
        "patches": [],
    }
    answer = {"object": row, "related": {"faults": [], "repairs": []}, "events": [], "events_in_all": 0}
    with answering({}) as fake:
        fake.default = as_json(answer)
        result = CliRunner(env={"LIGHTWAVE_URL": fake.url}).invoke(root, ["describe", "ocs", name])
    assert result.exit_code == 0, result.output
    lines = result.output.splitlines()
    heads = lines[lines.index("Circuits:") + 1].split()
    assert set(there) <= set(heads)
    assert gone not in heads


def test_shares_are_formatted_as_in_lists() -> None:
    network = {"served": 0.99997, "use": 0.6496, "transit": None, "blocks": 16}
    rewiring = {"name": "dcn-0/rewiring-2", "use_ppm": 649_600, "transit_ppm": 1_000_000}
    row = {"name": "dcn-0", "ocs": 4, "slices": None, "network": network, "use_ppm": 1_035_762}
    answer = {"object": row, "related": {"rewirings": [rewiring]}, "events": [], "events_in_all": 0}
    with answering({}) as fake:
        fake.default = as_json(answer)
        result = CliRunner(env={"LIGHTWAVE_URL": fake.url}).invoke(root, ["describe", "fabrics", "dcn-0"])
    assert result.exit_code == 0, result.output
    assert "served 99.99%, use 64.96%, transit -, blocks 16" in result.output
    assert "103.58%" in result.output
    assert ["NAME", "USE", "TRANSIT"] in [line.split() for line in result.output.splitlines()]
    assert ["dcn-0/rewiring-2", "64.96%", "100.00%"] in [line.split() for line in result.output.splitlines()]


def test_a_verdict_is_reported_with_its_confidence() -> None:
    verdict = {
        "name": "pod-0/verdict-5",
        "kind": "connector",
        "target": SOUND,
        "work": "clean",
        "state": "open",
        "confidence": 0.98,
        "ends": [SOUND, "pod-0/cube-1/-z/7"],
        "evidence": "1.4 dB are lost both ways",
        "given_us": 7_200_000_000,
        "ended_us": None,
    }
    headers, (row,) = table_of(VERDICTS, as_record([verdict]), 0)
    assert headers[-3:] == ["GIVEN", "ENDED", "EVIDENCE"]
    assert row == [
        *("pod-0/verdict-5", "connector", SOUND, "clean", None, "98%", "open", "0d02:00:00", None),
        "1.4 dB are lost both ways",
    ]
    repair = {"name": "pod-0/repair-2", "kind": "connector", "target": SOUND, "work": "clean"}
    times = {"state": "completed", "technician": 0, "requested_us": 0, "began_us": 0, "ended_us": 0}
    repair_row = repair | times | {"ineffective": True, "verdict": "pod-0/verdict-5"}
    headers, (row,) = table_of(REPAIRS, as_record([repair_row]), 0)
    shown = dict(zip(headers, row, strict=True))
    assert (shown["WORK"], shown["INEFFECTIVE"], shown["VERDICT"]) == ("clean", True, "pod-0/verdict-5")
