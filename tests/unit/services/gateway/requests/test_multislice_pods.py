"""Requests of jobs over several pods: which pods they get, and why they are refused."""

from collections.abc import Iterator
from typing import Any

import pytest

from ops.sites.configuration import config_from_pairs, config_from_sections
from schemas.files.site_plan import SitePlan
from tests.support.gateway_twin import QUIET, Client, DrivenTwin

pytestmark = pytest.mark.integration

SMALL = config_from_pairs("superpod", ["pod.cubes=4", *QUIET], seed=3)
NETWORK = config_from_sections(
    "dcn",
    {
        "failures": {"enabled": False},
        "network": {
            "blocks": [
                *({"pod": f"pod-{number}"} for number in range(4)),
                *({"pod": f"pod-{number}", "customer": "b"} for number in (5, 6)),
            ]
        },
    },
    "config",
)
"""Six of the seven pods are connected to it, two of them on blocks of another customer."""
PLANS = (
    SitePlan(
        site="campus",
        fabrics={
            "pod-0": config_from_pairs("superpod", ["pod.cubes=8", *QUIET], seed=3),
            "pod-1": SMALL,
            "pod-2": config_from_pairs("static-pod", QUIET, seed=4),
            "pod-3": config_from_pairs("superpod", ["pod.cubes=8", *QUIET], seed=5),
            "pod-4": config_from_pairs("superpod", ["pod.cubes=8", *QUIET], seed=7),
            "pod-5": config_from_pairs("superpod", ["pod.cubes=4", *QUIET], seed=8),
            "pod-6": config_from_pairs("superpod", ["pod.cubes=4", *QUIET], seed=9),
            "dcn-0": NETWORK,
        },
    ),
    SitePlan(site="annex", fabrics={"pod-7": SMALL}),
    SitePlan(site="yard", fabrics={"pod-8": SMALL, "pod-9": SMALL}),
)


@pytest.fixture(scope="module")
def twin(tmp_path_factory: Any) -> Iterator[DrivenTwin]:
    twin = DrivenTwin(tmp_path_factory.mktemp("twin"), [], plans=PLANS)
    twin.advance(12.0)
    yield twin
    twin.close()


def send_request(client: Client, **settings: Any) -> Any:
    return client.post("/v1/slices", params={"wait": 20}, json={"shape": "4x4x8"} | settings)


def pods_of(answer: Any) -> list[str]:
    (joined,) = [m["body"] for m in answer.json()["outcome"] if m["type"] == "PodsJoined"]
    return [name.split("/")[0] for name in joined["slices"]]


@pytest.mark.parametrize(
    ("expected", "pods"),
    [
        ({"pods": 2}, ["pod-0", "pod-1"]),
        ({"pods": "2", "fabric": "pod-3"}, ["pod-3", "pod-0"]),
        ({"pods": "pod-3,pod-0"}, ["pod-3", "pod-0"]),
        ({"pods": "3", "shape": "4x8x16"}, None),
        ({"pods": "3", "shape": "4x8x8"}, ["pod-0", "pod-1", "pod-2"]),
        ({"pods": "2", "shape": "4x8x16"}, ["pod-0", "pod-2"]),
        ({"pods": "2", "fabric": "pod-6"}, ["pod-6", "pod-5"]),
    ],
)
def test_a_job_gets_the_next_pods_that_can_hold_it(
    twin: DrivenTwin, expected: dict[str, Any], pods: list[str] | None
) -> None:
    client = twin.client()
    answer = send_request(client, **expected)
    assert answer.status_code == 200, answer.json()
    names = [m["body"]["slice"] for m in answer.json()["outcome"] if m["type"] == "SliceRequested"]
    if pods is not None:
        assert pods_of(answer) == pods
        shown = client.get(f"/v1/slices/{names[0]}").json()["multislice"]
        assert (shown["pods"], shown["status"]) == (pods, ["joined"] * len(pods))
    else:
        assert len(names) == 3
    client.post(f"/v1/slices/{names[-1]}/release", params={"wait": 20})
    for name in names:
        assert client.get(f"/v1/slices/{name}").json()["state"] in ("completed", "refused")


