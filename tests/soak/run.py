"""Run a soak: a whole twin, faults from one seed, requests throughout, then the checks."""

import contextlib
import http.client
import json
import shlex
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import redis

from ops.servers.local_servers import LocalKafka, LocalRedis
from schemas.config.fabric_configs import config_model
from schemas.config.pods import FabricConfig
from schemas.files.site_plan import SitePlan
from shared.basics.errors import LightwaveError, OperationFailed
from shared.models.fabric_plants import plant_of
from shared.runtimes.tcp_ports import free_port
from tests.soak import soak_report as reports
from tests.soak.checks import (
    check_all,
    check_audited,
    check_commissionings,
    check_exits,
    check_logs,
    check_received,
    check_retirements,
    check_upgraded,
    wrong_usage_exits,
)
from tests.soak.clients import SoakClient
from tests.soak.clock_check import check_clock, clock_changes
from tests.soak.fabric_joins import JOIN_SETTINGS as SETTINGS_BY_KIND
from tests.soak.fabric_joins import POLICIES, Commissioner, PlannedJoin, plan_joins
from tests.soak.fault_bursts import inject_bursts
from tests.soak.fault_plan import FaultAction, plan_faults, with_upgrade
from tests.soak.faults.catalog import FAULT_ACTIONS, UPGRADE
from tests.soak.faults.context import FaultContext, TwinDeviated
from tests.soak.final_state import is_quiet, read_final_state
from tests.soak.historian_check import ComparedAgain, check_historian, read_findings
from tests.soak.log_facts import gather_facts, log_ends, read_log
from tests.soak.operators import FLOODERS, Operator, OperatorScript, client_record
from tests.soak.recovery_meter import (
    TICKS,
    InjectedFault,
    RecoveryMeter,
    RecoveryProbe,
    check_recovery,
    recovery_summary,
)
from tests.soak.twin_monitor import TwinAccess, TwinMonitor, check_peaks, fetch_status, first_unhealthy
from tests.soak.whole_twin import HISTORIAN, FaultTarget, TwinOptions, WholeTwin

STALL_S_MAX = 240.0
"""If time stalls for longer than this, or a gateway does not answer, the twin will not recover."""
CONVERGE_S_MAX = 180.0
HISTORIAN_S_MAX = 300.0
"""Time within which the historian compares every state of a twin at rest, twice."""
CALM_S = 3.0
"""Time that every process must run after the last fault."""
PODS = 4
SOAK_SITES = tuple(Path(__file__).parent / "sites" / name for name in ("campus.yaml", "lone.yaml"))
"""The fabrics of a soak without pods or other sites: superpods, a static pod and a network."""
SETTINGS = (
    *("pod.cubes=16", "failures.host_per_day=0.05"),
    *(f"scheduler.{name}={value}" for name, value in POLICIES.items()),
)
"""Small, busy pods with every scheduler policy, so that more happens in an hour."""
OPERATORS, COMMISSIONER = "operators", "commissioner"
ANSWER_TIMEOUTS_S = (1.0, 4.0, 9.0)
"""Answer timeouts of the operators, in turn. Some are too short for many requests on purpose."""

UNREADABLE = (OSError, ValueError, http.client.HTTPException, LightwaveError)
"""What reading a twin raises while it cannot be read."""

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Soak:
    """Options of a soak: faults for `minutes`, on `site_files` or on `pods` with these `settings`.

    `joins` fabrics join meanwhile, and half-way the twin is upgraded to another version if `upgrade` is True.
    After each burst, and after the upgrade, the twin must recover within `recovery_s_max`."""

    minutes: float
    pods: int = PODS
    site_files: tuple[Path, ...] = ()
    joins: int = 2
    faults: int = 60
    seed: int = 0
    speed: float = 3_000.0
    settings: tuple[str, ...] = SETTINGS
    fault_actions: tuple[FaultAction, ...] = FAULT_ACTIONS
    recovery_s_max: float = 60.0
    upgrade: bool = True

    @property
    def twin(self) -> TwinOptions:
        """Options of the twin. InvalidInput if a site file is invalid."""
        options = TwinOptions(
            pods=self.pods,
            site_files=self.site_files,
            seed=self.seed,
            speed=self.speed,
            settings=self.settings,
            sequencers=2,
            gateways=2,
            historian=True,
            people=(OPERATORS, COMMISSIONER, *FLOODERS),
            joining=tuple(SETTINGS_BY_KIND)[: self.joins],
        )
        return replace(options, partitions=len(options.sites))

    @property
    def repeat(self) -> str:
        """The command that repeats the soak."""
        return (
            f"python -m tests.soak --minutes {self.minutes:g} {self._sites_of_repeat}"
            f"--joins {self.joins} --faults {self.faults} --seed {self.seed} --speed {self.speed:g}"
            f"{'' if self.upgrade else ' --no-upgrade'}"
        )

    @property
    def _sites_of_repeat(self) -> str:
        """The options that define the sites, with a blank behind them; empty for the default sites."""
        if self.site_files == SOAK_SITES:
            return ""
        of_files = [word for file in self.site_files for word in ("--site", str(file))]
        return shlex.join(of_files or ["--pods", str(self.pods)]) + " "


