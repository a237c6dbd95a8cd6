"""Two pods that are joined by a small network without load and failures, with one job over both."""

from pathlib import Path

from ops.sites.configuration import config_from_sections, superpod_config
from schemas.files.site_plan import SitePlan
from tests.support.gateway_twin import DrivenTwin

PODS, NETWORK = ("pod-0", "pod-1"), "dcn-0"
JOB, SLICES = "pod-0/slice-0", ("pod-0/slice-0", "pod-1/slice-0")
WAIT = {"wait": 20}
QUIET = ["pod.cubes=8", "workload.enabled=false", "failures.enabled=false"]
NEVER = {"use_above": 100.0, "served_below": 0.0, "transit_above": 1.0, "approval": "operator"}
CONFIG = {
    "network": {
        "racks": 4,
        "racks_full": 4,
        "blocks": [
            *({"generation": 100, "uplinks": 256, "pod": pod} for pod in PODS),
            {"count": 6, "generation": 100, "uplinks": 256},
        ],
    },
    "failures": {"enabled": False},
    "demand": {"load": 0.1, "hot_pairs": 0},
    "topology": NEVER,
}


def joined_site() -> SitePlan:
    pods = {pod: superpod_config(QUIET) for pod in PODS}
    return SitePlan(site="campus", fabrics=pods | {NETWORK: config_from_sections("dcn", CONFIG, NETWORK)})


def joined_twin(folder: Path) -> DrivenTwin:
    """Return a running twin whose job runs and knows its bandwidth in the network."""
    twin = DrivenTwin(folder, [], plans=[joined_site()])
    twin.advance(1)
    request = {"fabric": PODS[0], "shape": "4x8x16", "pods": ",".join(PODS)}
    answer = twin.client().post("/v1/slices", json=request, params=WAIT)
    assert answer.status_code == 200, answer.text
    twin.advance(3)
    return twin
