"""One site in the lab, run step by step, with reports on its fabrics between any two steps."""

from collections.abc import Callable, Iterable
from typing import Any

import orjson

from ops.lab.availability_time import MESSAGE_PREFIXES, AvailabilityTime
from ops.lab.log_lines import message_type_of
from ops.lab.network_report import network_report
from ops.lab.pod_report import report_between
from schemas.config.pods import AnyPodConfig
from schemas.files.site_plan import SitePlan
from services.fleet import services_of
from services.service_names import kinds_with
from services.totals.network_totals import NetworkTotals, network_totals
from services.totals.pod_totals import ChipTimeReader, PodTotals, pod_totals
from services.totals.slice_waits import SliceWaits
from shared.engine.cascades import LabRequest
from shared.engine.service import AnyService
from shared.runtimes.lab import Lab, Sink
from shared.storage.snapshots.site_snapshot import SiteSnapshot

SiteTotals = dict[str, PodTotals | NetworkTotals]
"""Counters of each pod and network of a site at one time; other fabrics have none."""
NETWORKS = kinds_with("traffic")
"""Kinds of fabrics with traffic."""
UNTIL_COMMISSIONED = -1
SLICES = b"Slic"


class SiteRun:
    """A site that has come to `at_us`, warm-up included, of whose waits those count that began after
    `warmup_us`. Its log goes to `sink` as well, where one is given. Where only some of the `services` of its
    fabrics run, nothing can be asked but `standing` and `waits`. Where it goes on from what a site held
    (`begin`), all times count from that twin's beginning, and there is no `standing`."""

    def __init__(
        self,
        plan: SitePlan,
        warmup_us: int = 0,
        sink: Sink | None = None,
        services: Callable[[str], tuple[AnyService, ...]] = services_of,
        start_snapshot: SiteSnapshot | None = None,
    ) -> None:
        self.plan = plan
        self.at_us = UNTIL_COMMISSIONED if start_snapshot is None else start_snapshot.at_us - 1
        self.waits = SliceWaits(warmup_us or UNTIL_COMMISSIONED)
        pods = {name: c.pod for name, c in plan.fabrics.items() if isinstance(c, AnyPodConfig)}
        self.availability_time = {
            name: AvailabilityTime(pod.cubes, warmup_us)
            for name, pod in pods.items()
            if start_snapshot is None
        }
        self.pods = list(pods)
        self._sink = sink
        self.lab = (
            Lab(plan.site, plan.fabrics, services, self._read_lines)
            if start_snapshot is None
            else Lab.resume(start_snapshot.restored(services), self._read_lines)
        )
        self._books = {pod: ChipTimeReader(self.lab.site, pod) for pod in self.pods}

    def _read_lines(self, lines: bytes) -> None:
        for line in lines.splitlines():
            word = message_type_of(line)[:4]
            if word == SLICES:
                message = orjson.loads(line)
                self.waits.see(message["type"], message["fabric"], message["at_us"], message["body"])
            elif word in MESSAGE_PREFIXES:
                message = orjson.loads(line)
                if (of := self.availability_time.get(message["fabric"])) is not None:
                    of.see(message)
        if self._sink is not None:
            self._sink(lines)

    def run(
        self, until_us: int, requests: Iterable[LabRequest] = (), stop: Callable[[], bool] | None = None
    ) -> bool:
        """Run up to a time, with the requests that are due until then; False if it was stopped earlier."""
        due_requests = [one for one in requests if self.at_us < one.at_us <= until_us]
        whole = self.lab.run(until_us, due_requests, stop)
        self.at_us = until_us if whole else self.lab.site.now_us
        return whole

    def read_totals(self, *, whole: bool = True, links: bool = False) -> SiteTotals:
        """The totals of every fabric up to now. Reading the current state of `links` takes long. Unless `whole`
        is true, slices that ended before the last reading are left out: their use cannot have changed."""
        site, at_us = self.lab.site, self.at_us
        return {
            fabric: pod_totals(site, fabric, at_us, links=links, books=None if whole else self._books[fabric])
            if fabric in self._books
            else network_totals(site, fabric, at_us)
            for fabric, config in self.plan.fabrics.items()
            if fabric in self._books or config.kind in NETWORKS
        }

    def row(self, fabric: str, since: SiteTotals, end: SiteTotals) -> dict[str, Any]:
        """The report of a fabric between two times; from its commissioning if `since` does not have it."""
        now, before = end.get(fabric), since.get(fabric)
        found: dict[str, Any] = {"kind": self.plan.fabrics[fabric].kind}
        if now is None:
            return found
        if isinstance(now, NetworkTotals):
            return found | network_report(fabric, now, before if isinstance(before, NetworkTotals) else None)
        return found | report_between(fabric, now, before if isinstance(before, PodTotals) else None)

    def counted(self, fabric: str) -> dict[str, Any]:
        """Statistics of a whole run only: waits of single slices, and availability of cubes."""
        found: dict[str, Any] = {
            "lengths": self.waits.lengths(fabric, self.at_us),
            "jobs": self.waits.disrupted(fabric),
        }
        if fabric in self.availability_time:
            found["availability_time"] = self.availability_time[fabric].spans(self.at_us)
        return found
