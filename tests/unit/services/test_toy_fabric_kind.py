"""A third kind of fabric needs one folder and one row. The gateway, the command line, the audit and the
invariants support it without a change."""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from click.testing import CliRunner
from pydantic import ValidationError

from ops.cli.main import root
from ops.requests.name_expansion import lacks_fabric
from ops.sites.site_plans import default_names, single_fabric_sites
from schemas.api.changes import InjectChange
from schemas.config.fabric_configs import CONFIGS, config_model
from schemas.config.pods import SuperpodConfig
from schemas.fabric_names import can_have, default_fabric_name
from schemas.files.site_plan import SitePlan
from schemas.messages.failures import FaultBegan
from schemas.messages.operator import InjectFault
from schemas.names import FAULT_KINDS
from schemas.registry import TYPES, Unreadable, decode
from schemas.resource_kinds import find_kind
from services.fabric_kinds import FABRIC_KINDS, FLEET, fabric_views, register
from services.failures.service import SERVICE as FAILURES
from services.failures.state import FailuresState
from services.gateway.explain.changes import timed_changes
from services.ocs.state import OCS_HARDWARE, hardware_of_network
from services.scheduler.structures.pod_placement import PLACEMENTS
from services.service_names import SERVICE_NAMES
from services.transceivers.link_optics import LIGHT_PATHS
from shared.basics.units import US_PER_DAY
from shared.engine.state_codec import decode_state, encode_state
from shared.engine.state_layout import state_layout
from shared.models.fabric_plants import CONFIG_CHECKS, PLANTS, SLICE_CHECKS
from shared.models.faults.fault_kinds import FAULTS
from shared.runtimes.poll import poll_until
from tests.support.gateway_twin import QUIET, Client, DrivenTwin, get
from tests.support.log_checks import check_all, read_lines
from tests.support.rig import Bench, bodies
from tests.support.served import served
from tests.support.toy_fabric.config import LampFailuresConfig, LampFieldConfig
from tests.support.toy_fabric.kind import LAMP_FIELD, TABLES, lamp_field_registered
from tests.support.toy_fabric.view import VIEW

pytestmark = pytest.mark.integration

FIELD, LAMP, OTHER = "field-0", "field-0/mast-1/lamp-0", "field-0/mast-2/lamp-0"


@pytest.fixture(scope="module")
def twin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DrivenTwin]:
    """A small pod in which nothing happens, and a field of lamps: one lamp went out and was lit again, the
    other is out."""
    with lamp_field_registered():
        (plan,) = single_fabric_sites(1, pairs=["pod.cubes=4", *QUIET], seed=3)
        site = SitePlan(site="campus", fabrics={FIELD: LampFieldConfig(), **plan.fabrics})
        driven = DrivenTwin(tmp_path_factory.mktemp("twin"), [], plans=[site])
        client = driven.client()
        for kind, target in (("link", LAMP), ("bulb", OTHER)):
            _accepted(client, "faults", {"kind": kind, "target": target})
        driven.advance(0.1)
        _accepted(client, f"faults/{FIELD}/fault-0/clear", None)
        yield driven
        driven.close()


def _accepted(client: Client, path: str, body: object) -> None:
    answer = client.post(f"/v1/{path}", json=body, params={"wait": 20})
    assert answer.status_code == 200, answer.text
    assert answer.json()["status"] == "accepted"


# --- the row ------------------------------------------------------------------------------------------------


def test_every_built_in_kind_has_one_row_that_all_tables_follow() -> None:
    assert list(FABRIC_KINDS) == list(FLEET) == list(SERVICE_NAMES) == list(CONFIGS)
    for name, row in FABRIC_KINDS.items():
        assert (CONFIGS[name], PLANTS[name], CONFIG_CHECKS[name]) == (row.config, row.plant, row.check_config)
        assert FLEET[name] == row.services
        assert SERVICE_NAMES[name] == tuple(service.name for service in row.services)
        assert (SLICE_CHECKS.get(name), PLACEMENTS.get(name)) == (row.check_slice, row.placement)
        assert (LIGHT_PATHS.get(name), OCS_HARDWARE.get(name)) == (row.light_paths, row.ocs_hardware)
        has = {service.name for service in row.services}
        assert (row.placement is not None) == ("scheduler" in has)
        assert (row.light_paths is not None) == ("transceivers" in has)
        assert (row.ocs_hardware is not None) == ("ocs" in has)


