"""Injected faults, for tests."""

from collections.abc import Sequence

from ops.lab.run_inputs import RunInputs, timed_requests
from schemas.files.site_plan import SitePlan
from shared.engine.site_driver import LabRequest


def injected(texts: Sequence[str], sites: Sequence[SitePlan], days: float) -> tuple[LabRequest, ...]:
    """Return the requests of `--inject` options in a run of `days` days."""
    return timed_requests(RunInputs(inject=tuple(texts)), sites, days)[0]
