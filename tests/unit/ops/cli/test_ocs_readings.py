"""OCS readings at the command line: rows, one OCS field by field, the course of a field, and metrics.

The answers come from a real gateway, whose rows are checked against its frames.
"""

import json
from collections.abc import Iterator
from typing import Any, get_args

import pyarrow as pa
import pytest
from click.testing import CliRunner

from ops.cli.main import root
from schemas.api.sensor_readings import OcsFieldName, OcsFieldReading, OcsReadingRow
from shared.models.telemetry.ocs_fields import OCS_FIELDS, ocs_fields_of
from tests.support.fake_twin import FakeTwin, answering, as_json
from tests.support.gateway_twin import QUIET, Client, DrivenTwin

pytestmark = pytest.mark.integration

DRIFTED, LAME, DUMB, SOUND, BLIND = (f"pod-0/ocs-{number}" for number in (9, 20, 30, 40, 41))
MIRROR = "N0"


@pytest.fixture(scope="module")
def driven(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DrivenTwin]:
    """Return a twin with a torus of two cubes, after two frames. Faults begin after the first one."""
    twin = DrivenTwin(tmp_path_factory.mktemp("twin"), ["pod.cubes=4", *QUIET])
    client = twin.client()
    send_request(client, "slices", {"shape": "4x4x8"})
    for cube in (2, 3):
        send_request(client, f"cubes/pod-0/cube-{cube}/drain")
    twin.advance(0.01)
    assert client.get("/v1/ocs-readings").json() == []
    assert client.get("/v1/telemetry/pod-0/ocs").status_code == 404
    twin.advance(0.3)
    for kind, target, severity in (
        ("mirror", f"{DRIFTED}/{MIRROR}", 2.0),
        ("supply", f"{LAME}/supply-1", None),
        ("cpu", f"{DUMB}/cpu", None),
        ("camera", f"{BLIND}/camera-N", None),
    ):
        send_request(client, "faults", {"kind": kind, "target": target, "severity": severity})
    twin.advance(0.25)
    yield twin
    twin.close()


def send_request(client: Client, path: str, body: Any = None) -> None:
    answer = client.post(f"/v1/{path}", json=body, params={"wait": 20})
    assert answer.status_code == 200, answer.text


@pytest.fixture(scope="module")
def gateway(driven: DrivenTwin) -> Client:
    return driven.client()


@pytest.fixture(scope="module")
def frame(gateway: Client) -> list[dict[str, Any]]:
    with pa.ipc.open_stream(gateway.get("/v1/telemetry/pod-0/ocs").content) as reader:
        table: list[dict[str, Any]] = reader.read_all().to_pylist()
    return table


@pytest.fixture(scope="module")
def rows(gateway: Client) -> dict[str, dict[str, Any]]:
    return {row["name"]: row for row in gateway.get("/v1/ocs-readings").json()}


def samples(gateway: Client, name: str, **query: Any) -> list[float | None]:
    answer = gateway.get(f"/v1/readings/{name}", params=query)
    assert answer.status_code == 200, answer.text
    return [row["value"] for row in answer.json()]


# --- the gateway --------------------------------------------------------------------------------------------


def test_fields_of_the_api_are_those_of_the_model() -> None:
    assert list(get_args(OcsFieldName)) == list(OCS_FIELDS)
    assert set(OCS_FIELDS) < set(OcsReadingRow.model_fields)
    assert {"field", "flag", "at"} < set(OcsFieldReading.model_fields)


def test_rows_are_those_of_the_newest_frame(
    frame: list[dict[str, Any]], rows: dict[str, dict[str, Any]]
) -> None:
    assert len(rows) == len(frame) == 48
    for truth in frame:
        row = rows[f"pod-0/ocs-{truth['ocs']}"]
        assert row["at_us"] == truth["at_us"] == 1_800_000_000
        for name in OCS_FIELDS:
            assert row[name] == (None if truth[name] is None else pytest.approx(truth[name], abs=1e-3))
        assert row["alarms"] == ocs_fields_of(truth["alarms"])
    assert rows[DRIFTED]["mirror"] == MIRROR
    assert (rows[DRIFTED]["warnings"], rows[DRIFTED]["alarms"]) == (["mirror_error_urad"],) * 2
    assert rows[LAME]["alarms"] == ["supply_v"]
    assert (rows[DUMB]["state"], rows[DUMB]["temperature_c"], rows[DUMB]["mirror"]) == ("held", None, None)
    assert rows[SOUND]["warnings"] == rows[SOUND]["alarms"] == rows[SOUND]["unread"] == []
    # The fabric has circuits on all of them, so that mirrors have something to show.
    assert rows[DUMB]["unread"] == list(OCS_FIELDS)
    assert rows[BLIND]["unread"] == ["mirror_error_urad", "camera_snr_db"]
    assert (rows[BLIND]["warnings"], rows[BLIND]["alarms"]) == ([], [])