def test_a_row_that_contradicts_a_table_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = [dict(table) for table in TABLES]
    row = FABRIC_KINDS["superpod"]
    other = replace(row, services=(FAILURES,))
    with pytest.raises(ValueError, match="superpod: the fleet has"):
        register(other)
    other = replace(row, ocs_hardware=hardware_of_network)
    monkeypatch.setitem(FABRIC_KINDS, "superpod", other)
    with pytest.raises(ValueError, match=r"superpod: the fleet has .*hardware_of_network"):
        register(other)
    monkeypatch.undo()
    assert [dict(table) for table in TABLES] == kept


def test_without_its_row_the_kind_is_unknown() -> None:
    line = b'{"v":1,"id":"lamps@field-0/1","type":"LampOut","body":{"lamp":"field-0/mast-1/lamp-0"}}'
    assert find_kind("lamps") is None
    with pytest.raises(ValueError, match="no such kind of fabric"):
        config_model("lamp-field")
    with pytest.raises(Unreadable, match="unknown message type"):
        decode(line)
    with lamp_field_registered():
        assert config_model("lamp-field") is LampFieldConfig
        assert TYPES["LampOut"].writer == "lamps"
    assert "LampOut" not in TYPES


def test_the_default_fabric_is_the_first_pod_and_then_the_first_of_the_next_kind() -> None:
    field, network, pod = {"field-0": "lamp-field"}, {"dcn-0": "dcn"}, {"pod-3": "static-pod"}
    assert default_fabric_name({}) == "pod-0"
    with lamp_field_registered():
        assert default_fabric_name(field) == "field-0"
        assert default_fabric_name(field | network) == "dcn-0"
        assert default_fabric_name(field | network | pod | {"pod-4": "superpod"}) == "pod-3"
        assert default_names("lamp-field", 2) == ["field-0", "field-1"]
        assert lacks_fabric("mast-1/lamp-0")
        assert can_have("lamp-field", "mast-1/lamp-0")
        assert not can_have("superpod", "mast-1/lamp-0")
    assert not lacks_fabric("mast-1/lamp-0")


def test_its_kind_of_fault_is_valid_and_listed_while_it_is_registered() -> None:
    values = {"kind": "bulb", "target": LAMP}
    before = tuple(FAULT_KINDS)
    assert tuple(FAULTS) == before
    with pytest.raises(ValidationError, match=r"Input should be 'host', .* or 'power'"):
        InjectFault.model_validate(values)
    with lamp_field_registered():
        assert InjectFault.model_validate(values).kind == "bulb"
        assert tuple(FAULT_KINDS) == tuple(FAULTS) == (*before, "bulb")
        assert InjectFault.model_json_schema()["properties"]["kind"]["enum"] == [*before, "bulb"]
        with pytest.raises(ValidationError, match=r"Input should be 'host', .*, 'power' or 'bulb'"):
            InjectFault.model_validate(values | {"kind": "moth"})
    assert tuple(FAULT_KINDS) == tuple(FAULTS) == before


def test_its_bulbs_fail_by_themselves_at_the_rate_of_their_kind() -> None:
    with lamp_field_registered():
        config = LampFieldConfig(failures=LampFailuresConfig(bulb_per_day=0.5), seed=3)
        bench = Bench([FAILURES], config)
        began = bodies(bench.run(60 * US_PER_DAY), FaultBegan)
        assert [fault.kind for fault in began] == ["bulb"] * 6, "each lamp once: nothing repairs it"
        assert bench.documents["summaries", "pod-0/failures"].begun["bulb"] == 6
        stored = encode_state(bench.state("failures"))
        assert decode_state(FailuresState, stored) == bench.state("failures")
        layout = state_layout(FailuresState)
    assert state_layout(FailuresState) != layout, "without the kind, no state can hold its configuration"


def test_requests_follow_from_the_services() -> None:
    with lamp_field_registered():
        assert {body.__name__ for body in fabric_views()["lamp-field"].requests} == {
            "InjectFault",
            "ClearFault",
            "RekeyDraws",
            "SetParameters",
        }
    assert VIEW.requests == frozenset()
    assert "PlanTopology" not in {body.__name__ for body in fabric_views()["superpod"].requests}


# --- the gateway --------------------------------------------------------------------------------------------


