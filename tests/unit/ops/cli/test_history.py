"""The course of a field over the stored frames, drawn and exported."""

import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from ops.cli.look.plot import NO_SAMPLES, chart_text
from ops.cli.main import root
from ops.report.terminal_chart import braille_chart
from schemas.api.sensor_readings import ReadingSample
from shared.basics.errors import InvalidInput, NotFound
from shared.basics.units import US_PER_S
from tests.support.fake_twin import Answer, FakeTwin, answering, as_json
from tests.support.gateway_twin import QUIET, Client, DrivenTwin

pytestmark = pytest.mark.integration

END, DARK = "pod-0/cube-0/+z/5", "pod-0/cube-3/+y/7"
STEP_US = 900 * US_PER_S
FRAMES = 5


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """Return a gateway's client for a slice over two cubes, after some frames."""
    driven = DrivenTwin(tmp_path_factory.mktemp("twin"), ["pod.cubes=4", *QUIET])
    client = driven.client()
    assert client.post("/v1/slices", json={"shape": "4x4x8"}, params={"wait": 20}).status_code == 200
    driven.advance(0.25 * FRAMES + 0.1)
    yield client
    driven.close()


@pytest.fixture(scope="module")
def recorded_twin(gateway: Client) -> Iterator[FakeTwin]:
    """Record the gateway's answers to the commands below."""
    paths = [f"readings/{END}", "clock", "fabrics"]
    bodies = {f"/v1/{path}": [as_json(gateway.get(f"/v1/{path}").json())] for path in paths}
    with answering(bodies) as twin:
        yield twin


def invoke(url: str, *words: str) -> tuple[int, str]:
    """Run a command; return (exit code, its output or error)."""
    done = CliRunner(env={"LIGHTWAVE_URL": url}).invoke(root, list(words))
    if isinstance(done.exception, NotFound | InvalidInput):
        return done.exception.exit_code, str(done.exception)
    return done.exit_code, done.output


# --- the gateway --------------------------------------------------------------------------------------------


def test_history_has_one_sample_per_frame(gateway: Client) -> None:
    samples = gateway.get(f"/v1/readings/{END}").json()
    assert [sample["at_us"] for sample in samples] == [STEP_US * n for n in range(1, FRAMES + 1)]
    (newest,) = [row for row in gateway.get("/v1/readings").json() if row["name"] == END]
    assert samples[-1]["value"] == newest["rx_power_dbm"]
    lanes = [gateway.get(f"/v1/readings/{END}?lane={lane}").json() for lane in range(8)]
    assert min(lane[0]["value"] for lane in lanes) == samples[0]["value"], (
        "the reading is that of the worst lane"
    )
    assert len(gateway.get(f"/v1/readings/{END}?since=-35m").json()) == 2
    assert gateway.get(f"/v1/readings/{DARK}").json() == []


@pytest.mark.parametrize(
    ("path", "status", "sentence"),
    [
        (f"readings/{END}?field=power", 422, "field: 'power'"),
        (
            f"readings/{END}?field=supply_v&lane=2",
            422,
            "lane 2: must be omitted, because supply_v belongs to the whole module",
        ),
        (
            f"readings/{END}?since=soon",
            422,
            "since 'soon': must be a duration before now like -2h (or `2h ago`), or a time since the start",
        ),
        (
            "readings/pod-0/cube-0",
            422,
            "pod-0/cube-0: must be a link end like pod-0/cube-12/+y/7, or an OCS like pod-0/ocs-17",
        ),
        ("readings/pod-0/cube-99/+y/7", 404, ""),
        ("telemetry/pod-0?after_us=9000000000", 404, "pod-0: no telemetry frame of that time is stored"),
    ],
)
def test_an_impossible_query_is_reported_in_one_sentence(
    gateway: Client, path: str, status: int, sentence: str
) -> None:
    answer = gateway.get(f"/v1/{path}")
    assert answer.status_code == status, answer.text
    assert sentence in answer.json()["error"]


