"""`lightwave link` at the command line: for a hypothetical link, for a twin's link, and mistakes."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from ops.cli.main import root
from ops.models.optics.twin_link import _dark_note
from schemas.api.rows import ChipLocation, LightPath
from schemas.documents.pods import EndImpairment
from shared.basics.errors import LightwaveError, NotFound
from shared.models.optics.link_design import LinkDesign
from shared.models.optics.palomar import insertion_loss_db
from shared.models.optics.pod_links import link_table
from shared.models.optics.sensitivity import sensitivity_dbm
from shared.models.telemetry.installed_modules import installed_modules
from tests.support.fake_twin import FakeTwin, answering, as_json, first_answer, lightwave
from tests.support.gateway_twin import QUIET, DrivenTwin

pytestmark = pytest.mark.integration

OWN = ("link", "budget", "--loss-db", "2.5", "--return-loss-db", "-40", "--rate", "50G-PAM4")
WORN = "pod-0/cube-0/+z/9"
LINKED, DIRTY, DARK = "pod-0/cube-0/+z/3", "pod-0/cube-1/+z/5", "pod-0/cube-5/+y/7"
BROKEN, ONE_WAY, DRIFTED, PATCHED = (f"pod-0/cube-0/+z/{index}" for index in (1, 11, 13, 15))
WRONG = {"fibre": 2.0, "receiver": 1.5, "circulator": 15.0, "heat": 20.0}
BOTH_DIRTY, FAR_DIRTY = "pod-0/cube-0/+z/7", "pod-0/cube-1/-z/7"


def run(*words: str) -> Result:
    return CliRunner().invoke(root, list(words))


def printed(*words: str) -> Any:
    done = run(*words, "-o", "json")
    assert done.exit_code == 0, (done.output, done.exception)
    return json.loads(done.stdout)


def refused(*words: str) -> tuple[int, str]:
    """Run a command that fails; return (exit code, sentence)."""
    done = run(*words)
    if isinstance(done.exception, LightwaveError):
        return done.exception.exit_code, str(done.exception)
    return done.exit_code, " ".join(done.output.split())


# --- without a twin -----------------------------------------------------------------------------------------


def test_a_budget_of_a_hypothetical_link() -> None:
    budget = printed(*OWN)
    assert (budget["rate"], budget["kind"], budget["end"]) == ("50G-PAM4", "cwdm4-bidi", None)
    [strand] = budget["strands"]
    assert (strand["insertion_loss_db"], strand["near_return_loss_db"]) == (2.5, -40.0)
    assert {"element", "loss_db", "power_dbm", "return_db", "interference_dbm"} == set(strand["elements"][0])
    lost = sum(element["loss_db"] or 0.0 for element in strand["elements"])
    assert strand["received_dbm"] == pytest.approx(strand["launch_dbm"] - lost)
    assert len(strand["lanes"]) == 4
    worst = max(strand["lanes"], key=lambda lane: lane["ber"])
    assert (budget["worst"]["lane"], budget["worst"]["ber"]) == (worst["lane"], worst["ber"])


def test_a_budget_for_people_has_every_element_and_every_lane() -> None:
    lines = run(*OWN).stdout.splitlines()
    assert lines[0] == "50G-PAM4 over cwdm4-bidi, with mitigation and soft FEC"
    names = [line.split("  ")[0] for line in lines]
    start = names.index("ELEMENT")
    strand = printed(*OWN)["strands"][0]
    elements = [element["element"] for element in strand["elements"]]
    assert names[start + 1 : start + 2 + len(elements)] == [*elements, "received"]
    assert f"interference over signal (MPI): {strand['interference_db']:.2f} dB" in lines
    lanes = lines.index(next(line for line in lines if line.startswith("LANE")))
    assert [line.split()[1] for line in lines[lanes + 1 : lanes + 5]] == ["1271", "1291", "1311", "1331"]
    assert lines[-1].startswith("worst: strand 0, lane 3: BER "), "the lane with the most bounces"
    assert ", within 0.0002 by " in lines[-1]


def test_every_option_changes_what_it_names() -> None:
    usual = printed(*OWN)["worst"]
    for option in ("--no-mitigation", "--no-soft-fec"):
        assert printed(*OWN, option)["worst"]["ber"] > usual["ber"]
    brighter, longer = printed(*OWN, "--launch-dbm", "2.4"), printed(*OWN, "--fibre-loss-db", "3")
    dirtier = printed(*OWN, "--excess-db", "1.5")
    received_dbm = printed(*OWN)["strands"][0]["received_dbm"]
    for changed, by_db in ((brighter, 2.0), (longer, -2.0), (dirtier, -1.5)):
        assert changed["strands"][0]["received_dbm"] == pytest.approx(received_dbm + by_db)
    assert printed(*OWN, "--length-km", "5")["strands"][0]["lanes"][0]["penalty_db"] > 0.1
    assert len(printed(*OWN, "--kind", "cwdm8-bidi")["strands"][0]["lanes"]) == 8


def test_a_duplex_link_has_no_interference() -> None:
    words = (*OWN, "--kind", "cwdm4-duplex")
    assert printed(*words)["worst"]["interference_db"] is None
    assert "interference over signal (MPI): none" in run(*words).stdout


def test_too_much_reflection_is_reported() -> None:
    words = ("link", "budget", "--loss-db", "2.5", "--return-loss-db", "-22", "--no-mitigation")
    assert printed(*words)["worst"]["margin_orders"] < 0
    assert ", ABOVE 0.0002 by " in run(*words).stdout


@pytest.mark.parametrize("aids", [(), ("--mitigation",), ("--soft-fec",), ("--mitigation", "--soft-fec")])
def test_sensitivity_is_reported_with_what_was_requested(aids: tuple[str, ...]) -> None:
    result = printed("link", "sensitivity", "--rate", "50G-PAM4", "--mpi-db", "-32", "--ber", "2e-4", *aids)
    on = {"mitigation": "--mitigation" in aids, "soft_fec": "--soft-fec" in aids}
    request = {"rate": "50G-PAM4", "mpi_db": -32.0, "ber": 2e-4} | on
    assert result == {"sensitivity_dbm": sensitivity_dbm("50G-PAM4", -32.0, 2e-4, **on)} | request


def test_the_curve_is_a_page_that_needs_no_network(tmp_path: Path) -> None:
    page = tmp_path / "curve.html"
    done = run("link", "curve", "--mpi-db", "-32", "--mpi-db", "-20", "--out", str(page))
    assert done.exit_code == 0, done.output
    output = done.stdout.splitlines()
    assert "-7.27 dBm without either; mitigation gains 1.05 dB; soft FEC gains 1.61 dB" in output[0]
    assert (
        "MPI -20 dB, BER 0.0002: no light is enough without either; mitigation: -6.64 dBm; soft FEC: never"
        in output[1]
    )
    assert output[2] == f"written to {page}"
    text = page.read_text(encoding="utf-8")
    assert "Plotly.newPlot" in text
    assert '<script src="http' not in text
    for word in ("Figure 11", "Figure 12", "MPI -32 dB, without", "MPI -20 dB, with"):
        assert word in text


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("budget", "requires END, a link end of the twin, or --loss-db"),
        ("budget --loss-db 31", "loss-db 31 dB: must be between 0 and 30 dB; the nearest is 30"),
        ("budget --loss-db nan", "loss-db nan: not a number; must be between 0 and 30 dB"),
        ("budget --loss-db 2 --return-loss-db 40", "must be between -80 and -10 dB; did you mean -40?"),
        (
            "budget --loss-db 2 --rate 400G",
            "rate: '400G' is not a known lane rate; must be one of 10G-NRZ, 25G-NRZ",
        ),
        (
            "budget --loss-db 2 --kind cwdm5",
            "kind: 'cwdm5' is not a known kind of module; must be one of cwdm4-duplex",
        ),
        ("budget --loss-db 2 --to pod-0/cube-1/+x/1", "--to requires END, a link end of the twin"),
        ("budget pod-0/cube-1/+x/1 --loss-db 2", "--loss-db cannot be combined with END; the twin knows it"),
        ("sensitivity --mpi-db 2", "mpi-db 2 dB: must be between -80 and 0 dB; did you mean -2?"),
        ("sensitivity --mpi-db -20", "an MPI of -20 dB, because interference and distortion alone leave 0.0"),
        ("sensitivity --mpi-db -32 --ber 1", "ber 1: must be between 1e-15 and 0.1; the nearest is 0.1"),
        ("curve --mpi-db -90 --out none.html", "mpi-db -90 dB: must be between -80 and 0 dB"),
        ("curve --out none.png", "--out none.png: ends in '.png'; must end in .html"),
        ("curve --rate 1T --out none.html", "rate: '1T' is not a known lane rate"),
    ],
)
def test_a_mistake_is_an_error_in_one_sentence(words: str, sentence: str) -> None:
    code, output = refused("link", *words.split())
    assert (code, sentence in output) == (2, True), output


def test_a_mistake_ends_a_process_with_code_2_and_no_traceback() -> None:
    done = lightwave("link", "budget", "--loss-db", "-1")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "lightwave: loss-db -1 dB: must be between 0 and 30 dB; the nearest is 0\n"
    assert lightwave("link", "budget", LINKED).returncode == 4


# --- with a twin --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def recorded_twin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FakeTwin]:
    """Record a gateway's answers about a torus of two cubes in a pod of eight, with some dirty connectors."""
    twin = DrivenTwin(tmp_path_factory.mktemp("twin"), ["pod.cubes=8", *QUIET])
    client = twin.client()
    requests = [
        *((f"cubes/pod-0/cube-{cube}/drain", None) for cube in range(2, 8)),  # no spare cube for a swap
        ("slices", {"shape": "4x4x8"}),
        *(
            ("faults", {"kind": "connector", "target": end})
            for end in (DIRTY, BOTH_DIRTY, BOTH_DIRTY, FAR_DIRTY)
        ),
        ("faults", {"kind": "connector", "target": LINKED}),
        ("faults/pod-0/fault-5/clear", None),
        ("faults", {"kind": "laser", "target": WORN, "severity": 3.0}),
        *(("faults", {"kind": kind, "target": BROKEN, "severity": db}) for kind, db in WRONG.items()),
        ("faults", {"kind": "transmitter", "target": ONE_WAY}),
        ("faults", {"kind": "mirror", "target": "pod-0/ocs-45/N0", "severity": 2.5}),
    ]
    client.post("/v1/faults", json={"kind": "port", "target": "pod-0/ocs-47/N0"}, params={"wait": 20})
    twin.advance(100)  # until its fibre is at a spare port
    for path, body in requests:
        answer = client.post(f"/v1/{path}", json=body, params={"wait": 20})
        assert answer.status_code == 200, answer.text
        twin.advance(0.01)
    ends = [
        f"pod-0/cube-{cube}/{face}/{index}"
        for cube in (0, 1)
        for face in ("+z", "-z")
        for index in range(1, 16, 2)
    ]
    paths = [
        "config/pod-0",
        "faults",
        *(f"{kind}/{end}" for end in (*ends, DARK) for kind in ("trace", "links")),
        *(f"links/{end}" for end in ("pod-0/cube-6/-z/3", DARK.replace("+y", "-y"))),
    ]
    bodies = {f"/v1/{path}": [as_json(client.get(f"/v1/{path}").json())] for path in paths}
    twin.close()
    with answering(bodies) as answers:
        yield answers