def test_documents_and_rows(twin: DrivenTwin) -> None:
    client = twin.client()
    lamps = {row["name"]: row["state"] for row in get(client, "lamps")}
    assert len(lamps) == 6
    assert {name for name, state in lamps.items() if state == "out"} == {OTHER}
    assert get(client, f"lamps/{OTHER}")["state"] == "out"
    assert [row["name"] for row in get(client, "lamps?state=out")] == [OTHER]
    fabrics = {row["name"]: row for row in get(client, "fabrics")}
    assert (fabrics[FIELD]["kind"], fabrics[FIELD]["faults_active"]) == ("lamp-field", 1)
    assert (fabrics[FIELD]["cubes"], fabrics[FIELD]["network"], fabrics["pod-0"]["cubes"]) == (None, None, 4)
    assert get(client, f"cubes?fabric={FIELD}") == []
    assert {row["name"].partition("/")[0] for row in get(client, "cubes")} == {"pod-0"}


def test_descriptions(twin: DrivenTwin) -> None:
    client = twin.client()
    lamp = get(client, f"describe/lamps/{OTHER}")
    assert [fault["target"] for fault in lamp["related"]["faults"]] == [OTHER]
    assert [event["type"] for event in lamp["events"]] == ["InjectFault", "FaultBegan", "LampOut"]
    field = get(client, f"describe/fabrics/{FIELD}")["related"]
    assert (field["cubes"], len(field["faults"])) == (None, 1)


def test_its_messages_are_found_under_its_parts_by_their_numbers(twin: DrivenTwin) -> None:
    found = get(twin.client(), f"events?for={FIELD}/mast-1&type=LampOut")
    assert [message["body"]["lamp"] for message in found] == [LAMP, OTHER]
    assert found[1]["about"] == [OTHER, f"{FIELD}/mast-1"]
    assert get(twin.client(), f"events?for={FIELD}/mast-2&type=LampOut") == found[1:]


def test_what_if_and_forecasts_try_its_faults_on_a_copy(twin: DrivenTwin) -> None:
    client = twin.client()
    answer = client.get("/v1/what-if/inject", params={"kind": "bulb", "target": LAMP})
    assert answer.status_code == 200, answer.text
    assert [event["type"] for event in answer.json()["events"]] == ["FaultBegan", "LampOut"]
    change = InjectChange(change="inject", kind="bulb", target=LAMP)
    (request,) = timed_changes(twin.ports, [change])
    assert (request.fabric, request.body) == (FIELD, InjectFault(kind="bulb", target=LAMP))
    assert {row["name"]: row["state"] for row in get(client, "lamps")}[LAMP] == "lit"


def _forecast(client: Client, **options: object) -> dict[str, Any]:
    change = {"change": "inject", "kind": "bulb", "target": LAMP}
    started = client.post("/v1/forecasts", json={"days": 0.01, "changes": [change], **options})
    assert started.status_code == 202, started.text
    path = started.headers["location"].removeprefix("/v1/")
    assert poll_until(lambda: get(client, path)["status"] not in ("queued", "running"), 120.0, 0.1)
    report: dict[str, Any] = get(client, path)
    assert (report["status"], report["error"]) == ("done", None)
    return report


def test_a_forecast_runs_its_futures_in_worker_processes(twin: DrivenTwin) -> None:
    client = twin.client()
    (single, many) = _forecast(client, future=1), _forecast(client, futures=2)
    sides = [single["single"][side] for side in ("without", "requested")]
    assert [[one["type"] for one in side["notable"]].count("FaultBegan") for side in sides] == [0, 1]
    assert many["result"]["each"][0]["without"] == sides[0]["figures"]
    assert many["result"]["refused"] == []
    assert {row["name"]: row["state"] for row in get(client, "lamps")}[LAMP] == "lit"


def test_faults(twin: DrivenTwin) -> None:
    client = twin.client()
    assert {row["state"] for row in get(client, f"faults?fabric={FIELD}")} == {"active", "ended"}
    assert [row["target"] for row in get(client, "faults?kind=bulb")] == [OTHER]
    assert "or bulb" in client.get("/v1/faults?kind=moth").json()["error"]
    assert get(client, f"fabrics/{FIELD}")["faults_begun"]["bulb"] == 1
    for kind, target, sentence in (
        ("ocs", LAMP, "strikes no part of field-0"),
        ("bulb", "pod-0/cube-0", "strikes no part of pod-0"),
        ("moth", LAMP, "must be host"),
    ):
        refused = client.post("/v1/faults", json={"kind": kind, "target": target})
        assert refused.status_code == 422
        assert sentence in refused.json()["error"]


