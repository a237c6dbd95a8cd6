"""Drives a site through simulated time as fast as possible: the rule that labs and what-if queries share."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from schemas.body import Body
from schemas.envelope import Envelope
from schemas.messages.sequencer import Tick
from shared.engine.message_order import Request
from shared.engine.site import Site
from shared.engine.state import IgnoredDocumentKeys


@dataclass(frozen=True, slots=True)
class LabRequest:
    """An operator's request for a fabric, at a simulated time; `number` rises along the requests of a
    site."""

    at_us: int
    fabric: str
    body: Body
    number: int
    is_live: bool = False
    """Whether it has the timing of a request to a running twin whose clock shows `at_us`: if the site lags
    behind the clock, it comes before the Ticks that the site has not taken yet."""


def stop_tracking_documents(site: Site) -> None:
    """Track no changed status documents; use this where no caller reads them, as in a lab."""
    for instance in site.instances:
        if instance.state is not None:
            instance.state.changed_documents = IgnoredDocumentKeys()


def cascades(site: Site, until_us: int, requests: Iterable[LabRequest] = ()) -> Iterator[list[Envelope]]:
    """Advance a quiet site up to and including `until_us`; yield every root with all its effects.

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
