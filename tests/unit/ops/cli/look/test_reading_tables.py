"""Module readings at the command line: wide lists, one end lane by lane, and the worst links.

The answers come from a real gateway, whose rows are checked against the frame.
"""

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs

import pyarrow as pa
import pytest
from click.testing import CliRunner

from ops.cli.look.reading_tables import FIELD_BY_HEADING, WIDE_HEADERS, ReadingOrder, split_link_order
from ops.cli.main import root
from schemas.api.sensor_readings import LinkFieldName, ReadingRow
from shared.basics.time_format import format_duration
from shared.basics.units import US_PER_S
from shared.models.telemetry.module_fields import MODULE_FIELDS, module_fields_of
from tests.support.fake_twin import FakeTwin, answering, as_json, first_answer
from tests.support.gateway_twin import QUIET, Client, DrivenTwin

pytestmark = pytest.mark.integration

DIRTY, DEAD, SOUND, DARK = (f"pod-0/cube-{end}" for end in ("0/+x/9", "0/+z/3", "0/+z/5", "3/+y/7"))
DEAD_FAR = "pod-0/cube-1/-z/3"
LATE = "pod-0/cube-0/+z/7"
ENDS = (DIRTY, DEAD, DEAD_FAR, SOUND, DARK, LATE)


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """Return a gateway's client for a torus of two cubes in a pod of four, after the first frame."""
    driven = DrivenTwin(tmp_path_factory.mktemp("twin"), ["pod.cubes=4", *QUIET])
    client = driven.client()
    requests: list[tuple[str, Any]] = [("slices", {"shape": "4x4x8"})]
    requests += [(f"cubes/pod-0/cube-{cube}/drain", None) for cube in (2, 3)]
    requests += [("faults", {"kind": "connector", "target": DIRTY})] * 3
    requests += [("faults", {"kind": "link", "target": DEAD})]
    requests += [("faults", {"kind": "late", "target": LATE, "severity": 5})]
    for path, body in requests:
        answer = client.post(f"/v1/{path}", json=body, params={"wait": 20})
        assert answer.status_code == 200, answer.text
        driven.advance(0.01)
    assert client.get("/v1/readings").json() == []
    driven.advance(0.3)
    yield client
    driven.close()


@pytest.fixture(scope="module")
def recorded_twin(gateway: Client) -> Iterator[FakeTwin]:
    paths = ["links", "links?fabric=pod-0&fields=name%2Cocs", "readings", "readings?fabric=pod-0", "clock"]
    paths += ["ocs-readings", "ocs"]
    paths += [f"{kind}/{end}" for end in ENDS for kind in ("links", "describe/links")]
    answers = {path: gateway.get(f"/v1/{path}") for path in paths}
    assert {answer.status_code for answer in answers.values()} == {200}
    bodies = {f"/v1/{path}": [as_json(answer.json())] for path, answer in answers.items()}
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


def row_of(lines: list[str], name: str) -> list[str]:
    (line,) = [line for line in lines if line.strip().startswith(f"{name} ")]
    return [cell.strip() for cell in line.strip().split("  ") if cell.strip()]


# --- the gateway --------------------------------------------------------------------------------------------


def test_readings_are_those_of_the_newest_frame(gateway: Client) -> None:
    with pa.ipc.open_stream(gateway.get("/v1/telemetry/pod-0").content) as reader:
        frame = reader.read_all().to_pylist()
    rows = gateway.get("/v1/readings").json()
    assert len(rows) == len(frame) == 2 * 96
    for row, truth in zip(rows, frame, strict=True):
        assert (row["state"], row["at_us"]) == (truth["state"], truth["at_us"])
        assert row["alarms"] == module_fields_of(truth["alarms"])
        assert row["unread"] == (list(MODULE_FIELDS) if row["name"] == DEAD else [])
        assert row["late_us"] == (5 * 60 * US_PER_S if row["name"] == LATE else 0)
        for name in MODULE_FIELDS:
            assert row[name] == (
                None if truth[name] is None else pytest.approx(truth[name], rel=1e-3, abs=1e-3)
            )


