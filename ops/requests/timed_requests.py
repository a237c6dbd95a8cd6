"""What is asked of a copy of a site that is driven on from a moment."""

from collections.abc import Sequence
from dataclasses import dataclass

from schemas.body import Body
from schemas.messages.operator import RekeyDraws
from shared.engine.site import Site
from shared.runtimes.lab import LabRequest


@dataclass(frozen=True, slots=True)
class TimedRequest:
    """What somebody would ask of a fabric, so long after the moment."""

    after_us: int
    fabric: str
    body: Body


def live_fabrics(site: Site) -> list[str]:
    """The fabrics of a site that have not retired."""
    return [fabric for fabric in site.fabrics if not site.has_retired(fabric)]


def lab_requests(
    site: Site, from_us: int, requests: Sequence[TimedRequest], salt: int | None
) -> list[LabRequest]:
    """In order of time; with a salt draws are rekeyed at the moment itself, before anything else happens."""
    bodies: list[tuple[int, str, Body]] = []
    if salt is not None:
        bodies += [(from_us, fabric, RekeyDraws(salt=salt)) for fabric in live_fabrics(site)]
    ordered = sorted(requests, key=lambda request: request.after_us)
    bodies += [(from_us + request.after_us, request.fabric, request.body) for request in ordered]
    first = site.last_request + 1
    return [LabRequest(*body, number) for number, body in enumerate(bodies, first)]
