"""What-if answers for two kinds of pods on one log."""

from collections.abc import Iterator
from typing import Any

import pytest

from ops.sites.configuration import config_from_pairs
from schemas.files.site_plan import SitePlan
from tests.support.gateway_twin import QUIET, Client, DrivenTwin

pytestmark = pytest.mark.integration

SWITCHED, FIXED = "pod-1", "pod-2"
WAIT = {"wait": 20}
PLAN = SitePlan(
    site="campus",
    fabrics={
        SWITCHED: config_from_pairs("superpod", ["pod.cubes=4", *QUIET], seed=3),
        FIXED: config_from_pairs("static-pod", QUIET, seed=3),
    },
)


@pytest.fixture
def campus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DrivenTwin]:
    """Each pod runs a slice of two cubes."""
    twin = DrivenTwin(tmp_path_factory.mktemp("twin"), [], plans=[PLAN])
    for fabric in (SWITCHED, FIXED):
        body = {"fabric": fabric, "shape": "4x4x8"}
        assert twin.client().post("/v1/slices", json=body, params=WAIT).status_code == 200
    twin.advance(1)
    yield twin
    twin.close()


def what_if(client: Client, question: str) -> dict[str, Any]:
    answer = client.get(f"/v1/what-if/{question}")
    assert answer.status_code == 200, answer.text
    document: dict[str, Any] = answer.json()
    return document


@pytest.mark.parametrize(
    ("fabric", "choices"), [(SWITCHED, {"swap", "wait", "evict"}), (FIXED, {"wait", "evict"})]
)
def test_each_kind_of_pod_predicts_its_own_recovery(
    campus: DrivenTwin, fabric: str, choices: set[str]
) -> None:
    client, target = campus.client(), f"{fabric}/cube-0/host-2"
    document = what_if(client, f"inject?kind=host&target={target}")
    (row,) = document["slices"]
    assert (row["slice"], row["reason"]) == (f"{fabric}/slice-0", "hit")
    assert {choice for choice, cost in row["costs_chip_us"].items() if cost is not None} == choices
    receipt = client.post("/v1/faults", json={"kind": "host", "target": target}, params=WAIT).json()
    assert receipt["at_us"] == document["at_us"]
    campus.advance(1)
    assert client.get(f"/v1/slices/{row['slice']}").json()["state"] == row["ends_as"]


def test_a_repair_is_predicted_only_for_a_broken_part(campus: DrivenTwin) -> None:
    client, target = campus.client(), f"{SWITCHED}/ocs-5"
    before_fault = client.get(f"/v1/what-if/repair?target={target}")
    assert before_fault.status_code == 422
    assert before_fault.json()["error"].startswith(f"target '{target}': has no active faults")
    client.post("/v1/faults", json={"kind": "ocs", "target": target}, params=WAIT)
    campus.advance(0.2)
    document = what_if(client, f"repair?target={target}")
    assert {"name": target, "message_type": "OcsUp"} in document["parts"]
    assert [(row["slice"], row["ends_as"]) for row in document["slices"]] == [
        (f"{SWITCHED}/slice-0", "running")
    ]


def test_a_what_if_of_one_pod_folds_its_whole_site(campus: DrivenTwin) -> None:
    client = campus.client()
    question = f"/v1/what-if/drain?target={SWITCHED}/cube-1"
    assert client.get(f"{question}&within_s=43200").status_code == 200
    long = client.get(f"{question}&within_s=43201")
    assert (long.status_code, long.json()["error"]) == (
        422,
        "within_s 43201: must be between 1 and 43200, because all 2 fabrics of campus are simulated",
    )
    client.post(f"/v1/fabrics/{FIXED}/retire", params=WAIT)
    assert client.get(f"{question}&within_s=86400").status_code == 200, "one fabric is left"


def test_an_unanswerable_what_if_is_refused_with_a_sentence(campus: DrivenTwin) -> None:
    client = campus.client()
    client.post(f"/v1/fabrics/{FIXED}/retire", params=WAIT)
    for question, status, begins in (
        (f"drain?target={FIXED}/cube-1", 422, f"fabric {FIXED}: retired at "),
        (f"drain?target={SWITCHED}/ocs-1", 422, f"cube '{SWITCHED}/ocs-1': must be a cube"),
        (f"drain?target={SWITCHED}/cube-9", 404, f"cube '{SWITCHED}/cube-9'"),
        (f"inject?kind=rain&target={SWITCHED}/cube-1", 422, "kind: 'rain'"),
        (f"inject?kind=host&target={SWITCHED}/cube-1/host-77", 404, "target"),
        (f"drain?target={SWITCHED}/cube-1&within_s=0", 422, "within_s: '0'"),
        (f"drain?target={SWITCHED}/cube-1&within_s=86401", 422, "within_s: '86401'"),
    ):
        answer = client.get(f"/v1/what-if/{question}")
        error = str(answer.json().get("error"))
        assert (answer.status_code, error[: len(begins)]) == (status, begins), error
