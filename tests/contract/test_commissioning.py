"""Several clients commission one name at the same time on a real Redis. Exactly one succeeds, and the store
keeps nothing of the others."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from ops.sites.configuration import config_from_pairs
from schemas.files.site_plan import SitePlan
from shared.runtimes.embedded.twin_loop import WakingRedisStore
from tests.support.gateway_twin import QUIET, DrivenTwin

NAMES = ("pod-20", "pod-21", "pod-22", "pod-23", "pod-24")
PLANS = (
    SitePlan(site="campus", fabrics={"pod-0": config_from_pairs("static-pod", QUIET, seed=3)}),
    SitePlan(site="annex", fabrics={"pod-7": config_from_pairs("superpod", ["pod.cubes=4", *QUIET], seed=3)}),
)


@pytest.fixture
def twin(tmp_path: Path, redis_url: str) -> Iterator[DrivenTwin]:
    store = WakingRedisStore(redis_url)
    twin = DrivenTwin(tmp_path, [], plans=PLANS, store=store)
    yield twin
    twin.close()
    store.close()


@pytest.mark.parametrize("sites", [("campus",), ("campus", "annex")])
def test_only_one_of_several_concurrent_commissionings_of_a_name_succeeds(
    twin: DrivenTwin, sites: tuple[str, ...]
) -> None:
    """The requests have different kinds and seeds, each through its own gateway."""
    requests: list[dict[str, Any]] = [
        {"kind": kind, "settings": {"seed": n}, "site": sites[n % len(sites)]}
        for n, kind in enumerate(["superpod", "static-pod", "static-pod", "superpod"])
    ]
    gateways = [twin.client() for _ in requests]
    for name in NAMES:

        def send(n: int, name: str = name) -> Any:
            return gateways[n].post("/v1/fabrics", json=requests[n] | {"name": name}, params={"wait": 20})

        with ThreadPoolExecutor(len(requests)) as pool:
            answers = list(pool.map(send, range(len(requests))))
        codes = [answer.status_code for answer in answers]
        assert sorted(codes) == [200, 422, 422, 422], [answer.text for answer in answers]
        accepted = requests[codes.index(200)]
        row = gateways[0].get(f"/v1/fabrics/{name}").json()
        assert (row["kind"], row["site"]) == (accepted["kind"], accepted["site"])
        assert gateways[0].get(f"/v1/config/{name}").json()["seed"] == accepted["settings"]["seed"]
    twin.advance(1.0)
    begun = [m["fabric"] for s in sites for m in twin.messages(s) if m["type"] == "FabricCommissioned"]
    assert sorted(name for name in begun if name in NAMES) == [*NAMES]
    for number, site in enumerate(("campus", "annex")):
        audit = twin.audited(site)
        assert (audit["log_clean"], audit["states_clean"]) == (True, True), audit
        again = twin.runner(number, site)
        again.recover()
        assert again.site.fabrics == audit["fabrics"]