def test_frames_are_reported_one_after_another(gateway: Client) -> None:
    first, second = (gateway.get(f"/v1/telemetry/pod-0?after_us={us}").content for us in (0, STEP_US))
    assert first != second
    assert gateway.get("/v1/telemetry/pod-0?after_us=-1").content == first
    until = gateway.get(f"/v1/telemetry/pod-0?after_us={STEP_US}&until_us={2 * STEP_US}").content
    assert until == second
    last = gateway.get(f"/v1/telemetry/pod-0?after_us={STEP_US * (FRAMES - 1)}").content
    assert gateway.get("/v1/telemetry/pod-0").content == last


# --- plot ---------------------------------------------------------------------------------------------------


def test_a_plot_is_drawn_of_the_samples(recorded_twin: FakeTwin) -> None:
    code, text = invoke(recorded_twin.url, "plot", END)
    assert code == 0, text
    lines = text.splitlines()
    assert lines[0] == f"{END} rx_power_dbm"
    assert lines[-1].strip() == f"0d00:15:00 to 0d01:15:00, {FRAMES} samples"
    code, output = invoke(recorded_twin.url, "plot", END, "--lane", "3", "-o", "json")
    assert (code, len(json.loads(output))) == (0, FRAMES)


def test_rates_are_drawn_by_orders_of_magnitude() -> None:
    samples = [ReadingSample(at_us=n * STEP_US, value=10.0 ** (-9 + n)) for n in range(5)]
    text = chart_text([*samples, ReadingSample(at_us=9 * STEP_US, value=None)], "ber of it", is_rate=True)
    axis = [line.partition("┤")[0].strip() for line in text.splitlines() if "┤" in line]
    assert axis[0] == "1.0e-05"
    assert axis[-1] == "1.0e-09"


def test_a_line_goes_from_corner_to_corner_without_a_gap() -> None:
    lines = braille_chart([(0.0, 1.0), (5.0, 2.0)], 10, 5, "{:.2f}".format)
    assert [line.split()[0] for line in (lines[0], lines[-1])] == ["2.00", "1.00"]
    drawn_at = [line.partition("┤")[2] or line.partition("│")[2] for line in lines]
    assert len(drawn_at[0]) == 10, "the line ends at the top right"
    assert all(line.strip() for line in drawn_at)
    assert drawn_at[-1][0] != " "
    assert drawn_at[0][0] == " "


def test_a_flat_line_and_a_single_point_are_drawn() -> None:
    for points in ([(0.0, 3.0), (1.0, 3.0)], [(4.0, 0.0)]):
        lines = braille_chart(points, 12, 5, "{:.2f}".format)
        dotted = [n for n, line in enumerate(lines) if any(ord(c) > 0x2800 for c in line)]
        assert dotted == [2], "in the middle"


def test_marks_show_the_points_on_the_line() -> None:
    points = [(0.0, 1.0), (3.0, 1.0), (9.0, 1.0)]
    plain, marked = (
        braille_chart(points, 30, 5, "{:.2f}".format, marks=marks)[2].partition("┤")[2]
        for marks in (False, True)
    )
    assert [n for n, (one, other) in enumerate(zip(plain, marked, strict=True)) if one != other] == [
        0,
        10,
        29,
    ]


def test_missing_data_is_reported_in_one_sentence() -> None:
    assert chart_text([], "x", is_rate=False) == NO_SAMPLES
    assert chart_text([ReadingSample(at_us=1, value=0.0)], "x", is_rate=True) == NO_SAMPLES


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["plot", END, "--field", "power"], "no field 'power'"),
        (["plot", END, "--hours", "0"], "--hours 0: must be above 0"),
        (["plot", END, "--lane", "8"], "8 is not in the range"),
        (["telemetry", "export"], "Missing option"),
    ],
)
def test_bad_input_is_an_error_in_one_sentence(words: list[str], sentence: str) -> None:
    code, text = invoke("http://127.0.0.1:1", *words)
    assert code == 2
    assert sentence in text


# --- export -------------------------------------------------------------------------------------------------