def test_the_light_path_and_the_impact(twin: DrivenTwin) -> None:
    client = twin.client()
    assert get(client, f"trace/{LAMP}") == {"lamp": LAMP, "far_lamp": "field-0/mast-0/lamp-0"}
    assert get(client, f"trace/{OTHER}")["far_lamp"] is None
    assert get(client, "trace/pod-0/cube-0/+x/3")["end"] == "pod-0/cube-0/+x/3"
    missing = client.get(f"/v1/trace/{FIELD}/mast-9/lamp-0")
    assert (missing.status_code, "lamp" in missing.json()["error"]) == (404, True)
    assert get(client, f"impact/{FIELD}/mast-1")["lamps"] == [LAMP, "field-0/mast-1/lamp-1"]


def test_metrics(twin: DrivenTwin) -> None:
    text = twin.client().get("/metrics").text
    assert 'lightwave_lamps_out{fabric="field-0"} 1.0' in text
    assert 'lightwave_faults_active{fabric="field-0"} 1.0' in text
    assert 'lightwave_cubes{fabric="field-0"}' not in text
    assert 'lightwave_cubes{fabric="pod-0"} 4.0' in text


def test_requests_that_no_service_handles_are_refused(twin: DrivenTwin) -> None:
    client = twin.client()
    for path, body, sentence in (
        ("slices", {"shape": "4x4x4", "fabric": FIELD}, "has no slices"),
        ("rewirings", {"dcn": FIELD}, "must be a datacenter network"),
        (f"cubes/{LAMP}/drain", None, "must be a cube"),
    ):
        answer = client.post(f"/v1/{path}", json=body)
        assert answer.status_code == 422, answer.text
        assert sentence in answer.json()["error"]


def test_a_condition_can_name_a_lamp(twin: DrivenTwin) -> None:
    answer = twin.client().get("/v1/bisect", params={"condition": f"lamps.{OTHER}.state == out"})
    assert answer.status_code == 200, answer.text


# --- the command line ---------------------------------------------------------------------------------------


def test_wait_and_inject_know_its_resources_and_faults(twin: DrivenTwin) -> None:
    with served(twin) as url:
        runner = CliRunner(env={"LIGHTWAVE_URL": url})
        waited = runner.invoke(root, ["wait", f"lamp/{OTHER}", "--for", "state=out", "--timeout", "20s"])
        unknown = runner.invoke(root, ["inject", "bolb", LAMP])
    assert waited.exit_code == 0, waited.output
    assert "did you mean bulb?" in unknown.output


def test_get_renders_the_rows(twin: DrivenTwin) -> None:
    with served(twin) as url:
        runner = CliRunner(env={"LIGHTWAVE_URL": url})
        lamps, fabrics = (runner.invoke(root, ["get", kind]) for kind in ("lamps", "fabrics"))
    header, *lines = lamps.output.splitlines()
    assert header.split() == ["NAME", "STATE", "CHANGED"]
    assert [line.split()[:2] for line in lines if " out " in line] == [[OTHER, "out"]]
    row = re.search(rf"{FIELD} +lamp-field +campus +alive .* 1 +0$", fabrics.output, re.MULTILINE)
    assert row is not None, fabrics.output
    assert "BLOCKS" not in fabrics.output


# --- audit and invariants -----------------------------------------------------------------------------------


def test_the_audit_replays_its_log(twin: DrivenTwin) -> None:
    report = twin.audited("campus")
    assert (report["log_clean"], report["states_clean"]) == (True, True)
    assert report["requests"] == 3


def test_the_invariants_are_checked(twin: DrivenTwin) -> None:
    lines = read_lines(twin.logs.folder / "campus.jsonl")
    log = [message for line in lines if (message := decode(line)).fabric == FIELD]
    assert check_all(log) == []
    without = [message for message in log if message.type != "FaultBegan"]
    assert any("ends but was not active" in problem for problem in check_all(without))


def test_its_configuration_is_checked(twin: DrivenTwin) -> None:
    body = {"name": "field-1", "site": "campus", "kind": "lamp-field", "settings": {"brightness": 10}}
    answer = twin.client().post("/v1/fabrics", json=body)
    assert (answer.status_code, "must be at most 9" in answer.text) == (422, True)
    assert SuperpodConfig.model_fields["kind"].default != LAMP_FIELD.name
