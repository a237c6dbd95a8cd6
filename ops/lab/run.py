"""`lightwave lab run`: run fabrics in virtual time, in one or several worker processes, and report their
results."""

import heapq
import shlex
import shutil
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from types import FrameType

from joblib import Parallel, delayed

from ops.lab.reports import (
    FabricReport,
    GoodputHistory,
    LabReport,
    RecordedCounts,
    SliceDurations,
    goodput_history,
)
from ops.lab.run_inputs import RunInputs
from ops.lab.shared_progress import SharedProgress, open_shared_progress
from ops.lab.site_run import SiteRun
from ops.lab.workload_trace import TraceRest
from ops.local.output_file import real_path
from ops.local.software_version import VERSION
from ops.sites.site_plans import NewTwinOptions, common_seed
from schemas.files.site_plan import SitePlan
from services.totals.pod_totals import PodTotals, chip_time_at
from shared.basics.errors import OperationFailed
from shared.basics.units import US_PER_DAY
from shared.engine.site import Site
from shared.engine.site_driver import LabRequest
from shared.engine.state_codec import encode_instance, state_digest
from shared.models.jobs.goodput_accounting import ChipTime
from shared.runtimes.process_pool import worker_death_reported
from shared.runtimes.stop_signals import STOP_SIGNALS, signals_handled_by
from shared.storage.log.log_lines import LineWriter
from shared.storage.snapshots.site_snapshot import SiteSnapshot

OnProgress = Callable[[float], None]
"""Receives the finished share of the run, 0 to 1."""

STEPS_MIN = 200
STEP_US_MAX = US_PER_DAY
"""A run has at least `STEPS_MIN` steps of at most a simulated day, and reports its progress after each."""


@dataclass(frozen=True, slots=True)
class RunPlan:
    """A run of `days` after a warm-up of `warmup_days`, which reports omit.

    `requests` are numbered across all sites. `trace` has the rows of a long recorded trace that do not fit
    the configurations of the fabrics; every fabric plays them. With `spans`, reports of pods also have
    goodput over time. If each site continues from one of `start_snapshots`, all times count from the latest
    of these.
    """

    sites: tuple[SitePlan, ...]
    days: float
    warmup_days: float = 0.0
    requests: tuple[LabRequest, ...] = ()
    spans: bool = False
    start_snapshots: tuple[SiteSnapshot, ...] = ()
    trace: TraceRest | None = None

    @property
    def since_us(self) -> int:
        return max([start_snapshot.at_us for start_snapshot in self.start_snapshots], default=0)

    @property
    def warmup_us(self) -> int:
        return self.since_us + round(self.warmup_days * US_PER_DAY)

    @property
    def until_us(self) -> int:
        return self.warmup_us + round(self.days * US_PER_DAY)


@dataclass(frozen=True, slots=True)
class SiteResult:
    """The result of one site's run up to `at_us`, with a report per fabric. `whole` is false if it was
    stopped."""

    reports: tuple[FabricReport, ...]
    at_us: int
    whole: bool
    messages: int
    log_sha256: str
    state_sha256: str


def run_lab(
    plan: RunPlan,
    *,
    jobs: int,
    log: Path | None,
    repeat: list[str],
    progress: OnProgress | None = None,
    recorded: RecordedCounts | None = None,
) -> LabReport:
    """Run all sites of a plan and report on their fabrics.

    Fabrics with the same configuration have different draws, because draws depend on the name. `repeat` is
    the command line that repeats the run; `recorded` is for the report.

    The log gets its name when it is complete. Ctrl-C (SIGINT), SIGTERM or SIGHUP stops every site after its
    current cascade. `interrupted` is then true, and the figures cover the part that ran (none within the
    warm-up). The log then ends with that cascade and keeps the name that `partial` gives it.
    """
    started = time.perf_counter()
    sites = plan.sites
    names = [site.site for site in sites]
    parts = [_site_log_path(log, name, len(sites)) for name in names]
    with (
        _parts_removed_on_error(parts),
        worker_death_reported(),
        open_shared_progress(len(sites), progress) as board,
    ):
        with _signals_ignored():
            running = Parallel(n_jobs=min(jobs, len(sites)), return_as="generator")(
                delayed(run_site)(plan, n, part, board) for n, part in enumerate(parts)
            )
        with _stop_on_signal(board) as received:
            results: list[SiteResult] = list(running)
    interrupted = not all(result.whole for result in results)
    if log is not None:
        _join_parts(log, [part for part in parts if part is not None], interrupted=interrupted)
    wall_s = time.perf_counter() - started
    messages = sum(result.messages for result in results)
    counted_us = sum(max(0, r.at_us - plan.warmup_us) * len(r.reports) for r in results)
    return LabReport(
        fabric_days=counted_us / US_PER_DAY,
        warmup_days=plan.warmup_days,
        interrupted=interrupted,
        wall_s=round(wall_s, 3),
        messages=messages,
        messages_per_s=round(messages / wall_s),
        log_sha256=combined_digest(names, [r.log_sha256 for r in results]),
        state_sha256=combined_digest(names, [r.state_sha256 for r in results]),
        seed=common_seed(sites),
        version=VERSION,
        repeat=shlex.join(repeat),
        fabrics=tuple([report for result in results for report in result.reports]),
        stop_signal=received[0] if received else None,
        recorded=recorded or RecordedCounts(),
    )