def frames_suffix(gateway: Client) -> dict[str, list[Answer]]:
    """Return the gateway's frames in order, as a client requests them one after another."""
    answers_found = [
        gateway.get(f"/v1/telemetry/pod-0?after_us={us}")
        for us in (-1, *(STEP_US * n for n in range(1, FRAMES + 1)))
    ]
    assert [answer.status_code for answer in answers_found] == [200] * FRAMES + [404]
    answers = [
        (answer.status_code, answer.headers["content-type"], answer.content) for answer in answers_found
    ]
    return {"/v1/telemetry/pod-0": answers}


def test_frames_are_exported_as_one_table(gateway: Client, tmp_path: Path) -> None:
    paths = {f"/v1/{path}": [as_json(gateway.get(f"/v1/{path}").json())] for path in ("clock", "fabrics")}
    out = tmp_path / "readings.parquet"
    with answering(paths | frames_suffix(gateway)) as twin:
        code, output = invoke(twin.url, "telemetry", "export", "--parquet", str(out))
    assert code == 0, output
    assert f"{FRAMES} frames up to 0d01:15:00" in output
    now_us = gateway.get("/v1/clock").json()["now_us"]
    queries = [one.query for one in twin.requests if one.path.startswith("/v1/telemetry/")]
    assert all(f"until_us={now_us}" in query for query in queries), "later frames are left out"
    table = pq.read_table(out)
    assert table.num_rows == FRAMES * 2 * 96
    row = table.slice(0, 1).to_pylist()[0]
    assert (row["frame_at_us"], row["name"]) == (STEP_US, "pod-0/cube-0/+x/0")
    assert len(row["lane_rx_power_dbm"]) == 8
    answer = gateway.get(f"/v1/readings/{END}").json()
    exported = [one for one in table.to_pylist() if one["name"] == END]
    assert [round(one["rx_power_dbm"], 3) for one in exported] == [sample["value"] for sample in answer]


POD, STATIC, NETWORK = (
    {"name": name, "kind": kind, "network": network, "ocs": ocs, "retired_us": None}
    for name, kind, network, ocs in (
        *(("pod-0", "superpod", None, 48), ("pod-1", "static-pod", None, 0)),
        ("dcn-0", "dcn", {"blocks": 16}, 128),
    )
)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("--of trunks", "--of trunks: pod-0 is a superpod and has none; must be links or ocs"),
        ("--of ocs --fabric pod-1", "--of ocs: pod-1 is a static-pod and has none; must be links"),
        ("--of links --fabric dcn-0", "--of links: dcn-0 is a dcn and has none; must be trunks or ocs"),
        ("--fabric ../x --of ocs", "--fabric '../x': no such fabric; there is pod-0, pod-1, dcn-0"),
    ],
)
def test_frames_of_a_missing_object_are_not_exported(words: str, sentence: str, tmp_path: Path) -> None:
    with answering({"/v1/fabrics": [as_json([POD, STATIC, NETWORK])]}) as twin:
        code, output = invoke(
            twin.url, "telemetry", "export", "--parquet", str(tmp_path / "a.parquet"), *words.split()
        )
    refused = NotFound if "--fabric" in sentence else InvalidInput
    assert (code, output) == (refused.exit_code, sentence)
    assert [request.path for request in twin.requests] == ["/v1/fabrics"]


def test_without_frames_nothing_is_written(gateway: Client, tmp_path: Path) -> None:
    paths = {f"/v1/{path}": [as_json(gateway.get(f"/v1/{path}").json())] for path in ("clock", "fabrics")}
    out = tmp_path / "readings.parquet"
    with answering(paths) as twin:
        code, output = invoke(twin.url, "telemetry", "export", "--parquet", str(out))
        assert code == NotFound.exit_code, output
        early = ("--from", "0d01:00", "--to", "0d00:30")
        code, output = invoke(twin.url, "telemetry", "export", "--parquet", str(out), *early)
    assert (code, output) == (InvalidInput.exit_code, "--to 0d00:30: is before --from 0d01:00")
    assert list(tmp_path.iterdir()) == []
