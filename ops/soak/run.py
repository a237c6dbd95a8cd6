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
from ops.soak.asking import Client
from ops.soak.check_joins import check_audited, check_beginnings, check_ends
from ops.soak.checks import check_all, check_received
from ops.soak.ends import check_exits, check_logs, refused_for_good
from ops.soak.facts import gather
from ops.soak.flood import FLOODERS
from ops.soak.joins import POLICIES, Commissioner, Join, plan_joins
from ops.soak.joins import SETTINGS as SETTINGS_BY_KIND
from ops.soak.log import log_ends, read_log
from ops.soak.meter import TICKS, Meter, Probe, Struck, check_live, summary
from ops.soak.operators import Operator, Wishes, book_of
from ops.soak.plan import Strike, plan_faults
from ops.soak.stand import quiet, stand_of
from ops.soak.strikes.scene import Deviated, Scene
from ops.soak.strikes.table import STRIKES
from ops.soak.twin import TwinOptions, WholeTwin
from ops.soak.volleys import carry_out
from ops.soak.watch import Sights, Watch, check_peaks, told, unwell_of
from schemas.config import FabricConfig
from schemas.config_by_kind import config_model
from schemas.site_plan import SitePlan
from shared.basics.errors import OperationFailed
from shared.models.plants import plant_of
from shared.runtimes.ports import free_port

