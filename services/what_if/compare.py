"""Predicts the effect of requests: runs two copies of a site, one with the requests and one without, and
compares them.

The copies run as every runtime runs a site. So the prediction comes true unless another request arrives in
the meantime. What both copies have in common, such as other arrivals and future faults, is left out.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import get_args

from schemas.api.whatif import EffectReason, JobEffect, SliceEffect, SwapEffect, TrafficEffect
from schemas.envelope import Envelope
from schemas.messages.jobs import JobFailed
from schemas.messages.scheduler import (
    ConnectCircuits,
    CubeSwapped,
    SliceAdmitted,
    SliceDegraded,
    SliceNoticed,
    SliceRecovering,
    SliceRestored,
)
from schemas.names import number_of
from schemas.request_metadata import RequestBody
from services.jobs.state import JobsState
from services.scheduler.state import SchedulerState
from services.scheduler.structures.slice_record import Slice
from services.what_if.job_speeds import (
    SpeedSample,
    job_effects,
    sample_speeds,
    slices_by_job,
    traffic_effects,
)
from services.what_if.run_copy import Observer, drive, live_requests
from shared.basics.errors import OperationFailed
from shared.basics.units import US_PER_S
from shared.engine.site import Site
from shared.models.jobs.goodput_categories import CATEGORIES
from shared.models.jobs.job_progress import progress_at
from shared.models.superpod.shapes import shape_text
from shared.models.superpod.wiring import FACE_LINKS, STRANDS

TRY_AGAIN = "the twin is busy: try again"
SHORTER = "use a smaller within_s, or try again"
CIRCUITS_OF_A_JOIN = FACE_LINKS * STRANDS


@dataclass(frozen=True, slots=True)
class DrivenSite:
    """A copy of a site after a run."""

    site: Site
    log: tuple[Envelope, ...]
    """The messages of the run."""
    requested: tuple[Envelope, ...]
    """The requests of the query, as messages."""
    speed_samples: tuple[SpeedSample, ...]
    """Speeds of multislice jobs and loads of networks, at the start and after each change."""

    def caused(self) -> list[Envelope]:
        """The messages that the requests caused, without the requests themselves."""
        caused_ids = {request.id for request in self.requested}
        caused: list[Envelope] = []
        for message in self.log:
            if message.cause in caused_ids:
                caused_ids.add(message.id)
                caused.append(message)
        return caused


class EffectRecord:
    """Records the log of a run and the speeds of its jobs and networks."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self.log: list[Envelope] = []
        self.speed_samples = [sample_speeds(site)]

    def see(self, cascade: Sequence[Envelope]) -> None:
        """Take the messages of a cascade."""
        self.log += cascade
        now, last = sample_speeds(self._site), self.speed_samples[-1]
        if (now.jobs, now.traffic) != (last.jobs, last.traffic):
            self.speed_samples.append(now)


def drive_now(
    site: Site,
    fabric: str,
    requested: Sequence[RequestBody],
    clock_us: int,
    until_us: int,
    is_over: Callable[[], bool],
    observers: Sequence[Observer] = (),
    *,
    advice: str = TRY_AGAIN,
) -> DrivenSite:
    """Send these requests to a site at the clock's time and run it until `until_us`; the site is changed.

    Raise OperationFailed, which ends with the `advice`, if the deadline passes first.
    """
    record = EffectRecord(site)
    requests = live_requests(site, clock_us, fabric, requested)
    if is_over() or not drive(site, requests, until_us, (record, *observers), is_over):
        raise _timed_out(site, clock_us, until_us, advice)
    roots = [message for message in record.log if message.cause is None]
    made = tuple([root for root in roots if any(root.body is body for body in requested)])
    return DrivenSite(site, tuple(record.log), made, tuple(record.speed_samples))


def _timed_out(site: Site, clock_us: int, until_us: int, advice: str) -> OperationFailed:
    """The error when the deadline of a query has passed. A site that lags behind its clock first has to catch
    up. A query about the present simulates no time after the clock's."""
    left_s, simulated_s = (until_us - clock_us) // US_PER_S, max(0, site.now_us - clock_us) // US_PER_S
    progress = f" after {simulated_s} of {left_s} simulated seconds" if left_s else ""
    return OperationFailed(f"{site.name}: the query timed out{progress}; {advice}")


