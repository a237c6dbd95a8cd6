"""HTTP, the command line and the Python package give the same reason why a list can have no rows."""

import json
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

import lightwave
from ops.client.http_client import EMPTY_REASON_HEADER
from ops.sites.site_plans import single_fabric_sites
from schemas.resource_kinds import KINDS
from services.gateway.http.routes import resources
from tests.support.fake_twin import environment
from tests.support.forked import run_forked
from tests.support.gateway_twin import QUIET, DrivenTwin, pod_and_network
from tests.support.served import served

pytestmark = pytest.mark.integration

OF_PODS = {"cubes", "hosts", "links", "slices", "verdicts"}
OF_NETWORKS = {"blocks", "trunks", "demands", "rewirings", "racks", "bundles", "domains"}
METHODS = ("ocses", "cubes", "hosts", "links", "slices", "faults", "verdicts", "repairs")
"""The lists of the Python package that take a fabric."""


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A superpod and a network of one site, and a static pod, which has no OCSes."""
    (static,) = single_fabric_sites(2, kind="static-pod", pairs=QUIET, seed=3)[1:]
    twin = DrivenTwin(tmp_path_factory.mktemp("twin"), [], plans=[pod_and_network(), static])
    twin.advance(0.1)
    with served(twin) as address:
        yield address
    twin.close()


def expected(kind: str, fabric: str | None) -> str | None:
    """The reason, from what each fabric is built of."""
    if fabric == "dcn-0" and kind in OF_PODS:
        return "datacenter networks have none"
    if fabric in ("pod-0", "pod-1") and kind in OF_NETWORKS:
        return "pods have none"
    return "this kind of fabric has none" if (fabric, kind) == ("pod-1", "ocs") else None


def listed(url: str, kind: str, query: str) -> tuple[list[Any], str | None]:
    with urllib.request.urlopen(f"{url}/v1/{kind}?{query}") as answer:
        return json.load(answer), answer.headers[EMPTY_REASON_HEADER]


@pytest.mark.parametrize("fabric", ["pod-0", "pod-1", "dcn-0", None])
def test_the_gateway_gives_the_reason_in_the_same_answer(url: str, fabric: str | None) -> None:
    assert resources.EMPTY_REASON_HEADER == EMPTY_REASON_HEADER
    query = f"fabric={fabric}" if fabric else ""
    for kind in KINDS:
        if kind == "fabrics":
            continue
        rows, reason = listed(url, kind, query)
        assert reason == expected(kind, fabric), kind
        assert not (rows and reason)


@pytest.mark.parametrize(
    ("kind", "fabric"), [("cubes", "dcn-0"), ("trunks", "pod-0"), ("ocs", "pod-1"), ("faults", "pod-0")]
)
def test_the_command_line_prints_it(url: str, kind: str, fabric: str) -> None:
    reason = expected(kind, fabric)
    sentence = f"no {kind}: {reason}" if reason else f"no {kind}"
    done = run_forked(["get", kind, "--fabric", fabric], environment(url))
    assert (done.returncode, done.stdout.strip()) == (0, sentence)
    done = run_forked(["get", kind, "--fabric", fabric, "-o", "json"], environment(url))
    assert json.loads(done.stdout) == []


@pytest.mark.parametrize("method", METHODS)
def test_python_lists_have_it(url: str, method: str) -> None:
    twin = lightwave.connect(url)
    for fabric in ("pod-0", "pod-1", "dcn-0", None):
        rows = getattr(twin, method)(fabric)
        assert rows.why_empty == expected("ocs" if method == "ocses" else method, fabric)
        assert not (rows and rows.why_empty)
    assert twin.slices("pod-0", state="running").why_empty is None
