"""Requests of a run at given times: recorded faults, injected faults and changes of parameters."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from schemas.body import Body
from schemas.config.pods import FabricConfig
from schemas.files.site_plan import SitePlan
from shared.engine.site_driver import LabRequest


@dataclass(frozen=True, slots=True)
class PlannedRequest:
    """A request for a fabric, `at_us` microseconds after the start of a run."""

    at_us: int
    fabric: str
    body: Body


def fabrics_of(sites: Sequence[SitePlan]) -> dict[str, FabricConfig]:
    """Return the fabrics of all sites, by name."""
    return {name: config for plan in sites for name, config in plan.fabrics.items()}


def numbered(
    groups: Iterable[Sequence[PlannedRequest]], *, since_us: int = 0, number: int = 1
) -> tuple[LabRequest, ...]:
    """Return the requests of all groups in order of time, for a run that starts at `since_us`, numbered from
    `number`. Requests at the same time keep the order of the groups."""
    found = sorted((request for group in groups for request in group), key=lambda request: request.at_us)
    return tuple(
        LabRequest(since_us + request.at_us, request.fabric, request.body, n)
        for n, request in enumerate(found, start=number)
    )