@pytest.fixture
def twin(recorded_twin: FakeTwin, monkeypatch: pytest.MonkeyPatch) -> FakeTwin:
    monkeypatch.setenv("LIGHTWAVE_URL", recorded_twin.url)
    return recorded_twin


@pytest.mark.parametrize("end", [LINKED, DIRTY, BOTH_DIRTY, WORN, BROKEN, ONE_WAY, DRIFTED, PATCHED])
def test_the_budget_of_a_link_has_the_error_rate_of_the_twin(twin: FakeTwin, end: str) -> None:
    """The worst of its eight lanes, and the loss of its worse strand, seen from both ends."""
    for name in (end, first_answer(twin, f"trace/{end}")["far_end"]):
        path, budget = first_answer(twin, f"trace/{name}"), printed("link", "budget", name)
        assert (budget["end"], budget["far_end"]) == (name, path["far_end"])
        assert budget["worst"]["ber"] == pytest.approx(path["ber"], rel=0.007)
        ports = [(strand["ocs"], strand["north"], strand["south"]) for strand in budget["strands"]]
        assert ports == [(s["ocs"], s["north"], s["south"]) for s in path["strands"]]
        dirt_db = budget["near_excess_db"] + budget["far_excess_db"]
        sound = {"lost_db": (0.0, 0.0)}
        near, far = (budget[which] or sound for which in ("near_impairment", "far_impairment"))
        losses = [
            strand["insertion_loss_db"] + lost + far_lost
            for strand, lost, far_lost in zip(budget["strands"], near["lost_db"], far["lost_db"], strict=True)
        ]
        assert round(max(losses) + dirt_db + 1.0, 4) == path["loss_db"]


