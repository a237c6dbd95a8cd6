"""Plan a lab run that continues from the states of a twin's sites at a given time."""

from collections.abc import Sequence
from dataclasses import replace

from ops.lab.recorded_faults import RecordedFaults
from ops.lab.run import RunPlan
from ops.lab.run_inputs import RunInputs, timed_requests
from schemas.config.pods import FabricConfig
from schemas.files.site_plan import SitePlan
from services.fabric_kinds import services_of
from services.failures.state import FailuresState
from services.what_if.run_copy import live_fabrics
from shared.basics.errors import OperationFailed
from shared.engine.site import Site
from shared.storage.snapshots.site_snapshot import SiteSnapshot


def plan_from_snapshots(
    snapshots: Sequence[SiteSnapshot], days: float, warmup_days: float, inputs: RunInputs
) -> tuple[RunPlan, RecordedFaults | None]:
    """Return the plan of a run that continues every site with a living fabric for a number of days, and the
    counts of its file of faults.

    The fabrics have the configuration that applies at that time, and the times of `inputs` count from the
    start of the run. Raises OperationFailed if every fabric is retired.
    """
    plans, start_snapshots, number = [], [], 0
    for snapshot in snapshots:
        site = snapshot.restored(services_of)
        configs = {fabric: _present_config(site, fabric) for fabric in live_fabrics(site)}
        if configs:
            plans.append(SitePlan(site=snapshot.site, fabrics=configs))
            start_snapshots.append(snapshot)
            number = max(number, site.last_request)
    if not start_snapshots:
        raise OperationFailed("--from: every fabric of that twin is retired; nothing can run")
    plan = RunPlan(tuple(plans), days, warmup_days, start_snapshots=tuple(start_snapshots))
    span_days, first = warmup_days + days, number + 1
    requests, recorded = timed_requests(inputs, plans, span_days, since_us=plan.since_us, number=first)
    return replace(plan, requests=requests), recorded


def _present_config(site: Site, fabric: str) -> FabricConfig:
    state = site.instance(fabric, "failures").state
    if not isinstance(state, FailuresState):
        raise TypeError(f"{fabric} has no failures")
    return state.current_config