@dataclass(slots=True)
class _SoakRun:
    """State of a running soak."""

    soak: Soak
    twin: WholeTwin
    sites: Sequence[SitePlan]
    meter: RecoveryMeter
    watch: TwinMonitor
    context: FaultContext
    operators: list[Operator]
    commissioner: Commissioner
    say: Say
    longest_stall_s: float = 0.0
    began_s: float = field(default_factory=time.monotonic)

    @property
    def clients(self) -> list[SoakClient]:
        return [self.commissioner, *self.operators]

    def wait(self, seconds: float) -> None:
        """Wait, and check meanwhile that the twin makes progress; TwinDeviated if it does not."""
        until_s = time.monotonic() + seconds
        while True:
            self._check_processes()
            stalled_s = self.meter.stalled_s()
            self.longest_stall_s = max(self.longest_stall_s, stalled_s)
            for client in self.clients:
                if client.unexpected_answer is not None:
                    raise TwinDeviated(f"an operator got an unexpected answer: {client.unexpected_answer}")
            if stalled_s > STALL_S_MAX:
                raise TwinDeviated(f"time has stalled for {stalled_s:.0f} s: {self.twin.words()}")
            if any(one.is_over(STALL_S_MAX) for one in self.meter.waiting()):
                raise TwinDeviated(f"the twin has not recovered for {STALL_S_MAX:.0f} s: {self.twin.words()}")
            left_s = until_s - time.monotonic()
            if left_s <= 0:
                return
            time.sleep(min(0.2, left_s))

    def _check_processes(self) -> None:
        """TwinDeviated if a process that ran exits with wrong usage; OperationFailed if one cannot be
        started."""
        try:
            self.twin.supervisor.check()
        except OperationFailed as error:
            if wrong_usage_exits(self.twin.supervisor.exits()):
                raise TwinDeviated(f"a process was given up: {error}: {self.twin.words()}") from None
            raise

    def problems(self) -> list[str]:
        """Problems found during the run, without the final checks."""
        supervisor, context = self.twin.supervisor, self.context
        return [
            *check_recovery(self.meter.injected, self.soak.recovery_s_max),
            *context.problems,
            *check_exits(supervisor.exits(), context.sent),
            *check_logs(self.twin.folder),
            *self.watch.problems,
            *check_peaks(self.watch.peaks),
        ]


def run_soak(soak: Soak, say: Say = lambda _: None) -> dict[str, Any]:
    """Run a soak; the report's `verdict` is `clean` if every check passed, else `deviated`.

    OperationFailed if the soak itself failed, which says nothing about the twin. Every process that it
    started has stopped when it returns or raises. Its folder is kept only after a problem.
    """
    folder = Path(tempfile.mkdtemp(prefix="lightwave-soak-"))
    try:
        with _twin(soak, folder) as twin:
            say(f"the twin runs at {twin.url}; logs are in {folder}")
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
    run = _start_run(soak, twin, say)
    problem: str | None = None
    try:
        plan = plan_faults(soak.seed, soak.fault_actions, twin.targets(), soak.faults)
        if soak.upgrade:
            plan = with_upgrade(plan, UPGRADE, FaultTarget("twin", "twin"))
        inject_bursts(plan, 60 * soak.minutes, run.context, run.meter, run.wait, say)
        converge(run)
    except TwinDeviated as error:
        problem = str(error)
    finally:
        for client in run.clients:
            client.give_up()
        run.watch.stop()
        run.meter.stop()
    wall_s = time.monotonic() - run.began_s
    if problem is not None:
        return report_of(run, wall_s, [problem, *run.problems()], requests=None, log=None, audit=None)
    say("every request is accepted, every process runs, the clock is paused; starting the checks")
    return compare(run, wall_s)