def test_dirt_is_counted_at_the_end_that_has_it(twin: FakeTwin) -> None:
    far_end = first_answer(twin, f"trace/{DIRTY}")["far_end"]
    near, far = printed("link", "budget", DIRTY), printed("link", "budget", far_end)
    assert near["near_excess_db"] == far["far_excess_db"] > 0.5
    assert near["far_excess_db"] == far["near_excess_db"] == 0.0
    both = printed("link", "budget", BOTH_DIRTY)
    faults = {fault["name"]: fault["severity"] for fault in first_answer(twin, "faults")}
    assert both["near_excess_db"] == pytest.approx(faults["pod-0/fault-2"] + faults["pod-0/fault-3"])
    assert both["far_excess_db"] == faults["pod-0/fault-4"]
    clean = printed("link", "budget", LINKED)
    assert clean["near_excess_db"] == clean["far_excess_db"] == 0.0


def test_fibres_at_spare_ports_have_the_loss_of_those_ports(twin: FakeTwin) -> None:
    """The budgets of both ends agree on the spare port."""
    [spare] = {strand.get("north_spare") for strand in first_answer(twin, f"trace/{PATCHED}")["strands"]} - {
        None
    }
    config = first_answer(twin, "config/pod-0")
    losses = [strand["insertion_loss_db"] for strand in printed("link", "budget", PATCHED)["strands"]]
    moved, kept = (
        insertion_loss_db(config["seed"], "pod-0", np.array(47), np.array(north), np.array(3))
        for north in (spare, 0)
    )
    assert losses[0] == round(float(moved), 4) != round(float(kept), 4)


