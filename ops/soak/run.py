"""`lightwave live soak`: a whole twin, faults from one seed, requests all the while; then the proof."""

import http.client
import json
import shlex
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import redis

from ops.servers.both import LocalKafka, LocalRedis
from ops.soak import report as reports
from ops.soak.asking import Client, http_post
from ops.soak.check_joins import check_audited, check_beginnings
from ops.soak.checks import FAULT_KINDS, Stand, check_all
from ops.soak.facts import gather
from ops.soak.inject import Injector, strike
from ops.soak.joins import Commissioner, Join, plan_joins
from ops.soak.log import read_log
from ops.soak.meter import TICKS, Meter, Probe, Struck, summary
from ops.soak.operators import Operator, Wishes, book_of
from ops.soak.plan import plan_faults
from ops.soak.twin import TwinOptions, WholeTwin
from schemas.config import FabricConfig, pod_of
from schemas.config_by_kind import config_model
from schemas.site_plan import SitePlan
from services.fleet import services_of
from shared.basics.errors import LightwaveError, OperationFailed
from shared.engine.codec import restore_instance
from shared.models.plants import plant_of
from shared.runtimes.ports import free_port
from shared.storage.residents import awaited, residents

STILL_S_MAX = 240.0
"""Time that stands still for so long will not advance again."""
CONVERGE_S_MAX = 180.0
CALM_S = 3.0
"""How long every process must have run after the last fault."""
PODS = 4
SETTINGS = (
    "pod.cubes=16",
    "failures.host_per_day=0.05",
)
"""Pods that are small and busy: more happens to them in an hour."""

Say = Callable[[str], None]


class Deviated(Exception):
    """The twin does what it must not, and cannot be compared any more; `str()` is the problem."""


@dataclass(frozen=True, slots=True)
class Soak:
    """What is run. `minutes` is the time for faults; what follows takes some more. `site_files` stand in
    place of so many `pods` with these `settings`; `joins` fabrics join while it runs."""

    minutes: float
    pods: int = PODS
    site_files: tuple[Path, ...] = ()
    joins: int = 2
    faults: int = 60
    seed: int = 0
    speed: float = 3_000.0
    settings: tuple[str, ...] = SETTINGS

    @property
    def twin(self) -> TwinOptions:
        """What the twin is made of. InvalidInput where a site's file is not what it should be."""
        options = TwinOptions(
            pods=self.pods,
            site_files=self.site_files,
            seed=self.seed,
            speed=self.speed,
            settings=self.settings,
        )
        return replace(options, partitions=len(options.sites))

    @property
    def repeat(self) -> str:
        """The command that runs it again."""
        made_of = [word for file in self.site_files for word in ("--site", str(file))]
        return (
            f"lightwave live soak --minutes {self.minutes:g} {shlex.join(made_of or self._pods)} "
            f"--joins {self.joins} --faults {self.faults} --seed {self.seed} --speed {self.speed:g}"
        )

    @property
    def _pods(self) -> list[str]:
        return ["--pods", str(self.pods)]


@dataclass(slots=True)
class _Run:
    """What a soak gathers on its way."""

    soak: Soak
    twin: WholeTwin
    sites: Sequence[SitePlan]
    meter: Meter
    injector: Injector
    operators: list[Operator]
    commissioner: Commissioner
    say: Say
    longest_stand_s: float = 0.0
    began_s: float = field(default_factory=time.monotonic)

    @property
    def clients(self) -> list[Client]:
        return [self.commissioner, *self.operators]

    def wait(self, seconds: float) -> None:
        """Wait, and see meanwhile that things go on; Deviated if they do not."""
        until_s = time.monotonic() + seconds
        while True:
            self.twin.supervisor.check()
            still_s = self.meter.still_s()
            self.longest_stand_s = max(self.longest_stand_s, still_s)
            for client in self.clients:
                if client.surprise is not None:
                    raise Deviated(f"an operator got an answer that none should get: {client.surprise}")
            if still_s > STILL_S_MAX:
                raise Deviated(f"time stands still since {still_s:.0f} s: {self.twin.words()}")
            left_s = until_s - time.monotonic()
            if left_s <= 0:
                return
            time.sleep(min(0.2, left_s))


def run_soak(soak: Soak, say: Say = lambda _: None) -> dict[str, Any]:
    """Run it; the report's `verdict` is `clean` if all that must hold held, `deviated` if the twin did
    otherwise. OperationFailed if the soak itself failed, which says nothing of the twin. What it started has
    ended when it returns or raises, and its folder is kept only where something went wrong."""
    folder = Path(tempfile.mkdtemp(prefix="lightwave-soak-"))
    try:
        with _twin(soak, folder) as twin:
            say(f"the twin runs at {twin.url}, logs in {folder}")
            report = _soak(soak, twin, say)
    except BaseException:
        say(f"logs and data are kept in {folder}")
        raise
    if report["verdict"] == reports.CLEAN:
        shutil.rmtree(folder, ignore_errors=True)
    else:
        report["folder"] = str(folder)
    return report


