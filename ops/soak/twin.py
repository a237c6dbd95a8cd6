"""A whole live twin on this machine: Kafka, Redis, two workers for some services, sequencer, gateway."""

import contextlib
import http.client
import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from ops.common.sites import AskedTwin
from ops.live.supervise import RestartPolicy, Supervisor
from ops.servers.both import LocalKafka, LocalRedis
from ops.soak.plan import Target
from schemas.site_plan import SitePlan
from services.fleet import services_of
from services.roster import service_names
from shared.basics.errors import LightwaveError, OperationFailed
from shared.runtimes.live.kafka.layout import Topics
from shared.runtimes.live.process.heartbeat import processes
from shared.runtimes.live.status import standstills
from shared.runtimes.ports import free_port
from shared.storage.redis_store import RedisStore

LIGHTWAVE = (sys.executable, "-m", "ops.cli")
DOUBLED = ("ocs", "scheduler", "transceivers")
"""Services with two workers."""
READY_S_MAX = 90.0
COMMAND_S_MAX = 300.0
ANSWER_S_MAX = 10.0
SECOND = "sequencer-b"
RESTART = RestartPolicy(wait_s_max=3.0, good_s_min=10.0, stop_s_max=15.0)
"""Less patient than one for daily use: a soak's faults are frequent, and it is to go on after each."""


@dataclass(frozen=True, slots=True)
class TwinOptions:
    """What `lightwave live init` is told, and how many workers there are. `site_files` stand in place of
    `pods` and `settings`."""

    pods: int = 1
    site_files: tuple[Path, ...] = ()
    seed: int = 0
    speed: float = 3_000.0
    settings: tuple[str, ...] = ()
    partitions: int = 4
    prefix: str = "soak"
    doubled: Sequence[str] = DOUBLED
    services: Sequence[str] = service_names()
    program: Sequence[str] = LIGHTWAVE
    """What its processes and commands are started with."""

    @property
    def sites(self) -> tuple[SitePlan, ...]:
        """The sites that the twin begins with."""
        return self._asked.sites()

    @property
    def _asked(self) -> AskedTwin:
        if self.site_files:
            return AskedTwin(seed=self.seed, site_files=self.site_files)
        return AskedTwin(self.pods, seed=self.seed, pairs=self.settings)

    @property
    def words(self) -> list[str]:
        """The same for the command line."""
        words = ["--seed", str(self.seed), "--partitions", str(self.partitions), "--speed", f"{self.speed:g}"]
        if self.site_files:
            return [*words, *(word for file in self.site_files for word in ("--site", str(file)))]
        return [*words, "--pods", str(self.pods), *(w for pair in self.settings for w in ("--set", pair))]