def test_any_error_with_the_light_is_counted_and_named(twin: FakeTwin) -> None:
    for end, description in (
        (WORN, "it launches 3.00 dB less"),
        (
            BROKEN,
            (
                "it loses 2.00 dB, it launches 1.00 dB less, receivers need 1.50 dB more, the circulator "
                "leaks 15.00 dB more, it is 20.0 K warmer"
            ),
        ),
        (ONE_WAY, "strand 0 launches 60.00 dB less"),
    ):
        far_end = first_answer(twin, f"trace/{end}")["far_end"]
        for name in (end, far_end):
            assert f"wrong at {end}: {description}" in run("link", "budget", name).stdout.splitlines()
        near, far = printed("link", "budget", end), printed("link", "budget", far_end)
        assert near["near_impairment"] == far["far_impairment"] != near["far_impairment"] is None
    clean = printed("link", "budget", LINKED)
    assert clean["near_impairment"] is clean["far_impairment"] is clean["note"] is None


def test_the_budget_of_a_cube_without_power_reports_it() -> None:
    sound = EndImpairment(
        end=7,
        unpowered=False,
        dirt_db=0.0,
        lost_db=(0.0, 0.0),
        launch_loss_db=(0.0, 0.0),
        sensitivity_loss_db=0.0,
        leak_db=0.0,
        excess_temperature_k=0.0,
    )
    path = LightPath(
        end=DARK,
        chip=ChipLocation(cube="pod-0/cube-5", x=0, y=3, z=0),
        far_end=LINKED,
        far_chip=None,
        wanted_end=LINKED,
        state="up",
        condition="ok",
        far_condition="ok",
        loss_db=None,
        ber=None,
        slice=None,
        strands=(),
    )
    assert _dark_note(path, None) is None
    assert _dark_note(path.model_copy(update={"far_impairment": sound}), None) is None
    unpowered = sound.model_copy(update={"unpowered": True})
    note = _dark_note(path.model_copy(update={"far_impairment": unpowered}), None)
    assert note == "a cube is without power: this is what the link would receive"