STILL_S_MAX = 240.0
"""Time that stands still for so long will not advance again, nor a gateway answer that is silent so long."""
CONVERGE_S_MAX = 180.0
CALM_S = 3.0
"""How long every process must have run after the last fault."""
PODS = 4
SETTINGS = (
    *("pod.cubes=16", "failures.host_per_day=0.05"),
    *(f"scheduler.{name}={value}" for name, value in POLICIES.items()),
)
"""Pods that are small and busy, with every policy of the scheduler: more happens to them in an hour."""
OPERATORS, COMMISSIONER = "operators", "commissioner"
PATIENCE_S = (1.0, 4.0, 9.0)
"""How long operators wait for an answer, in turn: for many a request that is not long enough."""

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Soak:
    """What is run: faults for `minutes`, from `site_files` or so many `pods` with these `settings`; `joins`
    fabrics join meanwhile. After a volley the twin has to live again within `live_s_max`."""

    minutes: float
    pods: int = PODS
    site_files: tuple[Path, ...] = ()
    joins: int = 2
    faults: int = 60
    seed: int = 0
    speed: float = 3_000.0
    settings: tuple[str, ...] = SETTINGS
    strikes: tuple[Strike, ...] = STRIKES
    live_s_max: float = 60.0

    @property
    def twin(self) -> TwinOptions:
        """What the twin is made of. InvalidInput where a site's file is not what it should be."""
        options = TwinOptions(
            pods=self.pods,
            site_files=self.site_files,
            seed=self.seed,
            speed=self.speed,
            settings=self.settings,
            sequencers=2,
            gateways=2,
            people=(OPERATORS, COMMISSIONER, *FLOODERS),
            joining=tuple(SETTINGS_BY_KIND)[: self.joins],
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
    watch: Watch
    scene: Scene
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
            self._check_processes()
            still_s = self.meter.still_s()
            self.longest_stand_s = max(self.longest_stand_s, still_s)
            for client in self.clients:
                if client.surprise is not None:
                    raise Deviated(f"an operator got an answer that none should get: {client.surprise}")
            if still_s > STILL_S_MAX:
                raise Deviated(f"time stands still since {still_s:.0f} s: {self.twin.words()}")
            if any(one.is_over(STILL_S_MAX) for one in self.meter.waiting()):
                raise Deviated(f"it does not live again for {STILL_S_MAX:.0f} s: {self.twin.words()}")
            left_s = until_s - time.monotonic()
            if left_s <= 0:
                return
            time.sleep(min(0.2, left_s))

    def _check_processes(self) -> None:
        """Deviated if one that ran said that its use is wrong; OperationFailed if one cannot be started."""
        try:
            self.twin.supervisor.check()
        except OperationFailed as error:
            if refused_for_good(self.twin.supervisor.exits()):
                raise Deviated(f"a process was given up: {error}: {self.twin.words()}") from None
            raise

    def problems(self) -> list[str]:
        """What was found on the way, without the proof."""
        supervisor, scene = self.twin.supervisor, self.scene
        return [
            *check_live(self.meter.struck, self.soak.live_s_max),
            *scene.problems,
            *check_exits(supervisor.exits(), scene.sent),
            *check_logs(self.twin.folder),
            *self.watch.problems,
            *check_peaks(self.watch.peaks),
        ]


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
        plan = plan_faults(soak.seed, soak.strikes, twin.targets(), soak.faults)
        carry_out(plan, 60 * soak.minutes, run.scene, run.meter, run.wait, say)
        converge(run)
    except Deviated as error:
        problem = str(error)
    finally:
        for client in run.clients:
            client.give_up()
        run.watch.stop()
        run.meter.stop()
    wall_s = time.monotonic() - run.began_s
    if problem is not None:
        return report_of(run, wall_s, [problem, *run.problems()], requests=None, log=None, audit=None)
    say("all requests are accepted, all processes run, the clock is paused; comparing")
    return compare(run, wall_s)


def _begin(soak: Soak, twin: WholeTwin, say: Say) -> _Run:
    """With everybody at work who looks and who asks."""
    sites = twin.options.sites
    turns = {plan.site: threading.Lock() for plan in sites}
    operators: list[Operator] = []

    def hire(fabric: str, config: FabricConfig, site: str) -> Operator:
        posts = twin.posts(OPERATORS, PATIENCE_S[len(operators) % len(PATIENCE_S)])
        operators.append(Operator(wishes_of(soak.seed, fabric, config), posts, turns[site]))
        return operators[-1]

    def welcome(join: Join) -> None:
        say(f"{join.fabric}, a {join.kind}, has joined {join.site}")
        config = config_model(join.kind).model_validate_json(json.dumps(join.settings))
        hire(join.fabric, config, join.site).start()

    def farewell(join: Join) -> None:
        say(f"{join.fabric} is to retire")
        (operator,) = [one for one in operators if one.fabric == join.fabric]
        operator.stop()
        operator.join()

    for plan in sites:
        for fabric, config in plan.fabrics.items():
            hire(fabric, config, plan.site)
    joins = plan_joins(soak.seed, sites, soak.joins, 60 * soak.minutes)
    posts = twin.posts(COMMISSIONER)
    meter = Meter(Probe(twin.ticks, lambda: answered(twin, operators)))
    sights = Sights(
        urls=twin.probed,
        gateways=twin.gateways,
        pids=twin.supervisor.pids,
        still_s=meter.still_s,
        blind_s=soak.live_s_max,
        now_us=twin.furthest_us,
        speed=soak.speed,
        told=told,
    )
    run = _Run(
        soak=soak,
        twin=twin,
        sites=sites,
        meter=meter,
        watch=Watch(sights),
        scene=Scene(twin),
        operators=operators,
        commissioner=Commissioner(soak.seed, joins, posts, welcome, farewell),
        say=say,
    )
    run.meter.start()
    run.watch.start()
    for client in run.clients:
        client.start()
    return run


def answered(twin: WholeTwin, clients: Sequence[Client]) -> dict[str, float]:
    """Gateway → when the newest request was first sent that was answered there; 0 if none was."""
    return {
        gateway: max((client.answered.get(gateway, 0.0) for client in clients), default=0.0)
        for gateway in twin.gateways
    }


def wishes_of(seed: int, fabric: str, config: FabricConfig) -> Wishes:
    """What the operator of a pod of any kind may wish for."""
    return Wishes(seed, fabric, plant_of(config.kind, config.hardware))


def converge(run: _Run) -> None:
    """Wait until every process runs, all fabrics have joined and every fabric's time advances, every request
    begun is accepted, and the clock is paused with nothing left to read; Deviated if that takes too long."""
    run.wait(CALM_S)
    until_s = time.monotonic() + CONVERGE_S_MAX
    while run.meter.waiting() or None in run.twin.supervisor.pids().values():
        _within(until_s, run, "processes do not come back")
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
    while unwell := unwell_of(run.twin.probed(), told):
        _within(until_s, run, f"not all say that they are well: {unwell}")


def _standing(run: _Run) -> list[str]:
    """Fabrics that have joined and whose time has not advanced since."""
    ticks = run.twin.ticks()
    gone = {one.fabric for one in run.commissioner.retired}
    joined = [one.join.fabric for one in run.commissioner.joined]
    return [fabric for fabric in joined if fabric not in gone and ticks.get(fabric, 0) < TICKS]


def _within(until_s: float, run: _Run, problem: str) -> None:
    if time.monotonic() > until_s:
        raise Deviated(f"{problem} after {CONVERGE_S_MAX:.0f} s: {run.twin.words()}")
    run.wait(0.2)


def _paused(twin: WholeTwin) -> bool:
    try:
        return bool(twin.send("POST", "/v1/clock/pause")["paused"])
    except (OSError, ValueError, http.client.HTTPException):
        return False


# --- the proof ----------------------------------------------------------------------------------------------


def compare(run: _Run, wall_s: float) -> dict[str, Any]:
    """The report of a soak to its end: everything that must hold, and what was counted on the way."""
    twin = run.twin
    book = book_of(run.operators, run.commissioner, run.scene.floods)
    log = (twin.kafka.brokers, twin.topics.log)
    facts = gather(read_log(*log), log_ends(*log))
    begun_with = {fabric: plan.site for plan in run.sites for fabric in plan.fabrics}
    problems = [*run.problems(), *check_all(book, facts, stand_of(twin))]
    received = {key: at_s for flooder in run.scene.floods for key, at_s in flooder.received.items()}
    forgot_s = [struck.at_s for struck in run.meter.struck if struck.fault.strike.forgets]
    problems += [*check_received(received, forgot_s, facts)]
    problems += [*check_beginnings(book, facts, begun_with), *check_ends(book, facts)]
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
        "retired": reports.retired_rows(run.commissioner.retired),
        "speed": run.soak.speed,
        "wall_s": round(wall_s, 1),
        "longest_stand_s": round(run.longest_stand_s, 1),
        "live": summary(struck),
        "ends": reports.restart_counts(run.twin.supervisor.exits()),
        "resources": reports.resource_rows(run.watch.peaks),
        "missed": run.scene.missed,
        "versions": reports.versions(_redis_version(run.twin.redis.url)),
        "faults": reports.fault_rows(struck, run.began_s),
        "folder": None,
        **proof,
    }


def _redis_version(url: str) -> str:
    try:
        with redis.Redis.from_url(url) as client:
            about: Any = client.info("server")  # the client's types speak for its asynchronous form as well
    except redis.RedisError:
        return "does not answer"  # the soak ended while it was struck
    return str(about["redis_version"])
