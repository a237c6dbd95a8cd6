"""Runtime parameters of a fabric over HTTP: set, shown, read in the past, and undone."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ops.sites.configuration import config_from_pairs
from schemas.config.parameter import ParameterSetting
from schemas.envelope import enclose
from schemas.files.site_plan import SitePlan
from schemas.messages.operator import SetParameters
from schemas.registry import encode
from tests.support.gateway_twin import NETWORK, QUIET, Client, DrivenTwin, get

pytestmark = pytest.mark.integration

WAIT = {"wait": 20}
RATE = "failures.host_per_day"
POD = config_from_pairs("superpod", ["pod.cubes=4", *QUIET], seed=3)


@pytest.fixture
def twin(tmp_path: Path) -> Iterator[DrivenTwin]:
    campus = SitePlan(site="campus", fabrics={"dcn-0": NETWORK, "pod-0": POD})
    twin = DrivenTwin(tmp_path, [], plans=[campus, SitePlan(site="pod-1", fabrics={"pod-1": POD})])
    yield twin
    twin.close()


def change(client: Client, fabric: str, *, key: str | None = None, **values: object) -> tuple[int, Any]:
    """(status, answer) of a change of these parameters, with __ in place of the dot."""
    request = {name.replace("__", "."): value for name, value in values.items()}
    headers = {} if key is None else {"Idempotency-Key": key}
    path = f"/v1/fabrics/{fabric}/parameters"
    answer = client.post(path, json={"parameters": request}, params=WAIT, headers=headers)
    return answer.status_code, answer.json()


def assert_clean(twin: DrivenTwin, site: str) -> None:
    audit = twin.audited(site)
    assert (audit["log_clean"], audit["states_clean"]) == (True, True), audit


def test_a_change_is_shown_wherever_the_configuration_is(twin: DrivenTwin) -> None:
    client = twin.client()
    status, receipt = change(client, "pod-0", failures__host_per_day=0.002, scheduler__hot_spares=1)
    assert (status, receipt["status"], receipt["complete"]) == (200, "accepted", True)
    (message,) = [m for m in receipt["outcome"] if m["type"] == "ParametersChanged"]
    assert message["text"] == f"{RATE}=0.002 (was 0.0008), scheduler.hot_spares=1 (was 0)"
    config = get(client, "config/pod-0")
    assert (config["failures"]["host_per_day"], config["scheduler"]["hot_spares"]) == (0.002, 1)
    assert config["failures"]["link_per_day"] == POD.model_dump()["failures"]["link_per_day"]
    # another fabric keeps its own value
    assert get(client, "config/pod-1")["failures"]["host_per_day"] == 0.0008
    rows = get(client, "describe/fabrics/pod-0")["related"]["parameters"]
    assert [(row["name"], row["value"], row["commissioned"], row["changed_by"]) for row in rows] == [
        (RATE, 0.002, 0.0008, receipt["id"]),
        ("scheduler.hot_spares", 1, 0, receipt["id"]),
    ]
    (event,) = get(client, "events?type=SetParameters&fabric=pod-0")
    assert event["text"] == f"{RATE}=0.002, scheduler.hot_spares=1"
    assert get(client, f"requests/{receipt['id']}")["status"] == "accepted"
    assert "parameters" not in get(client, "describe/fabrics/pod-1")["related"]


def test_another_change_undoes_a_change(twin: DrivenTwin) -> None:
    client = twin.client()
    change(client, "pod-0", failures__host_per_day=0.002)
    change(client, "pod-0", failures__host_per_day=0.0008)
    assert get(client, "config/pod-0") == POD.model_dump(mode="json", exclude={"trace"})
    assert "parameters" not in get(client, "describe/fabrics/pod-0")["related"]


def test_the_same_key_is_the_same_request_despite_later_changes(twin: DrivenTwin) -> None:
    client = twin.client()
    _, first = change(client, "pod-0", key="a", scheduler__hot_spares=3)
    change(client, "pod-0", scheduler__hot_spares=0)
    change(client, "pod-0", scheduler__hold_back="fixed", scheduler__hold_back_cubes=3)
    status, repeated = change(client, "pod-0", key="a", scheduler__hot_spares=3)
    assert (status, repeated["id"], repeated["repeated"]) == (200, first["id"], True)
    assert get(client, "config/pod-0")["scheduler"]["hot_spares"] == 0
    assert change(client, "pod-0", key="a", scheduler__hot_spares=1)[0] == 422


@pytest.mark.parametrize(
    ("fabric", "values", "words"),
    [
        (
            "pod-0",
            {"failures__host_per_day": 200},
            "pod-0: failures.host_per_day: 200 is not allowed",
        ),
        ("pod-0", {"pod__cubes": 8}, "pod.cubes 8: cannot change after the fabric is commissioned"),
        ("dcn-0", {"workload__offered_load": 0.5}, "superpod and static-pod, which a dcn does not have"),
        ("pod-0", {"failures__rack_per_day": 0.5}, "a parameter of dcn, which a superpod does not have"),
        ("pod-0", {"scheduler__hot_spares": 4}, "leave none of 4 cubes"),
        ("pod-0", {"x y": 4}, "parameters"),
        ("pod-0", {}, "parameters"),
        ("pod-0", {"failures__host_per_day": [1]}, "parameters.failures.host_per_day"),
    ],
)
def test_a_refused_change_leaves_no_trace(
    twin: DrivenTwin, fabric: str, values: dict[str, object], words: str
) -> None:
    client = twin.client()
    also = {"jobs.error_s": 9} if values else {}
    request = also | {name.replace("__", "."): value for name, value in values.items()}
    answer = client.post(f"/v1/fabrics/{fabric}/parameters", json={"parameters": request}, params=WAIT)
    status, answer_body = answer.status_code, answer.json()
    assert (status, words in answer_body["error"]) == (422, True), answer_body
    assert not get(client, "events?type=SetParameters")
    assert get(client, "config/pod-0")["jobs"]["error_s"] == 5


def test_an_unknown_fabric_is_not_found(twin: DrivenTwin) -> None:
    assert change(twin.client(), "pod-7", jobs__error_s=9)[0] == 404


def test_a_network_has_its_own_parameters(twin: DrivenTwin) -> None:
    client = twin.client()
    assert change(client, "dcn-0", failures__rack_per_day=0.01, traffic__react_s=60)[0] == 200
    assert get(client, "config/dcn-0")["traffic"]["react_s"] == 60
    twin.advance(3)
    assert_clean(twin, "campus")


def test_conflicting_changes_are_refused_on_the_log(twin: DrivenTwin) -> None:
    """Another client was first. The service refuses the second change, and the refusal changes nothing."""
    client = twin.client()
    both = SetParameters(settings=(ParameterSetting(name="scheduler.hot_spares", value=9),))
    received = twin.store.put(twin.store.fabrics()["pod-0"].partition, "pod-0", both)
    twin.advance(0.1)
    answer = get(client, f"requests/operator@campus/{received.number}")
    assert (answer["status"], "leave none of 4 cubes" in answer["reason"]) == ("refused", True)
    assert get(client, "config/pod-0")["scheduler"]["hot_spares"] == 0


def test_a_read_of_the_past_shows_the_parameters_of_that_time(twin: DrivenTwin) -> None:
    client = twin.client()
    twin.advance(5)
    before = get(client, "clock")["now_us"]
    change(client, "pod-0", failures__host_per_day=0.02)
    twin.advance(5)
    assert twin.history("campus").take_due_snapshots(every=5) > 0
    _, receipt = change(client, "pod-0", failures__host_per_day=0.03)
    twin.advance(5)
    for at, rate in ((f"{before}us", 0.0008), ("-1h", 0.03), (f"{receipt['at_us'] - 1}us", 0.02)):
        assert get(client, f"config/pod-0?at={at}")["failures"]["host_per_day"] == rate
    assert "parameters" not in get(client, f"describe/fabrics/pod-0?at={before}us")["related"]


def test_the_log_shows_how_the_services_react(twin: DrivenTwin) -> None:
    client = twin.client()
    change(client, "pod-1", failures__enabled=True, failures__host_per_day=5.0, workload__offered_load=0.5)
    twin.advance(6)
    change(client, "pod-1", failures__host_per_day=1.0, transceivers__inspection_interval_s=600)
    change(client, "pod-1", repairs__technicians=1, cubes__maintenance_per_day=1.0, scheduler__preflight_s=0)
    twin.advance(12)
    assert any(m["type"] == "FaultBegan" for m in twin.messages("pod-1"))
    assert_clean(twin, "pod-1")


def test_a_change_written_past_the_gateway_is_replayed(twin: DrivenTwin) -> None:
    client = twin.client()
    for number, value in ((1, 0.002), (2, 200.0)):
        body = SetParameters(settings=(ParameterSetting(name=RATE, value=value),))
        envelope = enclose(
            body, fabric="pod-0", at_us=0, cause=None, source="operator@campus", seq=900 + number
        )
        twin.dead_letters.put(f"campus:{number}", "no place on the log", encode(envelope))
    accepted, refused = (client.post(f"/v1/dead-letters/campus:{n}/replay", params=WAIT) for n in (1, 2))
    assert (accepted.status_code, refused.status_code) == (200, 422)
    assert get(client, "config/pod-0")["failures"]["host_per_day"] == 0.002
