"""The runner of the lab: runs one site in virtual time, and measures its fabrics between given times.

`lab run`, experiments and the claims of `reproduce` run their sites with it. They pass observers of the
messages, a sink for the log, and a function that is called after each step.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from schemas.envelope import Envelope
from schemas.files.site_plan import SitePlan
from services.fabric_kinds import FABRIC_KINDS, services_of
from services.service_names import kinds_with
from services.totals.fabric_spans import FabricSpan, FabricTotals, fabric_span
from services.totals.network_totals import network_totals
from services.totals.pod_totals import ChipTimeReader, pod_totals
from services.totals.slice_log import PodLog, SliceLogRecorder
from services.what_if.run_copy import Observer
from shared.engine.service import AnyService
from shared.engine.site_driver import LabRequest
from shared.runtimes.lab import Lab, Sink
from shared.storage.snapshots.site_snapshot import SiteSnapshot

SiteTotals = dict[str, FabricTotals]
"""Counters of each pod and network of a site at one time; other fabrics have none."""
UNTIL_COMMISSIONED = -1


@dataclass(frozen=True, slots=True)
class SiteWindow:
    """The activity of each fabric with totals between two times of a run."""

    since_us: int
    until_us: int
    spans: Mapping[str, FabricSpan]


class _Split:
    """What is known of a run at the time at which it is split, and records of what comes after it."""

    def __init__(self, at_us: int, cubes: Mapping[str, int]) -> None:
        self.at_us = at_us
        self.second = SliceLogRecorder(cubes, at_us, waits_since_us=at_us, with_availability=True)
        self.totals: SiteTotals = {}
        self.logs: Mapping[str, PodLog] = {}


class PendingRequests:
    """Requests in order of time that are read one by one as they become due."""

    def __init__(self, requests: Iterable[LabRequest]) -> None:
        self._requests = iter(requests)
        self._next = next(self._requests, None)

    def until(self, until_us: int) -> Iterator[LabRequest]:
        """Yield the remaining requests up to and including this time."""
        while (one := self._next) is not None and one.at_us <= until_us:
            self._next = next(self._requests, None)
            yield one


class SiteRun:
    """A site that has run to `at_us`, including a warm-up.

    `recorder` has the waits that started after `warmup_us`. Unless the run continues from a snapshot, it also
    has the availability of cubes. If only some `services` of the fabrics run, there are no totals and no
    spans. All times count from the site's start, also in a run that continues from a snapshot.
    """

    def __init__(
        self,
        plan: SitePlan,
        warmup_us: int = 0,
        *,
        sink: Sink | None = None,
        observers: Sequence[Observer] = (),
        services: Sequence[str] = (),
        start_snapshot: SiteSnapshot | None = None,
        split_us: int | None = None,
    ) -> None:
        self.plan = plan
        self.at_us = UNTIL_COMMISSIONED if start_snapshot is None else start_snapshot.at_us - 1
        cubes = _cubes_of_pods(plan)
        self.pods = list(cubes)
        self.recorder = SliceLogRecorder(
            cubes,
            warmup_us,
            waits_since_us=warmup_us or UNTIL_COMMISSIONED,
            with_availability=start_snapshot is None,
        )
        self.windows: list[SiteWindow] = []
        self._split = None if split_us is None else _Split(split_us, cubes)
        self._observers = (
            self.recorder,
            *((self._split.second,) if self._split is not None else ()),
            *observers,
        )
        self._has_totals = not services
        chosen = _only(services) if services else services_of
        self.lab = (
            Lab(plan.site, plan.fabrics, chosen, sink, self._observe)
            if start_snapshot is None
            else Lab.resume(start_snapshot.restored(chosen), sink, self._observe)
        )
        self._chip_time_readers = {pod: ChipTimeReader(self.lab.site, pod) for pod in self.pods}
        self._start: SiteTotals = {}
        self._end: SiteTotals | None = None

    def _observe(self, cascade: Sequence[Envelope]) -> None:
        for observer in self._observers:
            observer.see(cascade)

    def run(
        self, until_us: int, requests: Iterable[LabRequest] = (), stop: Callable[[], bool] | None = None
    ) -> bool:
        """Advance to `until_us` with the requests of that time; return False if `stop` ended it earlier."""
        due_requests = (one for one in requests if self.at_us < one.at_us <= until_us)
        finished = self.lab.run(until_us, due_requests, stop)
        self.at_us = until_us if finished else self.lab.site.now_us
        return finished

    def run_windows(
        self,
        bounds_us: Sequence[int],
        requests: Iterable[LabRequest] = (),
        *,
        steps_us: Iterable[int] = (),
        on_step: Callable[[], None] | None = None,
        stop: Callable[[], bool] | None = None,
        links: bool = False,
    ) -> bool:
        """Run through the warm-up, which ends at the first of `bounds_us`, and then through windows, which
        end at the others. Return False if `stop` ended it earlier; the last window is then shorter.

        `requests` are in order of time, and are read while time advances, so there can be any number. Calls
        `on_step` at each of `steps_us` as well. The spans of the whole run have `links` if requested,
        which take long to read.
        """
        first_us, *ends_us = bounds_us
        before: SiteTotals = {}
        since_us = first_us
        mine = PendingRequests(one for one in requests if one.fabric in self.plan.fabrics)
        split_us = () if self._split is None else (self._split.at_us,)
        for until_us in sorted({*bounds_us, *steps_us, *split_us} - {0}):
            finished = self.run(until_us, mine.until(until_us), stop)
            if self.at_us == first_us:
                self._start = before = self.read_totals()
            is_end = not finished or until_us == ends_us[-1]
            if self._split is not None and self.at_us == self._split.at_us:
                self._split.totals = self.read_totals()
                self._split.logs = {pod: self.recorder.log(pod, self.at_us) for pod in self.pods}
            if self.at_us >= first_us and (is_end or until_us in ends_us):
                now = self.read_totals(whole=is_end, links=links and is_end)
                self.windows.append(SiteWindow(since_us, self.at_us, self._spans(before, now)))
                before, since_us = now, self.at_us
                self._end = now if is_end else None
            if on_step is not None:
                on_step()
            if not finished:
                return False
        return True

    def read_totals(self, *, whole: bool = True, links: bool = False) -> SiteTotals:
        """Return the counters of every fabric up to now. With `links`, which take long to read, include its
        links.

        Unless `whole`, slices that ended before the last reading have no separate accounting. They do not
        differ between the two readings.
        """
        if not self._has_totals:
            return {}
        site, at_us, networks = self.lab.site, self.at_us, kinds_with("traffic")
        return {
            fabric: pod_totals(
                site, fabric, at_us, links=links, reader=None if whole else self._chip_time_readers[fabric]
            )
            if fabric in self._chip_time_readers
            else network_totals(site, fabric, at_us)
            for fabric, config in self.plan.fabrics.items()
            if fabric in self._chip_time_readers or config.kind in networks
        }

    def start_totals(self, fabric: str) -> FabricTotals | None:
        """Return the counters of a fabric at the end of the warm-up; None if there was none."""
        return self._start.get(fabric)

    def whole_spans(self) -> dict[str, FabricSpan]:
        """Return the activity of each fabric from the end of the warm-up to the end of the last window,
        including values that only the messages of a whole run contain. Empty if the run ended within its
        warm-up."""
        return {} if self._end is None else self._spans(self._start, self._end, with_log=True)

    def half_spans(self) -> tuple[dict[str, FabricSpan], dict[str, FabricSpan]]:
        """What each fabric did from the end of the warm-up to the split, and from there to the end. Empty
        unless the run was split and has finished."""
        if self._split is None or self._end is None or not self._split.totals:
            return {}, {}
        kinds = {fabric: config.kind for fabric, config in self.plan.fabrics.items()}
        first, second, end = {}, {}, self._end
        for fabric, middle in self._split.totals.items():
            is_pod = fabric in self.pods
            before = self._split.logs[fabric] if is_pod else None
            after = self._split.second.log(fabric, self.at_us) if is_pod else None
            first[fabric] = fabric_span(kinds[fabric], middle, self._start.get(fabric), before)
            second[fabric] = fabric_span(kinds[fabric], end[fabric], middle, after)
        return first, second

    def _spans(self, since: SiteTotals, end: SiteTotals, *, with_log: bool = False) -> dict[str, FabricSpan]:
        fabrics = self.plan.fabrics
        return {
            fabric: fabric_span(
                fabrics[fabric].kind,
                now,
                since.get(fabric),
                self.recorder.log(fabric, self.at_us) if with_log else None,
            )
            for fabric, now in end.items()
        }


def _cubes_of_pods(plan: SitePlan) -> dict[str, int]:
    """The number of cubes of each fabric whose kind places slices on cubes."""
    kinds = {name: FABRIC_KINDS[config.kind] for name, config in plan.fabrics.items()}
    return {
        name: kind.plant(plan.fabrics[name].hardware).population("cube")
        for name, kind in kinds.items()
        if kind.placement is not None
    }


def _only(names: Sequence[str]) -> Callable[[str], tuple[AnyService, ...]]:
    """Return a function that selects the services with these names."""
    return lambda kind: tuple([one for one in services_of(kind) if one.name in names])
