"""Metrics of open rewirings, and of jobs over the pods of a network."""

from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.support.gateway_twin import Client, DrivenTwin
from tests.support.network_twin import PODS_ON_A_NETWORK, network_site

pytestmark = pytest.mark.integration

PATIENT = {"use_above": 100.0, "served_below": 0.0, "transit_above": 1.0, "approval": "operator"}
"""With these values the topology never plans a rewiring by itself."""
HOT = {"load": 0.2, "hot_pairs": 2, "hot_share": 0.5}
WAIT = {"wait": 20}


def value(client: Client, name: str, **labels: str) -> float | None:
    """The value of the only sample with these labels; None if there is none."""
    families = text_string_to_metric_families(client.get("/metrics").text)
    (family,) = [candidate for candidate in families if candidate.name == f"lightwave_dcn_{name}"]
    expected_labels = {"fabric": "dcn-0", **labels}
    values = [sample.value for sample in family.samples if sample.labels == expected_labels]
    assert len(values) <= 1
    return values[0] if values else None


def rewirings(client: Client) -> dict[str, float | None]:
    states = ("approval", "planned", "waiting", "draining", "switching", "qualifying", "undraining")
    return {state: count for state in states if (count := value(client, "rewirings_open", state=state))}


def break_down(client: Client, kind: str, target: str) -> None:
    body = {"kind": kind, "target": target, "duration_s": 86_400}
    answer = client.post("/v1/faults", params=WAIT, json=body)
    assert answer.status_code == 200, answer.text


def test_a_rewiring_is_measured_from_its_plan_to_its_end(tmp_path: Path) -> None:
    twin = DrivenTwin(tmp_path / "twin", [], plans=[network_site(tmp_path, topology=PATIENT, demand=HOT)])
    twin.advance(2)
    client = twin.client()
    assert rewirings(client) == {}
    assert [value(client, f"rewiring_{measure}") for measure in ("stages_done", "stages", "age_seconds")] == [
        0,
        0,
        0,
    ]
    (planned,) = client.post("/v1/rewirings", params=WAIT, json={}).json()["outcome"]
    twin.advance(1)
    assert rewirings(client) == {"approval": 1}
    assert value(client, "rewiring_age_seconds") == pytest.approx(3_600, abs=1)
    assert value(client, "rewiring_stages_done") == 0
    assert value(client, "rewiring_stages") == planned["body"]["stages"]
    for domain in range(4):
        break_down(client, "control", f"dcn-0/control-{domain}")
    name = planned["body"]["rewiring"]
    assert client.post(f"/v1/rewirings/{name}/approve", params=WAIT).status_code == 200
    assert rewirings(client) == {"waiting": 1}
    assert client.post(f"/v1/rewirings/{name}/abort", params=WAIT).status_code == 200
    assert rewirings(client) == {}
    twin.close()


def test_a_multislice_job_is_measured_by_its_network_bandwidth(tmp_path: Path) -> None:
    twin = DrivenTwin(tmp_path / "twin", [], plans=[PODS_ON_A_NETWORK])
    twin.advance(0.5)
    client = twin.client()
    assert client.get("/metrics").text.count("lightwave_dcn_job_") == 4, "only names and kinds are shown"
    answer = client.post("/v1/slices", params=WAIT, json={"shape": "4x4x8", "pods": 2})
    (job,) = {
        message["body"]["multislice"]["job"]
        for message in answer.json()["outcome"]
        if message["type"] == "SliceRequested"
    }
    twin.advance(1)
    assert (value(client, "job_bits_per_second", job=job) or 0) > 1e9
    fast = value(client, "job_speed_ratio", job=job)
    assert fast is not None
    assert 0.1 < fast <= 1
    break_down(client, "block", "dcn-0/block-1")
    twin.advance(0.1)
    assert value(client, "job_bits_per_second", job=job) == 0
    slow = value(client, "job_speed_ratio", job=job)
    assert slow is not None
    assert slow < 1e-5
    assert client.post(f"/v1/slices/{job}/release", params=WAIT).status_code == 200
    twin.advance(0.1)
    assert value(client, "job_bits_per_second", job=job) is None
    assert value(client, "job_speed_ratio", job=job) is None
    twin.close()
