"""Forecasts as background jobs of a process that also serves a gateway.

One forecast runs at a time, in worker processes of the lowest priority, so that neither the twin nor the
gateway has to wait for it. Forecasts are kept in memory: they end with the process.
"""

import logging
import os
import threading
import uuid
from collections import OrderedDict
from dataclasses import dataclass, field
from functools import partial

from schemas.api.forecast import (
    ForecastOrder,
    ForecastReport,
    ForecastResult,
    ForecastStatus,
    ForecastSummary,
    FuturePair,
    InevitabilityOrder,
    InevitabilityResult,
)
from services.fabric_kinds import register_in_worker, rows_for_workers
from services.forecasts.forecast import ForecastCase, run_forecast, run_pair
from services.forecasts.inevitability import find_inevitability
from shared.basics.errors import InvalidInput, LightwaveError, NotFound, OperationFailed, RateLimited
from shared.basics.spelling import truncated
from shared.basics.units import US_PER_DAY
from shared.runtimes.process_pool import WorkerPool

WAITING_MAX = 4
"""Maximum number of forecasts that wait for the one that runs."""
KEPT_MAX = 8
"""Number of finished forecasts that are kept; the oldest is dropped first."""
RETRY_AFTER_S = 10
STOP_S_MAX = 10.0
"""How long to wait for the workers when the process stops."""
Order = ForecastOrder | InevitabilityOrder
UNFINISHED: frozenset[ForecastStatus] = frozenset({"queued", "running"})

log = logging.getLogger("lightwave.forecast")


@dataclass(slots=True)
class _Job:
    """A forecast and its progress."""

    id: str
    order: Order
    status: ForecastStatus = "queued"
    done: int = 0
    error: str | None = None
    result: ForecastResult | None = None
    single: FuturePair | None = None
    inevitability: InevitabilityResult | None = None
    workers: WorkerPool | None = field(default=None, repr=False)

    def report(self) -> ForecastReport:
        order = self.order
        return ForecastReport(
            id=self.id,
            status=self.status,
            requested_by=order.requested_by,
            site=order.site,
            at_us=order.from_us,
            days=order.days,
            changes=order.changes,
            futures=order.futures,
            futures_done=self.done,
            error=self.error,
            result=self.result,
            single=self.single,
            inevitability=self.inevitability,
        )

    def summary(self) -> ForecastSummary:
        report = self.report()
        return ForecastSummary.model_construct(
            **{name: getattr(report, name) for name in ForecastSummary.model_fields}
        )


