"""A whole twin in this process on a memory store, its clock moved by the test, and a gateway's client."""

import asyncio
import json
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import orjson
from fastapi import FastAPI

from ops.common.sites import SitePlan, places_of, single_fabric_sites
from schemas.body import Body
from schemas.config import FabricConfig
from schemas.sequencer import FabricCommissioned
from services.fleet import services_of
from services.gateway.http.app import create_app
from services.gateway.ports import TwinPorts
from shared.runtimes.embedded.clock import EmbeddedClock
from shared.runtimes.embedded.dead_letters import DeadLetters
from shared.runtimes.embedded.site_runner import SiteRunner
from shared.runtimes.embedded.twin import EmbeddedTwin
from shared.storage.log.frames import TelemetryFolder
from shared.storage.log.indexed import IndexedLogs
from shared.storage.memory import MemoryStore
from shared.storage.store import FabricPlace, Received
from tests.support.pods import first_message

CATCH_UP_S_MAX = 60.0
QUIET = ["workload.enabled=false", "failures.enabled=false"]
"""Nothing happens unless somebody asks."""


class Client:
    """Asks an application without a server in between. What the gateway does not foresee is its answer 500,
    as it is for its users."""

    def __init__(self, app: FastAPI) -> None:
        self.app = app

    def request(self, method: str, path: str, **request: Any) -> httpx.Response:
        """The answer; `json` is a body of any kind, even one that only JSON's escapes can carry."""
        body = request.pop("json", None)
        if body is not None:
            request["content"] = json.dumps(body)
            request["headers"] = {"Content-Type": "application/json"} | request.get("headers", {})

        async def ask() -> httpx.Response:
            transport = httpx.ASGITransport(self.app, raise_app_exceptions=False)
            async with httpx.AsyncClient(transport=transport, base_url="http://twin") as client:
                return await client.request(method, path, **request)

        return asyncio.run(ask())

    def get(self, path: str, **request: Any) -> httpx.Response:
        return self.request("GET", path, **request)

    def post(self, path: str, **request: Any) -> httpx.Response:
        return self.request("POST", path, **request)


class WakingStore(MemoryStore):
    """Wakes the loop when somebody asks for something."""

    twin: EmbeddedTwin

    def put(self, partition: int, fabric: str, body: Body, key: str | None) -> Received:
        received = super().put(partition, fabric, body, key)
        self.twin.wake(partition)
        return received


class DrivenTwin:
    """Some sites behind one loop: pods by themselves, or those of `plans`. A simulated second is a second of
    a wall clock that stands still until `advance` moves it; requests are taken as they come."""

    def __init__(
        self, folder: Path, pairs: list[str], pods: int = 1, plans: Sequence[SitePlan] | None = None
    ) -> None:
        self._wall_s = 0.0
        self.problems: list[str] = []
        self.store = WakingStore()
        self.logs = IndexedLogs(folder / "log")
        self.clock = EmbeddedClock(speed=1.0, wall_s=lambda: self._wall_s)
        telemetry = TelemetryFolder(folder / "telemetry")
        sites = plans or single_fabric_sites(pods, pairs=pairs, seed=3)
        self._configs: dict[str, FabricConfig] = {}
        for name, place in places_of(sites, len(sites)).items():
            self.store.place(name, place)
        self._sites = {name: plan.site for plan in sites for name in plan.fabrics}
        self._dead_letters = DeadLetters(folder / "dead-letters.jsonl")
        self._telemetry = telemetry
        runners = [self.runner(number, plan.site) for number, plan in enumerate(sites)]
        for runner, plan in zip(runners, sites, strict=True):
            runner.recover()
            for name, config in plan.fabrics.items():
                runner.take(first_message(config, name, site=plan.site))
        self.twin = EmbeddedTwin(runners, self.store, self.clock, lambda: None)
        self.store.twin = self.twin
        self.ports = TwinPorts(
            documents=self.store,
            inbox=self.store,
            log=self.logs,
            clock=self.clock,
            config=self._config,
            site=self._sites.__getitem__,
            health=lambda: self.problems,
            runtime_metrics=lambda: {"commits_total": float(sum(r.commits for r in runners))},
            telemetry=telemetry.latest,
            join=self._join,
        )
        self.twin.start()
        self._loop = threading.Thread(target=self.twin.run, daemon=True)
        self._loop.start()

    def _join(self, fabric: str, site: str, config: FabricConfig) -> None:
        partition = next(place.partition for place in self.store.fabrics().values() if place.site == site)
        self.store.place(fabric, FabricPlace(partition, site, config.kind))
        self._sites[fabric] = site

    def _config(self, fabric: str) -> FabricConfig:
        """As the log has it."""
        if fabric not in self._configs:
            site = self._sites[fabric]  # KeyError for an unknown fabric
            position = self.logs.position_of(site, f"sequencer@{fabric}/1")
            if position is None:
                raise KeyError(fabric)
            _, message = next(self.logs.read(site, position, 1))
            assert isinstance(message.body, FabricCommissioned)
            self._configs[fabric] = message.body.config
        return self._configs[fabric]

    def runner(self, number: int, site: str) -> SiteRunner:
        """Who would run this site on this twin's store and log."""
        return SiteRunner(
            site,
            number,
            services_of,
            store=self.store,
            places=self.store.fabrics,
            log=self.logs.open(site),
            dead_letters=self._dead_letters,
            telemetry=self._telemetry,
        )

    def advance(self, hours: float) -> None:
        """Let simulated time go on, and wait until all of it has happened."""
        self._wall_s += 3_600 * hours
        self.twin.wake(0)
        until_s = time.monotonic() + CATCH_UP_S_MAX
        while self.clock.show().lag_us or self._is_due():
            if not self._loop.is_alive() or time.monotonic() > until_s:
                raise AssertionError("the loop does not catch up")
            time.sleep(0.005)

    def _is_due(self) -> bool:
        """Whether a Tick of this very moment is still to come: the clock does not lag behind for it."""
        now_us = self.clock.show().now_us
        dues = [site.due_us() for site in self.twin.sites]
        return any(due_us is not None and due_us <= now_us for due_us in dues)

    def close(self) -> None:
        """End the loop and the log files."""
        self.twin.stop()
        self._loop.join()
        self.logs.close()

    def client(self, token: str | None = None, **ports: Any) -> Client:
        """A client of a gateway over this twin, with some of its ports replaced."""
        return Client(create_app(replace(self.ports, **ports), token=token))

    def messages(self, site: str = "pod-0") -> list[dict[str, Any]]:
        """A site's log as it stands in the file."""
        path = self.logs.folder / f"{site}.jsonl"
        return [orjson.loads(line) for line in path.read_bytes().splitlines()]