@contextmanager
def _twin(soak: Soak, folder: Path) -> Iterator[WholeTwin]:
    kafka = LocalKafka(folder / "kafka", port=free_port())
    store = LocalRedis(folder / "redis", port=free_port())
    twin = WholeTwin(folder / "twin", kafka, store, soak.twin)
    try:
        twin.start()
        yield twin
    finally:
        twin.stop()
        store.stop()
        kafka.stop()


def _soak(soak: Soak, twin: WholeTwin, say: Say) -> dict[str, Any]:
    run = _begin(soak, twin, say)
    problem: str | None = None
    try:
        plan = plan_faults(soak.seed, twin.targets(), soak.faults, 60 * soak.minutes)
        strike(plan, run.injector, run.meter, run.wait, say)
        converge(run)
    except Deviated as error:
        problem = str(error)
    finally:
        for client in run.clients:
            client.give_up()
        run.meter.stop()
    wall_s = time.monotonic() - run.began_s
    if problem is not None:
        return report_of(run, wall_s, [problem], requests=None, log=None, audit=None)
    say("all requests are accepted, all processes run, the clock is paused; comparing")
    return compare(run, wall_s)


def _begin(soak: Soak, twin: WholeTwin, say: Say) -> _Run:
    """With everybody at work who looks and who asks."""
    sites, post = twin.options.sites, http_post(twin.url)
    turns = {plan.site: threading.Lock() for plan in sites}
    operators = [
        Operator(wishes_of(soak.seed, fabric, config), post, turns[plan.site])
        for plan in sites
        for fabric, config in plan.fabrics.items()
    ]

    def welcome(join: Join) -> None:
        say(f"{join.fabric}, a {join.kind}, has joined {join.site}")
        config = config_model(join.kind).model_validate_json(json.dumps(join.settings))
        operators.append(Operator(wishes_of(soak.seed, join.fabric, config), post, turns[join.site]))
        operators[-1].start()

    plan = plan_joins(soak.seed, sites, soak.joins, 60 * soak.minutes)
    run = _Run(
        soak=soak,
        twin=twin,
        sites=sites,
        meter=Meter(Probe(twin.ticks, lambda: gateway_pid(twin))),
        injector=Injector(twin),
        operators=operators,
        commissioner=Commissioner(soak.seed, plan, post, welcome),
        say=say,
    )
    run.meter.start()
    for client in run.clients:
        client.start()
    return run


def wishes_of(seed: int, fabric: str, config: FabricConfig) -> Wishes:
    """What the operator of a pod of any kind may wish for."""
    return Wishes(seed, fabric, plant_of(config.kind, pod_of(config).cubes))


def gateway_pid(twin: WholeTwin) -> int | None:
    """The gateway's process, once it has answered."""
    pid = twin.supervisor.pids().get("gateway")
    twin.get("/v1/clock")
    return pid


def converge(run: _Run) -> None:
    """Wait until every process runs, all fabrics have joined and every fabric's time advances, every request
    begun is accepted, and the clock is paused with nothing left to read; Deviated if that takes too long."""
    run.wait(CALM_S)
    until_s = time.monotonic() + CONVERGE_S_MAX
    while run.meter.waiting() or None in run.twin.supervisor.pids().values():
        _within(until_s, run, f"no recovery from {[one.fault for one in run.meter.waiting()]}")
    run.commissioner.stop()
    while run.commissioner.is_alive():
        _within(until_s, run, "fabrics do not join")
    while still := _standing(run):
        _within(until_s, run, f"fabrics that joined stand still: {', '.join(still)}")
    for operator in run.operators:
        operator.stop()
    while any(operator.is_alive() for operator in run.operators):
        _within(until_s, run, "requests are not accepted")
    while not _paused(run.twin):
        _within(until_s, run, "the clock cannot be paused")
    while not quiet(run.twin):
        _within(until_s, run, "services do not reach the end of the log")


def _standing(run: _Run) -> list[str]:
    """Fabrics that have joined and whose time has not advanced since."""
    ticks = run.twin.ticks()
    joined = [one.join.fabric for one in run.commissioner.joined]
    return [fabric for fabric in joined if ticks.get(fabric, 0) < TICKS]


def _within(until_s: float, run: _Run, problem: str) -> None:
    if time.monotonic() > until_s:
        raise Deviated(f"{problem} after {CONVERGE_S_MAX:.0f} s: {run.twin.words()}")
    run.wait(0.2)