@dataclass
class WholeTwin:
    """Start it, look at it, strike it, stop it. `kafka` may be shared, `redis` is this twin's own."""

    folder: Path
    kafka: LocalKafka
    redis: LocalRedis
    options: TwinOptions
    port: int = field(default_factory=free_port)
    supervisor: Supervisor = field(init=False)
    store: RedisStore = field(init=False)

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.supervisor = Supervisor(self.environment, self.folder, RESTART)
        self.store = RedisStore(self.redis.url)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def topics(self) -> Topics:
        return Topics(self.options.prefix)

    @cached_property
    def fabrics(self) -> list[str]:
        """Those that it began with, without what has joined since."""
        return [fabric for plan in self.options.sites for fabric in plan.fabrics]

    @property
    def environment(self) -> dict[str, str]:
        """What every command of this twin is started with."""
        return {
            **self.kafka.settings,
            "LIGHTWAVE_REDIS": self.redis.url,
            "LIGHTWAVE_REDIS_CLUSTER": "false",
            "LIGHTWAVE_PREFIX": self.options.prefix,
            "LIGHTWAVE_DATA": str(self.folder / "data"),
            "LIGHTWAVE_HOST": "127.0.0.1",
            "LIGHTWAVE_PORT": str(self.port),
            "LIGHTWAVE_TOKEN": "",
            "LIGHTWAVE_CONFIG": "",
            "LIGHTWAVE_METRICS_HOST": "127.0.0.1",
            "LIGHTWAVE_URL": self.url,
        }

    @property
    def workers(self) -> dict[str, str]:
        """Process name → its service."""
        names = {}
        for service in self.options.services:
            for replica in "ab" if service in self.options.doubled else "a":
                names[f"{service}-{replica}"] = service
        return names

    def targets(self) -> list[Target]:
        workers = [Target(name, "worker") for name in self.workers]
        return [
            *workers,
            Target("sequencer", "sequencer"),
            Target("gateway", "gateway"),
            Target("kafka", "kafka"),
            Target("redis", "redis"),
        ]

    def start(self) -> None:
        """Make the twin, start all of its processes and wait until the gateway answers and time advances."""
        self.kafka.start(wait=False)
        self.redis.start()
        self.kafka.wait_ready()
        self.init()
        self.start_processes()
        self.wait_ready()

    def init(self) -> None:
        self.json("live", "init", *self.options.words)

    def start_processes(self) -> None:
        for name in self.workers:
            self.start_worker(name)
        self.start_sequencer("sequencer")
        self.supervisor.keep("gateway", [*self.options.program, "live", "gateway"])

    def start_worker(self, name: str) -> None:
        words = ["live", "worker", self.workers[name], "--replica", name, *metrics()]
        self.supervisor.keep(name, [*self.options.program, *words])

    def start_sequencer(self, name: str) -> None:
        words = ["live", "sequencer", "--replica", name, *metrics()]
        self.supervisor.keep(name, [*self.options.program, *words])

    def wait_ready(self, seconds: float = READY_S_MAX) -> None:
        until_s = time.monotonic() + seconds
        wanted = set(self.fabrics)
        while time.monotonic() < until_s:
            with contextlib.suppress(OSError, ValueError, http.client.HTTPException, LightwaveError):
                self.get("/v1/clock")
                if not self.standstills() and self.positions().keys() >= wanted:
                    return
            time.sleep(0.1)
        raise OperationFailed(f"the twin in {self.folder} is not ready after {seconds:.0f} s: {self.words()}")

    def stop(self) -> None:
        """End every process; the servers are their owner's to end."""
        self.supervisor.stop()
        self.store.close()

    # --- looking --------------------------------------------------------------------------------------------

    def get(self, path: str) -> Any:
        with urllib.request.urlopen(self.url + path, timeout=ANSWER_S_MAX) as answer:  # noqa: S310 -- our own
            return json.load(answer)

    def send(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        request = urllib.request.Request(  # noqa: S310 -- the twin's own gateway
            self.url + path,
            data=json.dumps(body or {}).encode(),
            headers={"Content-Type": "application/json"},
            method=method,
        )
        with urllib.request.urlopen(request, timeout=ANSWER_S_MAX) as answer:  # noqa: S310 -- as above
            return json.load(answer)

    def run(self, *words: str) -> "subprocess.CompletedProcess[str]":
        """One `lightwave` command of this twin, to its end."""
        return subprocess.run(  # noqa: S603 -- a command of ours, no shell
            [*self.options.program, *words],
            env=os.environ | self.environment,
            text=True,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=COMMAND_S_MAX,
            check=False,
        )

    def json(self, *words: str) -> Any:
        """What a command says in JSON; OperationFailed with its sentence if it fails."""
        done = self.run(*words, "-o", "json")
        if not done.stdout.strip():
            raise OperationFailed(f"`lightwave {' '.join(words)}`: {done.stderr.strip()[-2_000:]}")
        return json.loads(done.stdout)

    def standstills(self) -> list[str]:
        """Why time stands still somewhere."""
        return standstills(self.store, services_of, processes(self.store))

    def positions(self) -> dict[str, int]:
        """Fabric → position up to which every service has read its partition."""
        found = {}
        for fabric, place in self.store.fabrics().items():
            positions = self.store.positions(place.partition)
            wanted = [service.name for service in services_of(place.kind)]
            if all(name in positions for name in wanted):
                found[fabric] = min(positions[name] for name in wanted)
        return found

    def ticks(self) -> dict[str, int]:
        """Fabric → Ticks that its services have taken: what tells best that its time advances. Of fabrics
        that have joined as well, once they have begun."""
        found = dict.fromkeys(self.fabrics, 0)
        for partition in {place.partition for place in self.store.fabrics().values()}:
            for (_, fabric), row in self.store.progress(partition).items():
                found[fabric] = found.get(fabric, 0) + row.ticks
        return found

    def words(self) -> str:
        """The last line of every process's log, for a person who wants to know what went wrong."""
        return " | ".join(_last_lines(self.folder))


def metrics() -> list[str]:
    """A free port for a process's metrics."""
    return ["--metrics-port", "0"]


def _last_lines(folder: Path) -> Iterator[str]:
    for log in sorted(folder.glob("*.log")):
        lines = log.read_text(errors="replace").strip().splitlines()
        if lines:
            yield f"{log.stem}: {lines[-1][:300]}"