def test_a_missing_reading_is_flagged(gateway: Client) -> None:
    readings = gateway.get(f"/v1/describe/ocs/{DUMB}").json()["related"]["readings"]
    assert {row["flag"] for row in readings} == {"unread"}
    readings = gateway.get(f"/v1/describe/ocs/{BLIND}").json()["related"]["readings"]
    flags = {row["field"]: (row["flag"], row["count"]) for row in readings}
    assert flags["camera_snr_db"] == ("unread", 1)
    assert flags["mirror_error_urad"][0] == "unread"
    assert flags["mirror_drive_v"] == ("ok", 8)
    assert flags["fan_rpm"] == ("ok", 4)


def test_rows_are_sorted_and_cut_as_requested(gateway: Client) -> None:
    query = {"sort": "-mirror_error_urad", "limit": 1, "fabric": "pod-0"}
    (worst,) = gateway.get("/v1/ocs-readings", params=query).json()
    assert worst["name"] == DRIFTED


def test_a_description_has_all_fields_with_their_thresholds(gateway: Client) -> None:
    readings = gateway.get(f"/v1/describe/ocs/{DRIFTED}").json()["related"]["readings"]
    assert [row["field"] for row in readings] == list(OCS_FIELDS)
    error = readings[1]
    assert (error["count"], error["at"], error["flag"], error["high_warning"]) == (8, MIRROR, "alarm", 60.0)
    assert error["lowest"] < error["median"] < 30 < 300 < error["highest"]
    assert {row["flag"] for row in readings[2:]} == {"ok"}
    (lame,) = [
        row
        for row in gateway.get(f"/v1/describe/ocs/{LAME}").json()["related"]["readings"]
        if row["field"] == "supply_v"
    ]
    assert (lame["at"], lame["lowest"], lame["count"], lame["flag"]) == ("1", 0.0, 2, "alarm")


def test_the_course_of_a_field_is_that_of_the_worst_part_or_of_one(gateway: Client) -> None:
    before, after = samples(gateway, DRIFTED)
    assert before is not None
    assert after is not None
    assert before < 30 < 300 < after
    assert samples(gateway, DRIFTED, field="mirror_error_urad", of=MIRROR)[1] == after
    other = samples(gateway, DRIFTED, field="mirror_error_urad", of="S3")[1]
    assert other is not None
    assert other < 30
    assert samples(gateway, LAME, field="supply_v", of="1") == [pytest.approx(12.0, abs=0.3), 0.0]
    assert samples(gateway, DUMB, field="temperature_c")[1] is None
    assert len(samples(gateway, DRIFTED, since="-1m")) == 0


@pytest.mark.parametrize(
    ("name", "query", "sentence"),
    [
        (
            DRIFTED,
            {"field": "ber"},
            "field ber: not a field of an OCS; must be one of mirror_drive_v, mirror_error_urad,",
        ),
        (
            "pod-0/cube-0/+x/1",
            {"field": "fan_rpm"},
            "field fan_rpm: not a field of a module; must be one of rx_power_dbm, tx_power_dbm,",
        ),
        (DRIFTED, {"lane": 3}, "lane 3: must not be given for an OCS; use `of`, such as N24"),
        ("pod-0/cube-0/+x/1", {"of": "N3"}, "of N3: must not be given for a link end; use `lane`, 0 to 7"),
        (
            DRIFTED,
            {"field": "inlet_c", "of": "1"},
            "of 1: must be omitted, because inlet_c belongs to the whole chassis",
        ),
        (DRIFTED, {"of": "N136"}, "of N136: no such mirror of an OCS; must be N0 to N135 or S0 to S135"),
        (DRIFTED, {"field": "camera_snr_db", "of": "1"}, "of 1: no such array of an OCS; must be N or S"),
        (DRIFTED, {"field": "fan_rpm", "of": "4"}, "of 4: no such fan of an OCS; must be 0 to 3"),
        (
            "pod-0/cube-0",
            {},
            "pod-0/cube-0: must be a link end like pod-0/cube-12/+y/7, or an OCS like pod-0/ocs-17",
        ),
    ],
)
def test_invalid_queries_are_answered_in_one_sentence(
    gateway: Client, name: str, query: dict[str, Any], sentence: str
) -> None:
    answer = gateway.get(f"/v1/readings/{name}", params=query)
    assert answer.status_code == 422
    assert sentence in answer.text