def _paused(twin: WholeTwin) -> bool:
    try:
        return bool(twin.send("POST", "/v1/clock/pause")["paused"])
    except (OSError, ValueError, http.client.HTTPException):
        return False


def quiet(twin: WholeTwin) -> bool:
    """Whether all services of all partitions stand where the sequencer knows the log to end, with nothing
    left to say and no request waiting; seen twice, for the sequencer may be about to append."""
    for _ in range(2):
        try:
            for partition in {place.partition for place in twin.store.fabrics().values()}:
                snapshot = twin.store.snapshot(partition, [])
                stands = {
                    snapshot.positions.get(name, 0)
                    for name in awaited(residents(snapshot.values), services_of)
                }
                read_all = len(stands) == 1 and min(stands) >= int(snapshot.values.get("end", 0))
                if not read_all or snapshot.outbox_size or twin.store.size(partition):
                    return False
        except LightwaveError:
            return False
        time.sleep(0.5)
    return True


# --- the proof ----------------------------------------------------------------------------------------------


def compare(run: _Run, wall_s: float) -> dict[str, Any]:
    """The report of a soak to its end: everything that must hold, and what was counted on the way."""
    twin = run.twin
    book = book_of(run.operators, run.commissioner, run.injector.rollbacks)
    facts = gather(read_log(twin.kafka.brokers, twin.topics.log))
    begun_with = {fabric: plan.site for plan in run.sites for fabric in plan.fabrics}
    problems = [*check_all(book, facts, stand_of(twin)), *check_beginnings(book, facts, begun_with)]
    if facts.unreadable:
        problems.append(f"{facts.unreadable} records of the log cannot be read")
    audit = twin.json("audit", "--live")
    if not audit["clean"]:
        problems.append(f"the audit is not clean: {json.dumps(audit)}")
    problems += check_audited(facts, audit)
    return report_of(
        run,
        wall_s,
        problems,
        requests=reports.request_counts(book, facts, sum(one.again for one in run.clients)),
        log=reports.log_counts(facts),
        audit=audit,
    )


def report_of(run: _Run, wall_s: float, problems: Sequence[str], **proof: Any) -> dict[str, Any]:
    """All that is told of a soak; the parts of the `proof` are None where the twin could not be compared."""
    struck: list[Struck] = run.meter.struck
    return {
        "verdict": reports.DEVIATED if problems else reports.CLEAN,
        "problems": problems,
        "repeat": run.soak.repeat,
        "seed": run.soak.seed,
        "sites": reports.sites_of(run.sites, run.commissioner.joined),
        "joined": reports.join_rows(run.commissioner.joined),
        "speed": run.soak.speed,
        "wall_s": round(wall_s, 1),
        "longest_stand_s": round(run.longest_stand_s, 1),
        "fault_counts": reports.fault_counts(struck),
        "resumed": summary(struck),
        "ends": reports.restart_counts(run.twin.supervisor.exits()),
        "versions": reports.versions(_redis_version(run.twin.redis.url)),
        "faults": reports.fault_rows(struck, run.began_s),
        "folder": None,
        **proof,
    }


def stand_of(twin: WholeTwin) -> Stand:
    """What states and documents say of a twin that is quiet."""
    books, positions, ticks = {}, {}, {}
    faults, slices = {}, {}
    for fabric, place in twin.store.fabrics().items():
        partition = place.partition
        begun, progress = twin.store.positions(partition), twin.store.progress(partition)
        for service in services_of(place.kind):
            stored = twin.store.load(partition, service.name, fabric)
            books[service.name, fabric] = restore_instance(service, fabric, stored).seen
            positions[service.name, partition] = begun.get(service.name, 0)
            row = progress.get((service.name, fabric))
            ticks[service.name, fabric] = None if row is None else row.ticks
        failures = _summary(twin, fabric, "failures")
        faults[fabric] = sum(failures[kind] for kind in FAULT_KINDS)
        slices[fabric] = _summary(twin, fabric, "workload")["requested"]
    drained = {cube["name"]: cube["drained"] for cube in twin.get("/v1/cubes")}
    return Stand(drained, books, faults, slices, positions, ticks)


def _summary(twin: WholeTwin, fabric: str, service: str) -> dict[str, int]:
    text = twin.store.one(fabric, "summaries", f"{fabric}/{service}")
    if text is None:
        raise OperationFailed(f"{fabric}: {service} has written no summary")
    found: dict[str, int] = json.loads(text)
    return found


def _redis_version(url: str) -> str:
    try:
        with redis.Redis.from_url(url) as client:
            about: Any = client.info("server")  # the client's types speak for its asynchronous form as well
    except redis.RedisError:
        return "does not answer"  # the soak ended while it was struck
    return str(about["redis_version"])