def run_site(plan: RunPlan, n: int, log: Path | None, board: SharedProgress | None = None) -> SiteResult:
    """Run the nth site of a plan to the end, or until the board stops it after a cascade."""
    site = plan.sites[n]
    writer = LineWriter(log) if log is not None else None
    run = SiteRun(
        site,
        plan.warmup_us,
        sink=None if writer is None else writer.write,
        start_snapshot=plan.start_snapshots[n] if plan.start_snapshots else None,
    )
    chip_times: dict[str, list[ChipTime]] = {pod: [] for pod in run.pods}

    def on_step() -> None:
        if plan.spans and run.at_us >= plan.warmup_us:
            for pod in run.pods:
                chip_times[pod].append(chip_time_at(run.lab.site, pod, run.at_us))
        if board is not None:
            board.publish(n, (run.at_us - plan.since_us) / (plan.until_us - plan.since_us))

    whole = run.run_windows(
        (plan.warmup_us, plan.until_us),
        requests_of_site(plan.requests, site, plan.trace),
        steps_us=_step_times(plan),
        on_step=on_step,
        stop=board.stop_check() if board is not None else None,
        links=True,
    )
    if writer is not None:
        writer.close()
    reports = _reports(run, chip_times) if run.at_us >= plan.warmup_us else ()
    return SiteResult(
        reports, run.at_us, whole, run.lab.messages, run.lab.log_sha256, site_digest(run.lab.site)
    )


def requests_of_site(
    requests: Sequence[LabRequest], site: SitePlan, trace: TraceRest | None
) -> Iterable[LabRequest]:
    """Yield the requests of a run for one site in order of time, including those that extend its recorded
    trace. Trace rows are read as the run advances. All requests are numbered in order."""
    if trace is None:
        return requests
    own = [one for one in requests if one.fabric in site.fabrics]
    rest = [trace.requests(fabric, config) for fabric, config in site.fabrics.items()]
    merged = heapq.merge(own, *rest, key=lambda one: one.at_us)
    return (replace(one, number=number) for number, one in enumerate(merged, 1))


def _reports(run: SiteRun, chip_times: dict[str, list[ChipTime]]) -> tuple[FabricReport, ...]:
    """Return the report of each fabric, from the end of the warm-up until now."""
    spans, waits = run.whole_spans(), run.recorder.waits
    return tuple(
        [
            FabricReport(
                fabric=fabric,
                kind=config.kind,
                site=run.plan.site,
                seed=config.seed,
                span=spans.get(fabric),
                durations=SliceDurations(waits.spans(fabric), waits.report(fabric, run.at_us))
                if fabric in run.pods
                else None,
                history=_history(run, fabric, chip_times.get(fabric, [])),
            )
            for fabric, config in run.plan.fabrics.items()
        ]
    )


def _history(run: SiteRun, fabric: str, chip_times: list[ChipTime]) -> GoodputHistory | None:
    if not chip_times:
        return None
    since = run.start_totals(fabric)
    return goodput_history(chip_times, since if isinstance(since, PodTotals) else None)


