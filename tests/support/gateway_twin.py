"""A whole twin in this process, on a memory store. The test moves its clock and calls its gateway."""

import asyncio
import json
import math
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import httpx
import orjson
from fastapi import FastAPI

from ops.local.software_version import software_version
from ops.serving.past_sites import PastReader
from ops.sites.site_plans import single_fabric_sites
from ops.twin.site_audit import SiteAudit, SiteAuditReport, readers_of
from schemas.api.rows import TwinInfo
from schemas.config.dcn import DcnConfig, NetworkFailuresConfig
from schemas.config.network_hardware import BlockGroupConfig, NetworkConfig
from schemas.config.pods import FabricConfig
from schemas.files.site_plan import SitePlan
from schemas.registry import decode
from services.fabric_kinds import fabric_views, services_of
from services.forecasts.jobs import ForecastJobs
from services.gateway.http.access.tokens import Tokens
from services.gateway.http.app import create_app
from services.gateway.log.subjects import SiteSubjects
from services.gateway.runtime_ports import TwinPorts
from services.what_if.queries import WhatIfQueries
from shared.runtimes.embedded.dead_letter_file import DeadLetterFile
from shared.runtimes.embedded.embedded_clock import EmbeddedClock
from shared.runtimes.embedded.site_runner import SiteRunner
from shared.runtimes.embedded.twin_loop import EmbeddedTwin, WakeOnPut, WakingRedisStore
from shared.runtimes.embedded.uncommitted_roots import ROOTS_PER_COMMIT
from shared.storage.log.frame_files import TelemetryFolder
from shared.storage.log.indexed_log import IndexedLogs
from shared.storage.log.log_reader import commissioned_with
from shared.storage.snapshots.site_history import SiteHistory
from shared.storage.snapshots.snapshot_folder import SnapshotFolder
from shared.storage.store.memory_store import MemoryStore
from shared.storage.store.state_copies import StateCopies
from tests.support.log_checks import read_lines
from tests.support.memory_operations import MemoryOperations
from tests.support.pods import first_message
from tests.support.single_token import single_token

CATCH_UP_S_MAX = 180.0
QUIET = ["workload.enabled=false", "failures.enabled=false"]
"""Nothing happens without a request."""


NETWORK = DcnConfig(
    seed=5,
    network=NetworkConfig(
        racks=4,
        racks_full=4,
        switches=2,
        blocks=tuple([BlockGroupConfig(count=2, generation=gbps, uplinks=256) for gbps in (400, 200, 100)]),
    ),
    failures=NetworkFailuresConfig(enabled=False),
)
"""Six blocks on eight OCSes, without failures."""


def pod_and_network() -> SitePlan:
    """Return the plan of a site with a small pod without load and failures, and a small network."""
    (plan,) = single_fabric_sites(1, pairs=["pod.cubes=4", *QUIET], seed=3)
    return SitePlan(site="campus", fabrics={"dcn-0": NETWORK, **plan.fabrics})


def as_logged(message: dict[str, Any]) -> dict[str, Any]:
    """Return the message of an answer as it is on the log, without the fields that the gateway adds for
    people."""
    return {field: value for field, value in message.items() if field not in ("about", "text")}


class Client:
    """Calls an application without a server in between. An unexpected exception becomes the answer 500, as
    for users."""

    def __init__(self, app: FastAPI) -> None:
        self.app = app

    def request(self, method: str, path: str, **request: Any) -> httpx.Response:
        """Send a request and return the answer. `json` is a body of any kind, even one that only JSON escapes
        can express."""
        body = request.pop("json", None)
        if body is not None:
            request["content"] = json.dumps(body)
            request["headers"] = {"Content-Type": "application/json"} | request.get("headers", {})

        async def send() -> httpx.Response:
            transport = httpx.ASGITransport(self.app, raise_app_exceptions=False)
            async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
                return await client.request(method, path, **request)

        return asyncio.run(send())

    def get(self, path: str, **request: Any) -> httpx.Response:
        return self.request("GET", path, **request)

    def post(self, path: str, **request: Any) -> httpx.Response:
        return self.request("POST", path, **request)


class WakingMemory(WakeOnPut, MemoryStore):
    """A memory store that wakes the loop when a request arrives."""


def check_sentence(text: Any, part: str) -> None:
    """Check that an answer is one sentence of an error with this part."""
    assert list(text) == ["error"]
    assert part in text["error"]
    assert "\n" not in text["error"]
    assert len(text["error"]) < 10_400


def get(client: Client, path: str) -> Any:
    """Return the JSON answer of a path below /v1/; its status must be 200."""
    answer = client.get(f"/v1/{path}")
    assert answer.status_code == 200, answer.text
    return answer.json()