def _start_run(soak: Soak, twin: WholeTwin, say: Say) -> _SoakRun:
    """Start the meter, the monitor and all clients."""
    sites = twin.options.sites
    turns = {plan.site: threading.Lock() for plan in sites}
    operators: list[Operator] = []

    def start_operator(fabric: str, config: FabricConfig, site: str) -> Operator:
        posts = twin.posts(OPERATORS, ANSWER_TIMEOUTS_S[len(operators) % len(ANSWER_TIMEOUTS_S)])
        operators.append(Operator(operator_script(soak.seed, fabric, config), posts, turns[site]))
        return operators[-1]

    def on_joined(join: PlannedJoin) -> None:
        say(f"{join.fabric}, a {join.kind}, has joined {join.site}")
        config = config_model(join.kind).model_validate_json(json.dumps(join.settings))
        start_operator(join.fabric, config, join.site).start()

    def on_retiring(join: PlannedJoin) -> None:
        say(f"{join.fabric} will retire")
        (operator,) = [one for one in operators if one.fabric == join.fabric]
        operator.stop()
        operator.join()

    for plan in sites:
        for fabric, config in plan.fabrics.items():
            start_operator(fabric, config, plan.site)
    joins = plan_joins(soak.seed, sites, soak.joins, 60 * soak.minutes)
    posts = twin.posts(COMMISSIONER)
    meter = RecoveryMeter(RecoveryProbe(twin.fabric_progress, lambda: answered(twin, operators)))
    access = TwinAccess(
        urls=twin.probed,
        gateways=twin.gateways,
        pids=twin.supervisor.pids,
        stalled_s=meter.stalled_s,
        healthy_stall_s_max=soak.recovery_s_max,
        fetch_status=fetch_status,
    )
    run = _SoakRun(
        soak=soak,
        twin=twin,
        sites=sites,
        meter=meter,
        watch=TwinMonitor(access),
        context=FaultContext(twin, expect_stop=meter.expect_stop),
        operators=operators,
        commissioner=Commissioner(soak.seed, joins, posts, on_joined, on_retiring),
        say=say,
    )
    run.meter.start()
    run.watch.start()
    for client in run.clients:
        client.start()
    return run


def answered(twin: WholeTwin, clients: Sequence[SoakClient]) -> dict[str, float]:
    """Gateway → first send time of the newest request that it answered; 0 if none."""
    return {
        gateway: max((client.answered.get(gateway, 0.0) for client in clients), default=0.0)
        for gateway in twin.gateways
    }


def operator_script(seed: int, fabric: str, config: FabricConfig) -> OperatorScript:
    """The requests of a fabric's operator."""
    return OperatorScript(seed, fabric, plant_of(config.kind, config.hardware))


def converge(run: _SoakRun) -> None:
    """Wait until the twin is quiet; TwinDeviated if that takes too long.

    Quiet: every process runs, all fabrics have joined, every fabric's time advances, every open request is
    accepted, and the clock is paused with nothing left to read.
    """
    run.wait(CALM_S)
    until_s = time.monotonic() + CONVERGE_S_MAX
    while run.meter.waiting() or None in run.twin.supervisor.pids().values():
        _wait_or_fail(until_s, run, "processes do not restart")
    run.commissioner.stop()
    while run.commissioner.is_alive():
        _wait_or_fail(until_s, run, "fabrics do not join")
    while still := _stalled_fabrics(run):
        _wait_or_fail(until_s, run, f"joined fabrics do not advance: {', '.join(still)}")
    for operator in run.operators:
        operator.stop()
    while any(operator.is_alive() for operator in run.operators):
        _wait_or_fail(until_s, run, "requests are not accepted")
    while not _pause_clock(run.twin):
        _wait_or_fail(until_s, run, "the clock cannot be paused")
    while not is_quiet(run.twin):
        _wait_or_fail(until_s, run, "services do not reach the end of the log")
    while unwell := first_unhealthy(run.twin.probed(), fetch_status):
        _wait_or_fail(until_s, run, f"not every process is healthy: {unwell}")
    _await_historian(run)


def _await_historian(run: _SoakRun) -> None:
    """Wait until the historian has compared every state of the quiet twin, and is still healthy."""
    until_s = time.monotonic() + HISTORIAN_S_MAX
    compared_again: ComparedAgain | None = None
    while compared_again is None or not _or_false(compared_again):
        if compared_again is None:
            with contextlib.suppress(*UNREADABLE):
                compared_again = ComparedAgain(run.twin)
        _wait_or_fail(until_s, run, "the historian does not compare every state")
    while unwell := first_unhealthy(run.twin.probed(), fetch_status):
        _wait_or_fail(until_s, run, f"the historian has compared every state: {unwell}")


