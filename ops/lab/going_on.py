"""A run of the lab that goes on from what a living twin's sites held at a moment."""

from collections.abc import Sequence
from dataclasses import replace

from ops.common.asks import living_in
from ops.lab.injections import injections
from ops.lab.run import RunPlan
from schemas.config import FabricConfig
from schemas.site_plan import SitePlan
from services.failures.state import FailuresState
from services.fleet import services_of
from shared.basics.errors import OperationFailed
from shared.engine.site import Site
from shared.storage.snapshots.site_snapshot import SiteSnapshot


def going_on(held: Sequence[SiteSnapshot], days: float, warmup_days: float, inject: Sequence[str]) -> RunPlan:
    """A run of so many days of every site in which a fabric lives, with those that do and the configuration
    by which they go by then; faults to inject count from its beginning. OperationFailed where there is
    none."""
    plans, begins, number = [], [], 0
    for snapshot in held:
        site = snapshot.restored(services_of)
        living = {fabric: _present(site, fabric) for fabric in living_in(site)}
        if living:
            plans.append(SitePlan(site=snapshot.site, fabrics=living))
            begins.append(snapshot)
            number = max(number, site.last_request)
    if not begins:
        raise OperationFailed("--from: no fabric lives there any more; nothing is to come")
    plan = RunPlan(tuple(plans), days, warmup_days, begins=tuple(begins))
    span_days, first = warmup_days + days, number + 1
    asked = injections(inject, plans, span_days, since_us=plan.since_us, number=first)
    return replace(plan, requests=asked)


def _present(site: Site, fabric: str) -> FabricConfig:
    state = site.instance(fabric, "failures").state
    if not isinstance(state, FailuresState):
        raise TypeError(f"{fabric} has no failures")
    return state.present