class ForecastJobs:
    """Runs forecasts one after the other. Safe to use from several threads."""

    def __init__(self, cores: int | None = None) -> None:
        """`cores` is the maximum number of worker processes; by default, the number of cores."""
        self._cores = cores or os.cpu_count() or 1
        self._jobs: OrderedDict[str, _Job] = OrderedDict()
        self._changed = threading.Condition()
        self._closed = False
        self._thread: threading.Thread | None = None

    def start(self, order: Order) -> ForecastReport:
        """Queue a forecast, unless one with the same idempotency key is kept: that one is returned. Raise
        InvalidInput if the key was used for another request, RateLimited if too many wait, and
        OperationFailed if the process is shutting down."""
        with self._changed:
            if (first := self._first_of(order)) is not None:
                return first.report()
            if self._closed:
                raise OperationFailed("forecasts: the gateway is shutting down; retry when it runs again")
            waiting = sum(job.status in UNFINISHED for job in self._jobs.values())
            if waiting > WAITING_MAX:
                raise RateLimited(
                    f"forecasts: {waiting} are queued or running, and no more may be; try again later, or "
                    "cancel one with DELETE /v1/forecasts/ID",
                    RETRY_AFTER_S,
                )
            word = "forecast" if isinstance(order, ForecastOrder) else "inevitable"
            job = _Job(f"{word}-{uuid.uuid4().hex[:12]}", order)
            self._jobs[job.id] = job
            self._drop_old()
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="forecasts", daemon=True)
                self._thread.start()
            self._changed.notify_all()
            return job.report()

    def list(self) -> tuple[ForecastSummary, ...]:
        """The forecasts that are kept, oldest first."""
        with self._changed:
            return tuple([job.summary() for job in self._jobs.values()])

    def report(self, name: str) -> ForecastReport:
        """A forecast with its result; raise NotFound if there is none of this name."""
        with self._changed:
            return self._job(name).report()

    def remove(self, name: str) -> ForecastReport:
        """Cancel a forecast that has not finished, or forget one that has; the report is the last one. Raise
        NotFound if there is none of this name.

        A cancelled forecast is kept, so that a client that waits for its end learns why it ended."""
        with self._changed:
            job = self._job(name)
            if job.status in UNFINISHED:
                self._cancel(job)
                self._drop_old()
            elif job.status != "cancelled":
                del self._jobs[name]
            return job.report()

    def close(self) -> None:
        """Cancel all forecasts and wait until their workers have ended."""
        with self._changed:
            self._closed = True
            for job in self._jobs.values():
                self._cancel(job)
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join(STOP_S_MAX)

    def _first_of(self, order: Order) -> _Job | None:
        """The forecast that was started with the same idempotency key."""
        for job in self._jobs.values():
            if order.key is not None and (job.order.key, job.order.requested_by) == (
                order.key,
                order.requested_by,
            ):
                if job.order.request != order.request:
                    raise InvalidInput(
                        f"Idempotency-Key {truncated(order.key)!r}: was used for another forecast; "
                        "must be new"
                    )
                return job
        return None

    def _job(self, name: str) -> _Job:
        job = self._jobs.get(name)
        if job is None:
            raise NotFound(
                f"forecast {truncated(repr(name))}: no such forecast; the last {KEPT_MAX} finished forecasts "
                "of a gateway are kept until it stops"
            )
        return job

    def _cancel(self, job: _Job) -> None:
        if job.status in UNFINISHED:
            job.status = "cancelled"
            if job.workers is not None:
                job.workers.stop()

    def _drop_old(self) -> None:
        finished = [name for name, job in self._jobs.items() if job.status not in UNFINISHED]
        for name in finished[:-KEPT_MAX]:
            del self._jobs[name]

    def _run(self) -> None:
        while (job := self._next()) is not None:
            try:
                self._forecast(job)
            except InvalidInput as error:
                self._finish(job, "refused", str(error))
            except LightwaveError as error:
                self._finish(job, "failed", str(error))
            except Exception as error:
                if job.status == "running":  # a pool that was stopped raises, too
                    log.exception("%s failed", job.id)
                self._finish(job, "failed", f"internal error: {type(error).__name__}; see the gateway's log")

    def _next(self) -> _Job | None:
        """Wait for the next queued forecast; None when closed."""
        with self._changed:
            while not self._closed:
                for job in self._jobs.values():
                    if job.status == "queued":
                        job.status = "running"
                        return job
                self._changed.wait()
        return None

    def _forecast(self, job: _Job) -> None:
        order = job.order
        count = min(order.request.workers or self._cores, self._cores, order.futures)
        prepare = partial(register_in_worker, rows_for_workers())
        with WorkerPool(count, __name__, in_background=True, option="workers", prepare=prepare) as workers:
            with self._changed:
                job.workers = workers
                if job.status != "running":
                    return
            if isinstance(order, ForecastOrder):
                self._forecast_changes(job, order, workers)
            else:
                found = find_inevitability(
                    order.event,
                    order.starts(),
                    order.request.futures,
                    order.until_us,
                    workers,
                    lambda done: self._progress(job, done),
                )
                self._finish(job, "done", inevitability=found)

    def _forecast_changes(self, job: _Job, order: ForecastOrder, workers: WorkerPool) -> None:
        request = order.request
        case = ForecastCase(order.snapshot(), order.from_us, round(request.days * US_PER_DAY), order.requests)
        if request.is_single:
            salt = None if request.own_draws else request.future
            (pair,) = workers.each(partial(run_pair, case, events=True), [salt])
            self._finish(job, "done", single=pair)
        else:
            found = run_forecast(case, request.count, workers, lambda done: self._progress(job, done))
            self._finish(job, "done", result=found)

    def _progress(self, job: _Job, done: int) -> None:
        with self._changed:
            job.done = done

    def _finish(
        self,
        job: _Job,
        status: ForecastStatus,
        error: str | None = None,
        *,
        result: ForecastResult | None = None,
        single: FuturePair | None = None,
        inevitability: InevitabilityResult | None = None,
    ) -> None:
        """Set the outcome of a forecast, unless it was cancelled meanwhile."""
        with self._changed:
            job.workers = None
            if job.status == "running":
                job.status, job.error = status, error
                job.result, job.single, job.inevitability = result, single, inevitability
                job.done = job.order.futures if status == "done" else job.done
                self._drop_old()