def test_both_directions_are_reported_by_either_end(twin: FakeTwin) -> None:
    far_end = first_answer(twin, f"trace/{BOTH_DIRTY}")["far_end"]
    near, far = printed("link", "budget", BOTH_DIRTY), printed("link", "budget", far_end)
    assert (near.pop("reverse"), far.pop("reverse")) == (far, near)
    output = run("link", "budget", BOTH_DIRTY).stdout.splitlines()[-1]
    assert output.startswith(f"worst the other way, at {far_end}: strand ")
    assert f"BER {far['worst']['ber']:.2g}" in output
    assert printed(*OWN)["reverse"] is None


def test_a_replaced_module_counts_in_links_that_are_made_and_that_could_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    driven = DrivenTwin(tmp_path, ["pod.cubes=4", *QUIET])
    client, end, far, other = driven.client(), LINKED, "pod-0/cube-1/-z/3", "pod-0/cube-3/-z/3"
    client.post("/v1/faults", json={"kind": "link", "target": end}, params={"wait": 20})
    driven.advance(100)
    client.post("/v1/slices", json={"shape": "4x4x8"}, params={"wait": 20})
    driven.advance(0.01)
    paths = ["config/pod-0", *(f"{kind}/{name}" for name in (end, far, other) for kind in ("trace", "links"))]
    bodies = {f"/v1/{path}": [as_json(client.get(f"/v1/{path}").json())] for path in paths}
    driven.close()
    with answering(bodies) as twin:
        monkeypatch.setenv("LIGHTWAVE_URL", twin.url)
        assert (
            first_answer(twin, f"links/{end}")["generation"]
            == first_answer(twin, f"trace/{end}")["generation"]
            == 1
        )
        assert first_answer(twin, f"trace/{far}")["far_generation"] == 1
        for name in (end, far):
            ber = printed("link", "budget", name)["worst"]["ber"]
            assert ber == pytest.approx(first_answer(twin, f"trace/{name}")["ber"], rel=0.007)
        could = printed("link", "budget", end, "--to", other)["worst"]["ber"]
    first = link_table(3, "pod-0", 4, LinkDesign())
    made = installed_modules(3, "pod-0", 4 * 96, 0, {64 + 3: (1, 0)}, lambda _: None).made
    place = tuple(np.array([number]) for number in (35, 0, 3))
    now, before = (10.0 ** table.at(*place)[1][0] for table in (first.renewed(made, 64 + 3), first))
    assert could == pytest.approx(now, rel=0.007)
    assert could != pytest.approx(before, rel=0.007)


def test_a_link_that_could_be_made(twin: FakeTwin) -> None:
    words = ("link", "budget", LINKED, "--to", "pod-0/cube-6/-z/3")
    budget = printed(*words)
    assert (budget["far_end"], budget["note"]) == (
        "pod-0/cube-6/-z/3",
        "a link that could be made, with clean connectors",
    )
    assert [(strand["north"], strand["south"]) for strand in budget["strands"]] == [(0, 13), (13, 0)]
    back = printed("link", "budget", DARK, "--to", DARK.replace("+y", "-y"))
    assert [(strand["north"], strand["south"]) for strand in back["strands"]] == [(10, 11), (11, 10)]
    assert run(*words).stdout.startswith(f"{LINKED} receives from pod-0/cube-6/-z/3\n")


