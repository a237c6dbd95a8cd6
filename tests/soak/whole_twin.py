"""A whole live twin on this machine: Kafka, Redis, and the requested number of each process."""

import contextlib
import http.client
import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from ops.live.supervisor import RestartPolicy, Supervisor
from ops.servers.local_servers import LocalKafka, LocalRedis
from ops.sites.site_plans import NewTwinOptions, lacks_seed
from schemas.files.site_plan import SitePlan
from services.fabric_kinds import services_of
from services.service_names import SERVICE_NAMES
from shared.basics.errors import LightwaveError, OperationFailed
from shared.engine.message_order import ServiceProgress
from shared.engine.service import AnyService
from shared.runtimes.live.kafka.layout import Topics
from shared.runtimes.live.live_status import standstill_reasons
from shared.runtimes.live.process.process_registry import processes
from shared.runtimes.tcp_ports import free_port
from shared.storage.store.redis_store import RedisStore
from tests.soak.clients import WAIT_S, Post, http_post
from tests.soak.fabric_progress import FabricProgress

TargetKind = Literal[
    "worker", "sequencer", "gateway", "historian", "kafka", "redis", "processes", "log", "requests", "twin"
]
"""Kinds of targets that faults are injected into."""
LIGHTWAVE_COMMAND = (sys.executable, "-m", "ops.cli")
TWO_WORKER_SERVICES = ("ocs", "scheduler", "transceivers")
"""Services with two workers."""
READY_S_MAX = 180.0
COMMAND_S_MAX = 300.0
ANSWER_S_MAX = 10.0
NAME_SUFFIXES = ("", "-b", "-c")
"""Suffixes that distinguish the sequencers and gateways of a twin."""
HISTORIAN = "historian"
"""The name of the only one."""
HARNESS = "harness"
"""Who administers a twin whose people have tokens."""
SINGLE_TARGETS: tuple[TargetKind, ...] = ("kafka", "redis", "processes", "log", "requests", "twin")
"""Kinds of targets that exist once."""
RESTART_POLICY = RestartPolicy(wait_s_max=3.0, good_s_min=10.0, stop_s_max=15.0)
"""Less patient than a supervisor for daily use: a soak's faults are frequent, and it must continue after
each."""


@dataclass(frozen=True, slots=True)
class FaultTarget:
    """The target of a fault: one process (`ocs-a` of kind worker), or everything of a kind."""

    name: str
    kind: TargetKind


@dataclass(frozen=True, slots=True)
class TwinOptions:
    """The arguments of `lightwave live init`, and the number of workers. `site_files` replace `pods` and
    `settings`; `seed` is that of the fabrics without one of their own there."""

    pods: int = 1
    site_files: tuple[Path, ...] = ()
    seed: int = 0
    speed: float = 3_000.0
    settings: tuple[str, ...] = ()
    partitions: int = 4
    prefix: str = "soak"
    doubled: Sequence[str] = TWO_WORKER_SERVICES
    only: Sequence[str] | None = None
    """The services of its version, all of which are started. None if its version is this one; then it starts
    those that the sites' fabrics have, and those of `joining`."""
    joining: Sequence[str] = ()
    """Kinds of fabrics that may join."""
    sequencers: int = 1
    gateways: int = 1
    historian: bool = False
    """Whether one runs, whose snapshots every gateway reads."""
    people: Sequence[str] = ()
    """Clients other than the harness, each with a token; empty: every client on this machine, as one."""
    program: Sequence[str] = LIGHTWAVE_COMMAND
    """What its processes and commands are started with."""

    @property
    def services(self) -> tuple[str, ...]:
        """The services that are started, in order."""
        if self.only is not None:
            return tuple(self.only)
        kinds = {config.kind for plan in self.sites for config in plan.fabrics.values()} | {*self.joining}
        return tuple(sorted({name for kind in kinds for name in SERVICE_NAMES[kind]}))

    def services_of(self, kind: str) -> tuple[AnyService, ...]:
        """The services that fabrics of a kind have in the twin's version, in name order: those that tests
        wait for."""
        found = services_of(kind)
        return found if self.only is None else tuple(one for one in found if one.name in self.only)

    @property
    def sites(self) -> tuple[SitePlan, ...]:
        """The sites that the twin begins with."""
        return self._asked.sites()

    @property
    def _asked(self) -> NewTwinOptions:
        if self.site_files:
            files = NewTwinOptions(site_files=self.site_files)
            return replace(files, seed=self.seed) if lacks_seed(files.sites()) else files
        return NewTwinOptions(self.pods, seed=self.seed, pairs=self.settings)

    @property
    def words(self) -> list[str]:
        """The same for the command line."""
        words = ["--partitions", str(self.partitions), "--speed", f"{self.speed:g}"]
        if self._asked.seed is not None:
            words += ["--seed", str(self.seed)]
        if self.site_files:
            return [*words, *(word for file in self.site_files for word in ("--site", str(file)))]
        return [*words, "--pods", str(self.pods), *(w for pair in self.settings for w in ("--set", pair))]