class WhatIfComparison:
    """Compares two futures of a site: `done` with the requests, `left` without them."""

    def __init__(self, fabric: str, done: DrivenSite, left: DrivenSite, until_us: int) -> None:
        self._fabric = fabric
        self._done, self._left, self._until_us = done, left, until_us
        self.caused = done.caused()
        self._ids = {message.id for message in self.caused}
        self._messages = _by_slice(done.log, fabric), _by_slice(left.log, fabric)
        self._rows = _scheduler(done, fabric), _scheduler(left, fabric)

    def slices(self) -> tuple[SliceEffect, ...]:
        """The slices that are in both futures and differ, by reason, then number. Filler that only one future
        requests is left out."""
        done, left = self._messages
        now_at, without_at = self._rows
        names = [
            name for name in done.keys() | left.keys() if _messages_of(done, name) != _messages_of(left, name)
        ]
        rows = [
            self._slice(name, now, without)
            for name in names
            if (now := _row(now_at, number_of(name))) is not None
            and (without := _row(without_at, number_of(name))) is not None
        ]
        reasons = get_args(EffectReason)
        return tuple(sorted(rows, key=lambda row: (reasons.index(row.reason), number_of(row.slice))))

    def jobs(self) -> tuple[JobEffect, ...]:
        """The multislice jobs that run in both futures and differ in speed at some time."""
        done, left = (slices_by_job(future.site) for future in (self._done, self._left))
        return job_effects(
            self._done.speed_samples,
            self._left.speed_samples,
            {job: left[job] for job in left if job in done},
            self._until_us,
        )

    def traffic(self) -> tuple[TrafficEffect, ...]:
        """The networks whose traffic differs."""
        return traffic_effects(self._done.speed_samples, self._left.speed_samples, self._until_us)

    def _slice(self, name: str, now: Slice, without: Slice) -> SliceEffect:
        done, left = (messages.get(name, []) for messages in self._messages)
        bodies = [message.body for message in done]
        choices = [body for body in bodies if isinstance(body, SliceRecovering) and body.choice is not None]
        swaps = [body for body in bodies if isinstance(body, CubeSwapped)]
        return SliceEffect(
            slice=name,
            owner=now.owner,
            tier=now.tier,
            shape=shape_text(now.shape),
            chips=now.chips,
            reason=self._reason(name, _placed_us(done), _placed_us(left)),
            choice=choices[-1].choice if choices else None,
            costs_chip_us=choices[-1].costs_chip_us if choices else None,
            swaps=tuple([self._swap(body) for body in swaps]),
            circuits_made=circuits_made([message for message in done if message.id in self._ids]),
            placed_us=_placed_us(done),
            placed_without_us=_placed_us(left),
            ends_as=now.state,
            ends_as_without=without.state,
            chip_us=self._chip_us(now.number),
        )

    def _reason(self, name: str, placed_us: int | None, without_us: int | None) -> EffectReason:
        """Why a slice differs: by the first message caused by the requests that is about it, else by when it
        gets cubes."""
        for message in self.caused:
            body = message.body
            if getattr(body, "slice", None) != name:
                continue
            if isinstance(body, SliceNoticed):
                return "preempted" if body.why == "preempted" else "moves"
            if isinstance(body, CubeSwapped) and body.reason != "failed":
                return "moves"
            if isinstance(body, SliceRecovering | SliceDegraded | JobFailed):
                return "hit"
            if isinstance(body, SliceRestored):
                return "comes_back"
        if placed_us == without_us:
            return "other_changes"
        if placed_us is None or (without_us is not None and without_us < placed_us):
            return "waits_longer"
        return "starts_sooner"

    def _swap(self, body: CubeSwapped) -> SwapEffect:
        left, spare = (f"{self._fabric}/cube-{cube}" for cube in (body.left, body.spare))
        return SwapEffect(left=left, spare=spare, reason=body.reason)

    def _chip_us(self, number: int) -> dict[str, int]:
        """By use, the additional chip-time of the slice's job at the end, in chip-microseconds; zero
        differences are left out."""
        done, left = (self._used(future, number) for future in (self._done, self._left))
        return {
            category: done[category] - left[category]
            for category in CATEGORIES
            if done[category] != left[category]
        }

    def _used(self, future: DrivenSite, number: int) -> dict[str, int]:
        state = future.site.instance(self._fabric, "jobs").state
        if not isinstance(state, JobsState):
            raise TypeError(f"state of jobs of {self._fabric}: must be JobsState, is {type(state).__name__}")
        job = state.jobs.get(number) or state.ended.get(number)
        if job is None:
            return dict.fromkeys(CATEGORIES, 0)
        return progress_at(job.progress, self._until_us).usage.times(job.chips).by_category()


def circuits_made(log: Iterable[Envelope]) -> int:
    """The number of circuits that are commanded."""
    joins = sum([len(message.body.joins) for message in log if isinstance(message.body, ConnectCircuits)])
    return CIRCUITS_OF_A_JOIN * joins


def _by_slice(log: Iterable[Envelope], fabric: str) -> dict[str, list[Envelope]]:
    by_slice: dict[str, list[Envelope]] = {}
    for message in log:
        name = getattr(message.body, "slice", None)
        if name is not None and message.fabric == fabric:
            by_slice.setdefault(name, []).append(message)
    return by_slice


def _messages_of(messages: dict[str, list[Envelope]], name: str) -> list[tuple[int, object]]:
    return [(message.at_us, message.body) for message in messages.get(name, [])]


def _placed_us(log: Iterable[Envelope]) -> int | None:
    """When a slice last got cubes."""
    return max([message.at_us for message in log if isinstance(message.body, SliceAdmitted)], default=None)


def _scheduler(future: DrivenSite, fabric: str) -> SchedulerState | None:
    """The scheduler's state; None for a network, which has no scheduler."""
    if not any(i.fabric == fabric and i.service.name == "scheduler" for i in future.site.instances):
        return None
    state = future.site.instance(fabric, "scheduler").state
    if not isinstance(state, SchedulerState):
        raise TypeError(f"state of scheduler of {fabric}: must be SchedulerState, is {type(state).__name__}")
    return state


def _row(state: SchedulerState | None, number: int) -> Slice | None:
    if state is None:
        return None
    return state.slices.get(number) or state.ended.get(number)