def test_frames_are_found_one_after_another(gateway: Client) -> None:
    first = gateway.get("/v1/telemetry/pod-0/ocs", params={"after_us": -1}).content
    with pa.ipc.open_stream(first) as reader:
        assert reader.schema.metadata[b"at_us"] == b"900000000"
    late = gateway.get("/v1/telemetry/pod-0/ocs", params={"after_us": 1_800_000_000})
    assert late.status_code == 404
    assert "pod-0/ocs: no telemetry frame of that time is stored" in late.text
    assert gateway.get("/v1/telemetry/pod-9/ocs").status_code == 404


def test_metrics_have_statistics_of_all_and_the_worst_by_name(gateway: Client, rows: dict[str, Any]) -> None:
    lines = [line for line in gateway.get("/metrics").text.splitlines() if line.startswith("lightwave_ocs_")]
    values = {key: float(value) for key, _, value in (line.rpartition(" ") for line in lines)}
    read = [row["temperature_c"] for row in rows.values() if row["temperature_c"] is not None]
    for statistic, value in (("lowest", min(read)), ("highest", max(read))):
        assert values[
            f'lightwave_ocs_temperature_c{{fabric="pod-0",statistic="{statistic}"}}'
        ] == pytest.approx(value, abs=1e-3)
    assert values['lightwave_ocs_flags{fabric="pod-0",field="supply_v",level="alarm"}'] == 1
    assert values['lightwave_ocs_flags{fabric="pod-0",field="camera_snr_db",level="unread"}'] == 2
    worst = {key: value for key, value in values.items() if "worst_mirror_error_urad" in key}
    assert len(worst) == 10
    key = f'lightwave_ocs_worst_mirror_error_urad{{fabric="pod-0",ocs="{DRIFTED}"}}'
    assert worst[key] == max(worst.values()) == pytest.approx(rows[DRIFTED]["mirror_error_urad"], abs=1e-3)
    assert len(lines) < 100


def test_an_incomplete_frame_gives_no_readings(driven: DrivenTwin) -> None:
    for broken in (b"", b"ARROW", b"\xff\xff\xff\xff\x10\x00"):
        client = driven.client(telemetry=lambda _name, frame=broken: frame)
        assert client.get("/v1/ocs-readings").json() == []


# --- the command line ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def recorded_twin(gateway: Client) -> Iterator[FakeTwin]:
    paths = [
        "links",
        "links?fabric=pod-0&fields=name%2Cocs",
        "readings",
        "ocs-readings",
        f"describe/ocs/{DRIFTED}",
        "clock",
    ]
    answers = {path: gateway.get(f"/v1/{path}") for path in paths}
    assert {answer.status_code for answer in answers.values()} == {200}
    bodies = {f"/v1/{path}": [as_json(answer.json())] for path, answer in answers.items()}
    with answering(bodies) as twin:
        yield twin


@pytest.fixture
def lines_of(recorded_twin: FakeTwin, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("LIGHTWAVE_URL", recorded_twin.url)

    def read(*words: str) -> list[str]:
        done = CliRunner().invoke(root, list(words))
        assert done.exit_code == 0, (done.output, done.exception)
        return done.stdout.splitlines()

    return read


def test_the_worst_ocses_come_first(lines_of: Any) -> None:
    lines = lines_of("top", "ocs", "-n", "5")
    assert (
        lines[0] == "0d00:30:00, 3m36s ago: 48 OCSes read, 2 with alarms, 2 with warnings, 2 not read in full"
    )
    names = [line.split()[0] for line in lines[4:]]
    assert names[:4] == [DUMB, BLIND, LAME, DRIFTED]
    assert len(names) == 5
    assert "? nothing is read" in lines[4]
    assert "? mirror error, camera" in lines[5]
    assert "!! mirror error" in lines[7]
    assert lines[7].split()[2] == MIRROR


def test_describe_has_a_table_of_fields(lines_of: Any) -> None:
    lines = lines_of("describe", "ocs", DRIFTED)
    (title,) = [line for line in lines if line.startswith("Readings")]
    table = lines[lines.index(title) + 1 :]
    assert table[0].split()[:7] == ["FIELD", "UNIT", "COUNT", "LOWEST", "MEDIAN", "HIGHEST", "AT"]
    assert [line.split()[0] for line in table[1 : 1 + len(OCS_FIELDS)]] == list(OCS_FIELDS)
    assert table[2].split()[-1] == "alarm"
    whole = json.loads("\n".join(lines_of("describe", "ocs", DRIFTED, "-o", "json")))
    assert len(whole["related"]["readings"]) == len(OCS_FIELDS)