def test_options_change_a_twin_s_link(twin: FakeTwin) -> None:
    usual = printed("link", "budget", LINKED)
    assert usual["rate"] == "50G-PAM4"
    faster = printed("link", "budget", LINKED, "--rate", "100G-PAM4")
    assert faster["rate"] == "100G-PAM4"
    assert faster["strands"][0]["launch_dbm"] > usual["strands"][0]["launch_dbm"]
    offsets = [
        [lane["offset_ghz"] for lane in printed("link", "budget", LINKED, *warmer)["strands"][0]["lanes"]]
        for warmer in ((), ("--warmer-k", "10"))
    ]
    assert offsets[1] == pytest.approx([offset - 177.0 for offset in offsets[0]])
    reflecting = printed("link", "budget", LINKED, "--return-loss-db", "-25", "--no-mitigation")
    assert {strand["near_return_loss_db"] for strand in reflecting["strands"]} == {-25.0}
    assert (reflecting["mitigation"], reflecting["soft_fec"]) == (False, True)
    assert printed("link", "budget", LINKED, "--excess-db", "2")["near_excess_db"] == 2.0


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        ((DARK,), 2, f"link {DARK}: no circuit is wanted; name an end with --to, such as pod-0/cube-5/-y/7"),
        ((LINKED, "--to", "pod-0/cube-6/+z/3"), 2, "the nearest is pod-0/cube-6/-z/3"),
        ((LINKED, "--to", "pod-0/cube-6/-z/4"), 2, "the nearest is pod-0/cube-6/-z/3"),
        ((LINKED, "--to", ""), 2, "name: '' is not a part of a pod"),
        ((LINKED, "--to", "pod-0/cube-8/-z/3"), 2, "cube 8 does not exist; must be between 0 and 7"),
        (
            (LINKED, "--to", "pod-0/cube-6"),
            2,
            "not a link end of pod-0; must be a link end such as pod-0/cube-6/-z/3",
        ),
        (
            (LINKED, "--to", "pod-1/cube-2/-z/3"),
            2,
            "not a link end of pod-0; must be a link end such as pod-0/",
        ),
        (("pod-0/cube-0/+z/99",), NotFound.exit_code, "no such path"),
    ],
)
def test_an_impossible_link_is_an_error_in_one_sentence(
    twin: FakeTwin, words: tuple[str, ...], code: int, sentence: str
) -> None:
    exit_code, output = refused("link", "budget", *words)
    assert (exit_code, sentence in output) == (code, True), output


# --- modules ---------------------------------------------------------------------------------------------


def test_two_modules_agree_or_the_reason_is_given() -> None:
    result = printed("link", "agree", "cwdm4-bidi-800G", "cwdm4-bidi-100G")
    assert (result["rate"], result["lanes"], result["gbps"]) == ("25G-NRZ", 4, 100)
    result = printed("link", "agree", "cwdm8-bidi-800G", "cwdm4-bidi-800G")
    assert (result["rate"], result["lanes"], result["gbps"]) == (None, 0, 0)
    assert "20 nm grid and cwdm8-bidi on a 10 nm grid" in result["reason"]
    assert run("link", "agree", "cwdm8-bidi-800G", "cwdm4-bidi-800G").output == f"{result['reason']}\n"


@pytest.mark.parametrize(
    ("module", "sentence"),
    [
        (
            "cwdm4-bidi-900G",
            "generation: 900 is not allowed for cwdm4-bidi; must be 40",
        ),
        ("cwdm9-800G", "module: 'cwdm9-800G' is not a module; must be a name like cwdm4-duplex-800G"),
    ],
)
def test_an_unknown_module_is_an_error_in_one_sentence(module: str, sentence: str) -> None:
    code, output = refused("link", "agree", "cwdm4-bidi-400G", module)
    assert code == 2
    assert output.startswith(sentence)
