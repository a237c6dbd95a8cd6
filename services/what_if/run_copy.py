"""Runs a copy of a site into the future: the one driver of every what-if query and forecast.

A copy runs as every runtime runs a site. Observers see each cascade: a root message and all that follows from
it.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

from schemas.api.changes import TimedRequest
from schemas.body import Body
from schemas.envelope import Envelope
from schemas.messages.operator import RekeyDraws
from services.failures.state import FailuresState
from shared.engine.site import Site
from shared.engine.site_driver import LabRequest, cascades, stop_tracking_documents
from shared.models.plant.plant_format import Plant


class Observer(Protocol):
    """Records something of a run."""

    def see(self, cascade: Sequence[Envelope]) -> None:
        """Take the messages of a cascade; the site has read them all."""


def drive(
    site: Site,
    requests: Sequence[LabRequest],
    until_us: int,
    observers: Sequence[Observer],
    stop: Callable[[], bool] | None = None,
) -> bool:
    """Run a quiet site with these requests up to and including `until_us`; the site is changed.

    Calls `stop` after each cascade. Returns False if it stopped the run.
    """
    stop_tracking_documents(site)
    for cascade in cascades(site, until_us, requests):
        for observer in observers:
            observer.see(cascade)
        if stop is not None and stop():
            return False
    return True


def live_fabrics(site: Site) -> list[str]:
    """The fabrics of a site that have not retired."""
    return [fabric for fabric in site.fabrics if not site.has_retired(fabric)]


def timed_requests(
    site: Site, from_us: int, requests: Sequence[TimedRequest], salt: int | None
) -> list[LabRequest]:
    """The requests in order of time. With a salt, all random draws are rekeyed at `from_us`, before anything
    else happens."""
    bodies: list[tuple[int, str, Body]] = []
    if salt is not None:
        bodies += [(from_us, fabric, RekeyDraws(salt=salt)) for fabric in live_fabrics(site)]
    ordered = sorted(requests, key=lambda request: request.after_us)
    bodies += [(from_us + request.after_us, request.fabric, request.body) for request in ordered]
    first = site.last_request + 1
    return [LabRequest(*body, number) for number, body in enumerate(bodies, first)]


def live_requests(site: Site, clock_us: int, fabric: str, bodies: Sequence[Body]) -> list[LabRequest]:
    """Requests that a running twin would receive now, while its clock shows `clock_us`."""
    first = site.last_request + 1
    return [
        LabRequest(clock_us, fabric, body, number, is_live=True) for number, body in enumerate(bodies, first)
    ]


def plant_of_fabric(site: Site, fabric: str) -> Plant:
    """The plant of a fabric of a site."""
    return _failures_of(site, fabric).plant


def kind_of_fabric(site: Site, fabric: str) -> str:
    """The kind of a fabric of a site."""
    return _failures_of(site, fabric).current_config.kind


def _failures_of(site: Site, fabric: str) -> FailuresState:
    state = site.instance(fabric, "failures").state
    if not isinstance(state, FailuresState):
        raise TypeError(f"{fabric} has no failures")
    return state