def test_readings_can_be_sorted_and_cut(gateway: Client) -> None:
    rows = gateway.get("/v1/readings?sort=-ber&limit=3").json()
    assert len(rows) == 3
    everything = [row["ber"] for row in gateway.get("/v1/readings").json() if row["ber"] is not None]
    assert [row["ber"] for row in rows] == sorted(everything, reverse=True)[:3]
    assert gateway.get("/v1/readings?fabric=pod-9").status_code == 404
    wrong = gateway.get("/v1/readings?sort=power")
    assert wrong.status_code == 422
    assert "sort 'power': no such column" in wrong.json()["error"]


def test_one_end_is_reported_lane_by_lane_with_its_thresholds(gateway: Client) -> None:
    by_end = {
        end: {
            field["field"]: field
            for field in gateway.get(f"/v1/describe/links/{end}").json()["related"]["readings"]
        }
        for end in ENDS
    }
    assert by_end[DARK] == {}, "an end without a circuit has no row"
    assert list(by_end[SOUND]) == list(MODULE_FIELDS)
    power = by_end[SOUND]["rx_power_dbm"]
    (row,) = [row for row in gateway.get("/v1/readings").json() if row["name"] == SOUND]
    assert min(power[f"lane_{lane}"] for lane in range(8)) == row["rx_power_dbm"]
    assert (power["module"], power["flag"], power["low_alarm"]) == (
        None,
        "ok",
        MODULE_FIELDS["rx_power_dbm"].low_alarm,
    )
    assert by_end[SOUND]["temperature_c"]["module"] == row["temperature_c"]
    assert by_end[DEAD]["bias_ma"]["lane_0"] is None, "a dead module sends no readings"
    assert {field["flag"] for field in by_end[DEAD].values()} == {"unread"}
    assert by_end[DEAD_FAR]["snr_db"]["flag"] is None, "without light there is nothing to measure"
    ages = {end: {field["late_us"] for field in fields.values()} for end, fields in by_end.items() if fields}
    assert ages == {end: {0} for end in ages} | {LATE: {5 * 60 * US_PER_S}}
    assert (by_end[DEAD_FAR]["rx_power_dbm"]["lane_0"], by_end[DEAD_FAR]["rx_power_dbm"]["flag"]) == (
        -40.0,
        "alarm",
    )


def test_metrics_have_outliers_and_no_series_per_lane(gateway: Client) -> None:
    text = gateway.get("/metrics").text
    rows = gateway.get("/v1/readings").json()
    lines = [
        line for line in text.splitlines() if line.startswith(("lightwave_link_", "lightwave_telemetry_s"))
    ]
    values = {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines}
    powers = sorted(row["rx_power_dbm"] for row in rows if row["rx_power_dbm"] is not None)
    of_power = [
        values[f'lightwave_link_rx_power_dbm{{fabric="pod-0",statistic="{s}"}}']
        for s in ("lowest", "highest")
    ]
    assert of_power == pytest.approx([powers[0], powers[-1]], abs=1e-3)
    alarmed = sum("rx_power_dbm" in row["alarms"] for row in rows)
    assert values['lightwave_link_flags{fabric="pod-0",field="rx_power_dbm",level="alarm"}'] == alarmed > 0
    worst = {key.split('link="')[1][:-2] for key in values if key.startswith("lightwave_link_worst_ber{")}
    by_rate = sorted((row for row in rows if row["ber"] is not None), key=lambda row: -row["ber"])
    assert len(worst) == 10
    assert by_rate[0]["name"] in worst
    assert values['lightwave_telemetry_simulated_seconds{fabric="pod-0"}'] == 900
    assert len(lines) < 100
    assert not [line for line in lines if len(line.rpartition(" ")[2].lstrip("-").partition("e")[0]) > 6]


def test_the_ten_weakest_are_lit_and_dark_ones_are_counted(gateway: Client) -> None:
    lines = gateway.get("/metrics").text.splitlines()
    rows = gateway.get("/v1/readings").json()
    powers = {row["name"]: row["rx_power_dbm"] for row in rows if row["rx_power_dbm"] is not None}
    dark = {name for name, power in powers.items() if power <= -40.0}
    assert f'lightwave_link_dark{{fabric="pod-0"}} {len(dark)}.0' in lines
    assert dark
    head = "lightwave_link_worst_rx_power_dbm{"
    named = [line.split('link="')[1].partition('"')[0] for line in lines if line.startswith(head)]
    weakest = sorted(powers.keys() - dark, key=lambda name: powers[name])
    assert {powers[name] for name in named} == {powers[name] for name in weakest[:10]}


