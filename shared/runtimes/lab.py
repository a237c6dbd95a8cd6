"""The lab: one site's services in simulated time, in memory, as fast as possible.

Services, dispatch and order are the same as in every other runtime. Only the clock is simulated, and nothing
is committed.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from schemas.body import Body
from schemas.config.pods import FabricConfig
from schemas.envelope import Envelope
from schemas.messages.sequencer import FabricCommissioned, Tick
from schemas.names import fabric_order
from schemas.registry import encode
from shared.engine.roots import Request, commissioning_message
from shared.engine.site import ServicesOf, Site
from shared.engine.state import IgnoredDocumentKeys

Sink = Callable[[bytes], None]
"""Receives complete lines of the log, with their newlines."""
Stop = Callable[[], bool]
"""Returns whether a run shall stop."""


@dataclass(frozen=True, slots=True)
class LabRequest:
    """An operator's request for a fabric, at a simulated time; `number` rises along the requests of a
    site."""

    at_us: int
    fabric: str
    body: Body
    number: int
    is_live: bool = False
    """Whether it comes as it would to a running twin whose clock shows `at_us`: if the site lags behind the
    clock, before the Ticks that the site has not taken yet."""


class Lab:
    """One site in simulated time. It starts with these fabrics, or continues from an existing site
    (`resume`). Counts and hashes its log, and passes it to `sink`."""

    def __init__(
        self,
        site: str,
        fabrics: Mapping[str, FabricConfig],
        services_of: ServicesOf,
        sink: Sink | None = None,
    ) -> None:
        self.site = Site(site, services_of)
        self.messages = 0
        self._sha256 = hashlib.sha256()
        self._sink = sink
        for fabric in sorted(fabrics, key=fabric_order):
            commissioned = FabricCommissioned(site=site, config=fabrics[fabric])
            self._take(self.site.cascade(commissioning_message(fabric, commissioned)))

    @classmethod
    def resume(cls, site: Site, sink: Sink | None = None) -> Self:
        """Continue from a quiet site, which belongs to the lab from now on."""
        lab = cls(site.name, {}, lambda _kind: (), sink)
        lab.site = site
        stop_tracking_documents(site)
        return lab

    @property
    def log_sha256(self) -> str:
        """SHA-256 of all lines of the log so far, with their newlines."""
        return self._sha256.hexdigest()

    def run(self, until_us: int, requests: Iterable[LabRequest] = (), stop: Stop | None = None) -> bool:
        """Advance time up to and including `until_us`, as `cascades` does. Calls `stop` after each cascade;
        False if it returned True."""
        for cascade in cascades(self.site, until_us, requests):
            self._take(cascade)
            if stop is not None and stop():
                return False
        return True

    def _take(self, cascade: Sequence[Envelope]) -> None:
        if isinstance(cascade[0].body, FabricCommissioned):
            stop_tracking_documents(self.site)
        self.messages += len(cascade)
        lines = b"".join([encode(message) + b"\n" for message in cascade])
        self._sha256.update(lines)
        if self._sink is not None:
            self._sink(lines)


def stop_tracking_documents(site: Site) -> None:
    """Track no changed status documents; use this where no caller reads them, as in a lab."""
    for instance in site.instances:
        if instance.state is not None:
            instance.state.changed_documents = IgnoredDocumentKeys()


def cascades(site: Site, until_us: int, requests: Iterable[LabRequest] = ()) -> Iterator[list[Envelope]]:
    """Advance a quiet site up to and including `until_us`; yields every root with all that follows from it.

    A request at time T comes before the Ticks of T; several requests at T keep their order. A request whose
    time has passed comes right after the last message. Requests to retired fabrics are dropped.
    """
    waiting = iter(requests)
    upcoming = next(waiting, None)
    while True:
        request, clock_us = None, until_us
        if (
            upcoming is not None
            and upcoming.at_us <= until_us
            and (upcoming.is_live or not _is_due_before(site, upcoming.at_us))
        ):
            request, clock_us = Request(upcoming.number, upcoming.fabric, upcoming.body), upcoming.at_us
        if request is not None and site.is_too_late(request):
            upcoming = next(waiting, None)
            continue
        root = site.next_root(request, clock_us=clock_us)
        if root is None:
            return
        if request is not None and not isinstance(root.body, Tick):
            upcoming = next(waiting, None)
        yield site.cascade(root)


def _is_due_before(site: Site, at_us: int) -> bool:
    due = site.earliest()
    return due is not None and due.due_us is not None and due.due_us < at_us