def _or_false(found: Callable[[], bool]) -> bool:
    try:
        return found()
    except UNREADABLE:
        return False


def _stalled_fabrics(run: _SoakRun) -> list[str]:
    """Fabrics that have joined and whose time has not advanced since."""
    ticks = run.twin.ticks()
    gone = {one.fabric for one in run.commissioner.retired}
    joined = [one.join.fabric for one in run.commissioner.joined]
    return [fabric for fabric in joined if fabric not in gone and ticks.get(fabric, 0) < TICKS]


def _wait_or_fail(until_s: float, run: _SoakRun, problem: str) -> None:
    if time.monotonic() > until_s:
        raise TwinDeviated(f"{problem}, although the soak waited long enough: {run.twin.words()}")
    run.wait(0.2)


def _pause_clock(twin: WholeTwin) -> bool:
    try:
        return bool(twin.send("POST", "/v1/clock/pause")["paused"])
    except (OSError, ValueError, http.client.HTTPException):
        return False


# --- the checks ---------------------------------------------------------------------------------------------


def compare(run: _SoakRun, wall_s: float) -> dict[str, Any]:
    """The report of a complete soak: all checks and all counts."""
    twin = run.twin
    book = client_record(run.operators, run.commissioner, run.context.floods)
    log = (twin.kafka.brokers, twin.topics.log)
    facts = gather_facts(read_log(*log), log_ends(*log))
    initial_fabrics = {fabric: plan.site for plan in run.sites for fabric in plan.fabrics}
    problems = [*run.problems(), *check_all(book, facts, read_final_state(twin))]
    received = {key: at_s for flooder in run.context.floods for key, at_s in flooder.received.items()}
    forgot_s = [injected.at_s for injected in run.meter.injected if injected.fault.fault_action.loses_data]
    problems += [*check_received(received, forgot_s, facts)]
    problems += [*check_commissionings(book, facts, initial_fabrics), *check_retirements(book, facts)]
    if facts.unreadable:
        problems.append(f"{facts.unreadable} records of the log cannot be read")
    audit = twin.json("audit", "--live")
    if not audit["clean"]:
        problems.append(f"the audit is not clean: {json.dumps(audit)}")
    problems += check_audited(facts, audit)
    problems += check_upgraded(run.context.upgraded, facts, audit)
    changes = clock_changes(read_log(twin.kafka.brokers, twin.topics.operations))
    problems += check_clock(changes, facts.appended, run.soak.speed)
    return report_of(
        run,
        wall_s,
        problems,
        requests=reports.request_counts(book, facts, sum(one.retries for one in run.clients)),
        log=reports.log_counts(facts),
        audit=audit,
    )


def report_of(run: _SoakRun, wall_s: float, problems: Sequence[str], **proof: Any) -> dict[str, Any]:
    """The report of a soak; the parts in `proof` are None if the twin could not be checked."""
    injected: list[InjectedFault] = run.meter.injected
    findings = read_findings(_log_of(run.twin, HISTORIAN))
    losses = sum(injected_fault.fault.fault_action.loses_data for injected_fault in injected)
    problems = [*problems, *check_historian(findings, losses)]
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
        "longest_stall_s": round(run.longest_stall_s, 1),
        "live": recovery_summary(injected),
        "ends": reports.restart_counts(run.twin.supervisor.exits()),
        "resources": reports.resource_rows(run.watch.peaks),
        "missed": run.context.missed,
        "historian": asdict(findings),
        "upgraded": run.context.upgraded,
        "versions": reports.versions(_redis_version(run.twin.redis.url)),
        "faults": reports.fault_rows(injected, run.began_s),
        "folder": None,
        **proof,
    }


def _log_of(twin: WholeTwin, name: str) -> str:
    """All that a process wrote to its log."""
    path = twin.folder / f"{name}.log"
    return path.read_text(errors="replace") if path.exists() else ""


def _redis_version(url: str) -> str:
    try:
        with redis.Redis.from_url(url) as client:
            about: Any = client.info("server")  # the client's types also cover its asynchronous form
    except redis.RedisError:
        return "does not answer"  # the soak ended during a fault of Redis
    return str(about["redis_version"])