def test_an_incomplete_frame_gives_no_readings(tmp_path: Any) -> None:
    driven = DrivenTwin(tmp_path, ["pod.cubes=4", *QUIET])
    for broken in (b"", b"ARROW", b"\xff\xff\xff\xff\x10\x00"):
        assert driven.client(telemetry=lambda _fabric, frame=broken: frame).get("/v1/readings").json() == []
    driven.close()


def test_fields_of_the_api_are_those_of_the_model() -> None:
    assert list(LinkFieldName.__args__) == list(MODULE_FIELDS)  # type: ignore[attr-defined]  # the values of a Literal
    assert set(MODULE_FIELDS) < set(ReadingRow.model_fields)


# --- the command line ---------------------------------------------------------------------------------------


def test_wide_lists_have_module_readings(twin: FakeTwin) -> None:
    lines = read("get", "links", "-o", "wide")
    assert lines[0].split() == [*WIDE_HEADERS[:-1], "GEN", "AGE", "READ-AT", "FLAGS"]
    assert len(lines) == 1 + 4 * 96
    age = format_duration(first_answer(twin, "clock")["now_us"])
    read_at = "0d00:15:00"
    assert row_of(lines, DARK) == [DARK, "dark", *["-"] * 7, "0", age, "-", "-"]
    assert row_of(lines, DEAD) == [DEAD, "down", *["-"] * 7, "0", age, read_at, "? nothing is read"]
    assert row_of(lines, LATE)[11:] == ["0d00:10:00", "5m old"], "its module was read before the others"
    dead_far = row_of(lines, DEAD_FAR)
    assert [dead_far[2], *dead_far[6:9]] == ["-40.00", "-", "-", "-"]
    assert dead_far[12] == "!! rx"
    (reading,) = [row for row in first_answer(twin, "readings") if row["name"] == DIRTY]
    dirty = row_of(lines, DIRTY)
    assert dirty[2] == f"{reading['rx_power_dbm']:.2f}"
    assert dirty[7] == f"{reading['ber']:.1e}"
    assert dirty[12].startswith("!! ")
    assert row_of(lines, SOUND)[12] == "-"
    assert row_of(read("get", "links", SOUND, "-o", "wide"), SOUND) == row_of(lines, SOUND)


def test_wide_lists_can_be_sorted_by_every_reading(twin: FakeTwin) -> None:
    read_rows = {row["name"]: row for row in first_answer(twin, "readings")}
    for heading, field, up in (("RX-DBM", "rx_power_dbm", True), ("-temp_c", "temperature_c", False)):
        lines = read("get", "links", "-o", "wide", f"--sort-by={heading}", "--top", "20")
        assert len(lines) == 21
        shown = [read_rows[line.split()[0]][field] for line in lines[1:]]
        every = sorted((row[field] for row in read_rows.values() if row[field] is not None), reverse=not up)
        assert shown == every[:20]
    whole = read("get", "links", "-o", "wide", "--sort=-snr_db")
    assert len(whole) == 1 + 4 * 96
    assert whole[-1].split()[6] == "-", "rows without a reading come last"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--where", "RX-DBM=-40"), "--where 'RX-DBM=-40': is a module reading; use it with -o wide"),
        (("--where", "FLAGS=rx"), "--where 'FLAGS=rx': is a module reading; use it with -o wide"),
        (("-o", "wide", "--where", "FLAGS>1"), "--where 'FLAGS>1': is not a number; must be FLAGS=rx"),
        (("--sort", "rx_dbm"), "is a module reading; use it with -o wide"),
        (("-o", "wide", "--sort", "rx_dbm,state"), "--sort state: cannot be combined with module readings"),
    ],
)
def test_invalid_sorting_of_wide_lists_is_reported(words: tuple[str, ...], sentence: str) -> None:
    done = CliRunner().invoke(root, ["get", "links", *words])
    assert done.exit_code == 2
    assert sentence in " ".join(done.output.split())


def test_generation_and_age_are_left_to_the_twin() -> None:
    query: dict[str, Any] = {"fabric": None, "where": ["GEN=1", "AGE>2d"], "sort": "GEN,-AGE", "limit": 3}
    assert split_link_order({**query}, is_wide=False) == ReadingOrder()