@dataclass
class WholeTwin:
    """Start it, look at it, inject faults, stop it. `kafka` may be shared, `redis` is this twin's own."""

    folder: Path
    kafka: LocalKafka
    redis: LocalRedis
    options: TwinOptions
    gateways: dict[str, int] = field(init=False)
    """Name → port."""
    supervisor: Supervisor = field(init=False)
    store: RedisStore = field(init=False)

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.gateways = {f"gateway{letter}": free_port() for letter in NAME_SUFFIXES[: self.options.gateways]}
        if self.options.people:
            self._tokens.touch(mode=0o600)
            lines = (f"{name} administrator {token_of(name)}\n" for name in self.options.people)
            self._tokens.write_text("".join(lines))
        self.supervisor = Supervisor(self.environment, self.folder, RESTART_POLICY)
        self.store = RedisStore(self.redis.url)

    @property
    def port(self) -> int:
        """Of the first gateway."""
        return self.gateways["gateway"]

    @property
    def url(self) -> str:
        return self.url_of("gateway")

    def url_of(self, gateway: str) -> str:
        return f"http://127.0.0.1:{self.gateways[gateway]}"

    def data_of(self, gateway: str) -> Path:
        """The folder of a gateway's copy of the log."""
        return self.folder / ("data" if gateway == "gateway" else f"data-{gateway}")

    @property
    def sequencers(self) -> tuple[str, ...]:
        return tuple(f"sequencer{letter}" for letter in NAME_SUFFIXES[: self.options.sequencers])

    @property
    def _tokens(self) -> Path:
        return self.folder / "tokens"

    @property
    def topics(self) -> Topics:
        return Topics(self.options.prefix)

    @cached_property
    def fabrics(self) -> list[str]:
        """Those of its start, without those that have joined since."""
        return [fabric for plan in self.options.sites for fabric in plan.fabrics]

    @property
    def pods(self) -> list[str]:
        """The fabrics that have cubes."""
        return [
            fabric
            for plan in self.options.sites
            for fabric, config in plan.fabrics.items()
            if "cubes" in SERVICE_NAMES[config.kind]
        ]

    @property
    def environment(self) -> dict[str, str]:
        """What every command of this twin is started with."""
        return {
            **self.kafka.settings,
            "LIGHTWAVE_REDIS": self.redis.url,
            "LIGHTWAVE_REDIS_CLUSTER": "false",
            "LIGHTWAVE_PREFIX": self.options.prefix,
            "LIGHTWAVE_DATA": str(self.data_of("gateway")),
            "LIGHTWAVE_SNAPSHOTS": str(self.folder / "snapshots"),
            "LIGHTWAVE_HOST": "127.0.0.1",
            "LIGHTWAVE_PORT": str(self.port),
            "LIGHTWAVE_TOKEN": token_of(HARNESS) if self.options.people else "",
            "LIGHTWAVE_TOKENS": str(self._tokens) if self.options.people else "",
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

    def targets(self) -> list[FaultTarget]:
        """All that faults may hit."""
        found = [FaultTarget(name, "worker") for name in self.workers]
        found += [FaultTarget(name, "sequencer") for name in self.sequencers]
        found += [FaultTarget(name, "gateway") for name in self.gateways]
        if self.options.historian:
            found.append(FaultTarget(HISTORIAN, "historian"))
        return [*found, *(FaultTarget(kind, kind) for kind in SINGLE_TARGETS)]

    def start(self) -> None:
        """Make the twin, start all of its processes and wait until it is ready."""
        self.kafka.start(wait=False)
        self.redis.start()
        self.kafka.wait_ready()
        self.init()
        self.start_processes()
        self.wait_ready()

    def init(self) -> None:
        self.json("live", "init", *self.options.words)

    def start_processes(self) -> None:
        for name in (*self.workers, *self.sequencers, *self.gateways):
            self.start_process(name)
        if self.options.historian:
            self.start_process(HISTORIAN)

    def start_process(self, name: str) -> None:
        """Start one of the twin's processes, and keep it running."""
        if name in self.workers:
            self.start_worker(name)
        elif name in self.gateways:
            self.supervisor.keep(name, self._command(name), {"LIGHTWAVE_DATA": str(self.data_of(name))})
        elif name == HISTORIAN:
            self.supervisor.keep(name, self._command(name))
        else:
            self.start_sequencer(name)

    def start_worker(self, name: str) -> None:
        self.supervisor.keep(name, self._command(name))

    def start_sequencer(self, name: str) -> None:
        """One of the twin's, or one more of another name."""
        self.supervisor.keep(name, self._command(name))

    def words_of(self, name: str) -> list[str]:
        """The words of `lightwave` that start a process."""
        if name in self.workers:
            return ["live", "worker", self.workers[name], "--replica", name, "--wait", *metrics_options()]
        if name in self.gateways:
            return ["live", "gateway", "--replica", name, "--wait", "--port", str(self.gateways[name])]
        kind = "historian" if name == HISTORIAN else "sequencer"
        return ["live", kind, "--replica", name, "--wait", *metrics_options()]

    def _command(self, name: str) -> list[str]:
        return [*self.options.program, *self.words_of(name)]

    def wait_ready(self, seconds: float = READY_S_MAX) -> None:
        """Until every gateway answers, every service of every partition is held, and all have read something.

        Not until /healthz is well: that has limits of lag, which a twin does not keep whose clock is to run
        faster than this machine can.
        """
        until_s = time.monotonic() + seconds
        wanted = set(self.fabrics)
        while time.monotonic() < until_s:
            self.supervisor.check()
            with contextlib.suppress(OSError, ValueError, http.client.HTTPException, LightwaveError):
                for gateway in self.gateways:
                    self.get("/v1/clock", gateway)
                if not self.standstills() and self.positions().keys() >= wanted:
                    return
            time.sleep(0.1)
        raise OperationFailed(f"the twin in {self.folder} is not ready after {seconds:.0f} s: {self.words()}")

    def stop(self) -> None:
        """End every process; the servers are their owner's to end."""
        self.supervisor.stop()
        self.store.close()

    # --- asking ---------------------------------------------------------------------------------------------

    def get(self, path: str, gateway: str = "gateway") -> Any:
        return self.send("GET", path, gateway=gateway)

    def send(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, gateway: str = "gateway"
    ) -> Any:
        headers = {"Content-Type": "application/json"}
        if self.options.people:
            headers["Authorization"] = f"Bearer {token_of(HARNESS)}"
        request = urllib.request.Request(
            self.url_of(gateway) + path,
            data=None if method == "GET" else json.dumps(body or {}).encode(),
            headers=headers,
            method=method,
        )
        with urllib.request.urlopen(request, timeout=ANSWER_S_MAX) as answer:
            return json.load(answer)

    def posts(
        self, person: str, answer_s_max: float = ANSWER_S_MAX, wait_s: float = WAIT_S
    ) -> dict[str, Post]:
        """Requests to each gateway, with this timeout; they may wait for their place on the log for
        `wait_s`."""
        token = token_of(person) if self.options.people else None
        return {name: http_post(self.url_of(name), token, answer_s_max, wait_s) for name in self.gateways}

    # --- looking --------------------------------------------------------------------------------------------

    def run(self, *words: str) -> "subprocess.CompletedProcess[str]":
        """One `lightwave` command of this twin, to its end."""
        return subprocess.run(
            [*self.options.program, *words],
            env=os.environ | self.environment,
            text=True,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=COMMAND_S_MAX,
            check=False,
        )

    def json(self, *words: str) -> Any:
        """The JSON output of a command; OperationFailed with its sentence if it fails."""
        done = self.run(*words, "-o", "json")
        if not done.stdout.strip():
            raise OperationFailed(f"`lightwave {' '.join(words)}`: {done.stderr.strip()[-2_000:]}")
        return json.loads(done.stdout)

    def standstills(self) -> list[str]:
        """Why time has stopped somewhere."""
        return standstill_reasons(self.store, self.options.services_of, processes(self.store))

    def positions(self) -> dict[str, int]:
        """Fabric → position up to which every service has read its partition."""
        found = {}
        for fabric, place in self.store.fabrics().items():
            positions = self.store.positions(place.partition)
            wanted = [service.name for service in self.options.services_of(place.kind)]
            if all(name in positions for name in wanted):
                found[fabric] = min(positions[name] for name in wanted)
        return found

    def ticks(self) -> dict[str, int]:
        """Fabric → Ticks that its services have taken, the best sign that its time advances. It includes
        fabrics that have joined and started, and none that has retired."""
        places = self.store.fabrics()
        retired = {fabric for fabric, place in places.items() if place.retired_us is not None}
        found = dict.fromkeys((fabric for fabric in self.fabrics if fabric not in retired), 0)
        for partition in {place.partition for place in places.values()}:
            for (_, fabric), row in self.store.progress(partition).items():
                if fabric not in retired:
                    found[fabric] = found.get(fabric, 0) + row.ticks
        return found

    def fabric_progress(self) -> dict[str, FabricProgress]:
        """The progress of every fabric that `ticks` has, except those that have not started."""
        places, counts = self.store.fabrics(), self.ticks()
        found: dict[str, FabricProgress] = {}
        for partition in {place.partition for place in places.values()}:
            rows = self.store.progress(partition)
            now_us = max((row.now_us for row in rows.values()), default=0)
            due = {
                fabric for (_, fabric), row in rows.items() if row.due_us is not None and row.due_us <= now_us
            }
            for fabric, place in places.items():
                if place.partition == partition and fabric in counts:
                    found[fabric] = FabricProgress(counts[fabric], partition, fabric in due)
        return found

    def probed(self) -> dict[str, str]:
        """Process → where its probes are, of those that live and have any."""
        pids = self.supervisor.pids()
        found = {name: self.url_of(name) for name in self.gateways}
        for row in processes(self.store):
            if row["address"] is not None and row["pid"] == pids.get(row["name"]):
                found.setdefault(row["name"], row["address"])
        return found

    def words(self) -> str:
        """The last line of every process's log, for a person who wants to know what went wrong."""
        return " | ".join(_last_lines(self.folder))


def _is_due(row: ServiceProgress, now_us: int) -> bool:
    return row.due_us is not None and row.due_us <= now_us


def token_of(person: str) -> str:
    """The token of a client of a soak's twin: no secret, because all of it is on this machine."""
    return f"{person}-of-the-soak-{person}"


def metrics_options() -> list[str]:
    """A free port for a process's metrics."""
    return ["--metrics-port", "0"]


def _last_lines(folder: Path) -> Iterator[str]:
    for log in sorted(folder.glob("*.log")):
        lines = log.read_text(errors="replace").strip().splitlines()
        if lines:
            yield f"{log.stem}: {lines[-1][:300]}"