def _step_times(plan: RunPlan) -> list[int]:
    """Return the times of the steps in which a run advances."""
    span_us = plan.until_us - plan.since_us
    steps = max(STEPS_MIN, -(-span_us // STEP_US_MAX))
    return [plan.since_us + span_us * step // steps for step in range(1, steps + 1)]


def site_digest(site: Site) -> str:
    """Return the SHA-256 over every stored field of every service's state."""
    return state_digest((instance.source, encode_instance(instance)) for instance in site.instances)


def combined_digest(names: list[str], digests: list[str]) -> str:
    """Return one digest for several sites: a single site's own digest, otherwise SHA-256 over lines `name
    digest`."""
    if len(digests) == 1:
        return digests[0]
    lines = [f"{name} {digest}\n" for name, digest in zip(names, digests, strict=True)]
    return sha256("".join(lines).encode()).hexdigest()


@contextmanager
def _signals_ignored() -> Iterator[None]:
    """Ignore stop signals while worker processes start, so that the workers ignore them for good.

    Ctrl-C in a terminal reaches every process, and so does SIGTERM from `timeout` or a service manager. The
    main process handles them for all workers once they have started.
    """
    with signals_handled_by(signal.SIG_IGN):
        yield


@contextmanager
def _stop_on_signal(board: SharedProgress) -> Iterator[list[int]]:
    """Stop every site after its cascade on the first stop signal, and exit at once on the second. Yields the
    numbers of the received signals."""
    received: list[int] = []
    before = {number: signal.getsignal(number) for number in STOP_SIGNALS}

    def on_signal(number: int, _frame: FrameType | None) -> None:
        board.stop()
        received.append(number)
        signal.signal(number, before[signal.Signals(number)])

    with signals_handled_by(on_signal):
        yield received


def partial_path(log: Path) -> Path:
    """Return the path of a log until it is complete: `month.jsonl.partial.zst` for `month.jsonl.zst`. If the
    log is a symbolic link, it is next to the link's target."""
    log = real_path(log) if log.is_symlink() else log
    return log.with_name(f"{log.stem}.partial{log.suffix}")


def _output_path(log: Path) -> Path:
    """Return the path to write to: a temporary file, or a pipe or device itself."""
    if log.is_dir():
        raise OperationFailed(f"log file {log}: is a folder")
    if not log.parent.is_dir():
        raise OperationFailed(f"log file {log}: no such folder: {log.parent}")
    return log if log.exists() and not log.is_file() else partial_path(log)


def _site_log_path(log: Path | None, name: str, sites: int) -> Path | None:
    """Return the path of one site's log: the path of the whole log if there is one site, otherwise a part
    that keeps the suffix and so the compression."""
    if log is None:
        return None
    output = _output_path(log)
    return output if sites == 1 else output.with_name(f".{output.stem}.{name}{output.suffix}")


@contextmanager
def _parts_removed_on_error(parts: list[Path | None]) -> Iterator[None]:
    """Remove the parts of a log if a run in several processes fails."""
    try:
        yield
    except BaseException:
        for part in parts if len(parts) > 1 else ():
            if part is not None:
                part.unlink(missing_ok=True)
        raise


def _join_parts(log: Path, parts: list[Path], *, interrupted: bool) -> None:
    """Concatenate the sites' parts and give the result its name. Compressed streams can be concatenated."""
    output = _output_path(log)
    try:
        if parts != [output]:
            with output.open("wb") as whole:
                for part in parts:
                    with part.open("rb") as file:
                        shutil.copyfileobj(file, whole)
                    part.unlink()
        if not interrupted and output != log:
            output.replace(real_path(log) if log.is_symlink() else log)
    except OSError as error:
        raise OperationFailed(f"log file {log}: {error.strerror or error}") from None


# The command that repeats a run of the lab.


def repeat_command(
    requested: NewTwinOptions, plan: RunPlan, inputs: RunInputs, from_time: str | None = None
) -> list[str]:
    """Return the command that repeats a run, from any folder. `from_time` is the time from which it
    continues, if any."""
    arguments = ["lightwave", "lab", "run"]
    if from_time is not None:
        arguments += ["--from", from_time]
    for path in requested.site_files:
        arguments += ["--site", str(path.absolute())]
    if not requested.site_files and from_time is None:
        arguments += ["--pods", str(1 if requested.pods is None else requested.pods)]
        arguments += [] if requested.kind is None else ["--kind", requested.kind]
    arguments += ["--days", repr(plan.days).removesuffix(".0")]
    if plan.warmup_days:
        arguments += ["--warmup", repr(plan.warmup_days).removesuffix(".0")]
    set_by_pair = any(pair.partition("=")[0].strip() == "seed" for pair in requested.pairs)
    if from_time is None and (requested.seed is not None or not (requested.site_files or set_by_pair)):
        arguments += ["--seed", str(requested.seed or 0)]
    arguments += [] if requested.calibration is None else ["--calibration", requested.calibration]
    arguments += [word for pair in requested.pairs for word in ("--set", pair)]
    return [*arguments, *inputs.options(), "-o", "json"]