class DrivenTwin:
    """Several sites behind one loop: one pod each, or those of `plans`.

    A simulated second is a second of a wall clock that moves only by `advance`. Requests are processed when
    they arrive.
    """

    def __init__(
        self,
        folder: Path,
        pairs: list[str],
        pods: int = 1,
        plans: Sequence[SitePlan] | None = None,
        store: WakingMemory | WakingRedisStore | None = None,
    ) -> None:
        self._wall_s = 0.0
        self.problems: list[str] = []
        self.store = store or WakingMemory()
        self.logs = IndexedLogs(folder / "log")
        self.logs.index(SiteSubjects)
        self.operations = MemoryOperations()
        self.clock = EmbeddedClock(speed=1.0, operations=self.operations, wall_s=lambda: self._wall_s)
        telemetry = TelemetryFolder(
            folder / "telemetry", share_max=math.inf
        )  # keep every frame, even if writing is slow
        sites = plans or single_fabric_sites(pods, pairs=pairs, seed=3)
        self._configs: dict[str, FabricConfig] = {}
        self.dead_letters = DeadLetterFile(folder / "dead-letters.jsonl")
        self._telemetry = telemetry
        self.snapshots = folder / "snapshots"
        self.forecasts = ForecastJobs(cores=2)
        runners = [self.runner(number, plan.site) for number, plan in enumerate(sites)]
        for runner, plan in zip(runners, sites, strict=True):
            runner.recover()
            for name, config in plan.fabrics.items():
                runner.take(first_message(config, name, site=plan.site))
        self.twin = EmbeddedTwin(runners, self.store, self.clock, lambda: None)
        self.store.wake = self.twin.wake
        self.ports = TwinPorts(
            about=TwinInfo(runtime="embedded", version="1.0", place="/twin"),
            documents=self.store,
            inbox=self.store,
            log=self.logs,
            clock=self.clock,
            operations=self.operations,
            config=self._config,
            site=lambda fabric: self.store.fabrics()[fabric].site,
            health=lambda: self.problems,
            unready=list,
            runtime_metrics=lambda: {"commits_total": float(sum(r.commits for r in runners))},
            telemetry=telemetry.latest,
            frames=telemetry.after,
            dead_letters=self.dead_letters.read,
            claim=self.store.claim,
            is_quiet=self._is_quiet,
            queries=WhatIfQueries(StateCopies(self.store, services_of)),
            views=fabric_views(),
            past=PastReader(self.history, services_of, software_version()),
            forecasts=self.forecasts,
        )
        self.twin.start()
        self._loop = threading.Thread(target=self.twin.run, daemon=True)
        self._loop.start()

    def _is_quiet(self, fabric: str) -> bool:
        place = self.store.fabrics().get(fabric)
        return place is not None and self.twin.sites[place.partition].is_quiet()

    def _config(self, fabric: str) -> FabricConfig:
        """Return a fabric's configuration from the log."""
        if fabric not in self._configs:
            site = self.store.fabrics()[fabric].site  # KeyError for an unknown fabric
            self._configs[fabric] = commissioned_with(self.logs, site, fabric)
        return self._configs[fabric]

    def history(self, site: str) -> SiteHistory:
        """Return the history of a site, from the snapshots that tests take."""
        snapshots = SnapshotFolder(self.snapshots / site, site, software_version())
        return SiteHistory(self.logs.open(site), snapshots, services_of)

    def runner(self, number: int, site: str) -> SiteRunner:
        """Return a runner for this site on this twin's store and log."""
        return SiteRunner(
            site,
            number,
            services_of,
            store=self.store,
            place=self.store.place,
            log=self.logs.open(site),
            dead_letters=self.dead_letters,
            telemetry=self._telemetry,
            roots_per_commit=ROOTS_PER_COMMIT,
        )

    def advance(self, hours: float) -> None:
        """Advance simulated time; return once all Ticks are done and every request is processed."""
        self._wall_s += 3_600 * hours
        self.twin.wake(0)
        until_s = time.monotonic() + CATCH_UP_S_MAX
        while self.clock.show().lag_us or self._is_due() or self._has_requests():
            if not self._loop.is_alive() or time.monotonic() > until_s:
                raise AssertionError("the loop does not catch up")
            time.sleep(0.005)

    def _is_due(self) -> bool:
        """Whether a Tick of the current time is pending. The clock does not lag behind because of it."""
        now_us = self.clock.show().now_us
        dues = [site.due_us() for site in self.twin.sites]
        return any(due_us is not None and due_us <= now_us for due_us in dues)

    def _has_requests(self) -> bool:
        """Whether a request is pending. The loop takes it at its next step, not immediately."""
        return any(self.store.waiting(partition, 1) for partition in range(len(self.twin.sites)))

    def close(self) -> None:
        """Stop the loop and close the log files."""
        self.forecasts.close()
        self.twin.stop()
        self._loop.join()
        self.logs.close()

    def client(self, token: str | None = None, **ports: Any) -> Client:
        """Return a client of this twin's gateway: the shared one, or of a new one with a token or with
        replaced ports."""
        if token is None and not ports:
            return self._client
        return Client(create_app(replace(self.ports, **ports), tokens=single_token(token)))

    @cached_property
    def _client(self) -> Client:
        return Client(create_app(self.ports, tokens=Tokens()))

    def audited(self, site: str) -> SiteAuditReport:
        """Return the report of `lightwave audit` for a site at the current time. No message may be
        pending."""
        places = {fabric: place for fabric, place in self.store.fabrics().items() if place.site == site}
        partition = next(iter(places.values())).partition
        snapshot = self.store.snapshot(partition, readers_of(places))
        audit = SiteAudit(site, list(places), snapshot.states)
        for number, line in enumerate(read_lines(self.logs.folder / f"{site}.jsonl")):
            assert audit.feed(number, decode(line))
        audit.compare()
        return audit.report(number + 1, number + 1)

    def messages(self, site: str = "pod-0") -> list[dict[str, Any]]:
        """Return a site's log as it is in the file."""
        path = self.logs.folder / f"{site}.jsonl"
        return [orjson.loads(line) for line in path.read_bytes().splitlines()]