@pytest.mark.parametrize("heading", [heading for heading in WIDE_HEADERS if heading not in ("NAME", "STATE")])
def test_every_heading_of_the_wide_table_sorts_and_selects(twin: FakeTwin, heading: str) -> None:
    """The twin filters by fields; the command filters by FLAGS."""
    assert len(read("get", "links", "-o", "wide", f"--sort=-{heading}")) == 1 + 4 * 96
    twin.requests.clear()
    read("get", "links", "-o", "wide", "--where", f"{heading}!=null")
    where = [parse_qs(query)["where"] for request in twin.requests if "where" in (query := request.query)]
    own = {"BER": "BER"}.get(heading, FIELD_BY_HEADING.get(heading.lower().replace("-", "_"), ""))
    assert where == ([] if heading == "FLAGS" else [[f"{own}!=null"]])


def test_flags_select_the_links_that_show_them(twin: FakeTwin) -> None:
    shown = {line.split()[0]: line for line in read("get", "links", "-o", "wide")[1:]}
    flagged = {name for name, line in shown.items() if "!" in line or "?" in line}
    selected = {line.split()[0] for line in read("get", "links", "-o", "wide", "--where", "FLAGS!=null")[1:]}
    assert selected == flagged
    rx = {line.split()[0] for line in read("get", "links", "-o", "wide", "--where", "FLAGS=rx")[1:]}
    assert rx
    assert rx <= {name for name, line in shown.items() if "rx" in line or "nothing is read" in line}


def test_wide_of_links_has_readings_and_of_others_all_columns(twin: FakeTwin) -> None:
    assert read("get", "ocs", "-o", "wide") == read("get", "ocs")
    assert read("get", "links", "-o", "wide") != read("get", "links")


def test_describe_has_a_table_of_lanes(twin: FakeTwin) -> None:
    lines = read("describe", "link", SOUND)
    now_us = first_answer(twin, "clock")["now_us"]
    age = format_duration(now_us - 15 * 60 * US_PER_S)
    table = lines[lines.index(f"Readings, taken at 0d00:15:00, {age} ago:") + 1 :]
    assert table[0].split()[:4] == ["FIELD", "UNIT", "MODULE", "LANE-0"]
    assert "LOW-ALARM" in table[0]
    assert [line.split()[0] for line in table[1 : 1 + len(MODULE_FIELDS)]] == list(MODULE_FIELDS)
    description = json.loads("\n".join(read("describe", "link", SOUND, "-o", "json")))
    power = description["related"]["readings"][0]
    assert f"{power['lane_0']:.2f}" in table[1].split()
    assert "LATE" not in table[0]
    late = read("describe", "link", LATE)
    (at,) = (n + 1 for n, line in enumerate(late) if line.startswith("Readings, taken at 0d00:10:00, "))
    assert (late[at].split()[-1], late[at + 1].split()[-1]) == ("LATE", "5m")
    dark = read("describe", "link", DARK)
    assert dark[dark.index("Readings:") + 1].strip().startswith("none: nothing is connected")


def test_the_worst_links_come_first(twin: FakeTwin) -> None:
    lines = read("top", "links", "-n", "5")
    assert lines[0].startswith("0d00:15:00")
    assert "192 link ends read" in lines[0]
    assert lines[0].endswith(", 1 not read in full")
    rows = lines[3:]
    assert len(rows) == 5
    assert row_of(rows, DEAD) == [*rows[0].split()[:9], "? nothing is read"]
    assert "!!" in rows[1]
    assert {rows[1].split()[0], rows[2].split()[0]} & {DEAD_FAR, DIRTY}
    assert len(read("top", "links", "--once")) == 3 + 10


def test_the_worst_ocs_is_that_of_the_worst_links(twin: FakeTwin) -> None:
    lines = read("top", "ocs", "--once")
    heads = lines[3].split()
    assert heads[:3] == ["NAME", "ERROR-URAD", "MIRROR"]
    worst = {line.split()[0] for line in lines[4:6]}
    assert worst == {"pod-0/ocs-9", "pod-0/ocs-35"}, "those of the dirty and the dead end"
    assert all(line.split()[heads.index("LINK-ENDS")] == "4" for line in lines[4:])


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["top", "cubes"], "kind 'cubes'"),
        (["top", "links", "-n", "0"], "0 is not in the range"),
        (["top"], "Missing argument"),
    ],
)
def test_bad_input_is_an_error_in_one_sentence(words: list[str], sentence: str) -> None:
    done = CliRunner().invoke(root, words)
    assert done.exit_code == 2
    assert sentence in done.output