@pytest.mark.parametrize(
    ("expected", "sentence"),
    [
        (
            {"pods": 1},
            "pods '1': 1 is not allowed; must be the number of pods, 2 to 1,000, or their names in",
        ),
        (
            {"pods": 8},
            "pods 8: must be at most 7; site campus has 7 pods, pod-0, pod-1, pod-2, pod-3, pod-4,",
        ),
        ({"pods": 2, "fabric": "pod-7"}, "pods 2: must be at most 1; site annex has 1 pod, pod-7"),
        (
            {"pods": "pod-0,pod-7"},
            "pods: pod-0 is in site campus and pod-7 in site annex; must be in one site",
        ),
        (
            {"pods": "pod-0,pod-2", "twisted": True},
            "pod pod-2: twisted: true is not allowed; the links of a static pod are fixed and cannot",
        ),
        (
            {"pods": "pod-0,pod-1", "shape": "4x8x16"},
            "pod pod-1: shape 4x8x16: it needs 8 cubes and the pod has 4; the nearest legal shape is 4x4x16",
        ),
        (
            {"pods": 4, "shape": "4x8x16"},
            "pods 4: only pod-0, pod-2, pod-3 of site campus can hold it; pod p",
        ),
        (
            {"pods": "pod-3,pod-0", "fabric": "pod-0"},
            "fabric pod-0: must be omitted, or the first of pods pod-3,pod-0",
        ),
        (
            {"pods": "pod-1,pod-4"},
            "pods: pod-4 is attached to no block of the datacenter network of site campus; pod-1 can be joi",
        ),
        (
            {"pods": 2, "fabric": "pod-4"},
            "pods: pod-4 is attached to no block of the datacenter network of site cam",
        ),
        (
            {"pods": "pod-1,pod-5"},
            "pods: pod-1 and pod-5 are attached to dcn-0/block-1 and dcn-0/block-4, which cannot be joined",
        ),
        (
            {"pods": 3, "fabric": "pod-5"},
            "pods 3: only pod-5, pod-6 of site campus can hold it; pod-5 is not joined with other pods",
        ),
        ({"pods": "pod-0,dcn-0"}, "pods: dcn-0 is a dcn, which has no slices; must be pods"),
        ({"fabric": "dcn-0"}, "fabric dcn-0: is a dcn, which has no slices; must be a pod"),
        (
            {"pods": "pod-9,pod-8"},
            "pods: site yard has no datacenter network that joins its pods pod-8, pod-9; must be one pod",
        ),
        ({"pods": 2, "fabric": "pod-8"}, "pods: site yard has no datacenter network that joins its pods pod"),
        ({"pods": True}, "pods: true is not allowed; must be a string"),
    ],
)
def test_an_impossible_job_is_refused_with_a_sentence(
    twin: DrivenTwin, expected: dict[str, Any], sentence: str
) -> None:
    answer = send_request(twin.client(), **expected)
    assert answer.status_code in (400, 422)
    assert answer.json()["error"].startswith(sentence)


def test_an_unknown_pod_is_not_found(twin: DrivenTwin) -> None:
    answer = send_request(twin.client(), pods="pod-0,pod-12")
    assert (answer.status_code, answer.json()["error"][:33]) == (404, "fabric 'pod-12': no such fabric; ")


def test_a_joining_pod_may_request_multislice_jobs_only_if_its_site_allows_them(twin: DrivenTwin) -> None:
    wants = {"name": "pod-20", "site": "yard", "settings": {"workload": {"multipod_share": 0.1}}}
    answer = twin.client().post("/v1/fabrics", json=wants)
    assert answer.json()["error"] == (
        "pod-20: workload.multipod_share: 0.1 is not allowed: site yard has no datacenter network that joins "
        "its pods pod-8, pod-9, pod-20; must be one pod"
    )
