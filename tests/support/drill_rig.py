"""Drills on plain values: a site with few services, a reader whose answers a test chooses, short plans."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from schemas.body import Body
from schemas.config.failures import FailuresConfig
from schemas.config.pods import PodConfig, SuperpodConfig
from schemas.drill_plan import Allowance, DrillPlan, PlannedLimit, PlannedProbe, PlannedStep, PlannedTarget
from schemas.envelope import Envelope
from schemas.messages.drill_requests import RunDrill
from schemas.messages.sequencer import FabricCommissioned
from schemas.site_readings import CountReading, SiteQuery, SiteReading
from services.cubes.service import SERVICE as CUBES
from services.drills.documents import document
from services.drills.service import SERVICE as DRILLS
from services.drills.state import DrillsState
from services.failures.service import SERVICE as FAILURES
from services.failures.state import FailuresState
from services.workload.service import SERVICE as WORKLOAD
from shared.engine.message_order import commissioning_message
from shared.engine.site import Site
from shared.engine.site_driver import LabRequest, cascades

MINUTE = 60_000_000
CONFIG = SuperpodConfig(seed=7, pod=PodConfig(cubes=4), failures=FailuresConfig(enabled=False))
Answer = Callable[[Site, SiteQuery], SiteReading]


def all_is_well(_site: Site, query: SiteQuery) -> SiteReading:
    """Every condition is true, three OCSes match, and nothing is out of use."""
    if query.what == "names":
        return SiteReading(names=("pod-0/ocs-0", "pod-0/ocs-1", "pod-0/ocs-2"))
    if query.what == "impact":
        return SiteReading(counts=(CountReading(what="ocs", count=0),))
    return SiteReading(holds=True, compared=("count=0",))


def faults(site: Site, fabric: str = "pod-0") -> FailuresState:
    """The state of the faults of a fabric."""
    state = site.instance(fabric, "failures").state
    assert isinstance(state, FailuresState)
    return state


def without_faults(site: Site, query: SiteQuery) -> SiteReading:
    """Conditions are true while no fault is active."""
    if query.what == "condition":
        return SiteReading(holds=not any(faults(site, one).active for one in site.fabrics))
    if query.what == "impact":
        active = len(faults(site, query.fabric).active)
        return SiteReading(counts=(CountReading(what="ocs", count=active + len(query.requests)),))
    return all_is_well(site, query)


@dataclass
class DrillRig:
    """A site with drills. `answer` answers each query."""

    answer: Answer = without_faults
    fabrics: tuple[str, ...] = ("pod-0",)
    log: list[Envelope] = field(default_factory=list)
    number: int = 0

    def __post_init__(self) -> None:
        drills = replace(DRILLS, read_site=self._read)
        self.site = Site("pod-0", lambda _kind: (CUBES, drills, FAILURES, WORKLOAD))
        for fabric in self.fabrics:
            body = FabricCommissioned(site="pod-0", config=CONFIG)
            self.log += self.site.cascade(commissioning_message(fabric, body))

    def _read(self, site: Site, queries: Sequence[SiteQuery]) -> tuple[SiteReading, ...]:
        return tuple(self.answer(site, query) for query in queries)

    def run(self, until_us: int, *requests: tuple[int, Body], fabric: str = "pod-0") -> list[Any]:
        """Run with these requests at their times; return the messages, with bodies of any type."""
        start = len(self.log)
        timed = []
        for at_us, body in requests:
            self.number += 1
            timed.append(LabRequest(at_us, fabric, body, self.number))
        for cascade in cascades(self.site, until_us, timed):
            self.log += cascade
        return self.log[start:]

    def drill(self, plan: DrillPlan, until_us: int = 300 * MINUTE, seed: int = 3) -> list[Any]:
        """Run a drill from minute 1 on."""
        return self.run(until_us, (MINUTE, RunDrill(plan=plan, seed=seed)))

    def state(self, fabric: str = "pod-0") -> DrillsState:
        state = self.site.instance(fabric, "drills").state
        assert isinstance(state, DrillsState)
        return state

    def document(self, name: str = "pod-0/drill-0") -> Any:
        return document(self.state(name.partition("/")[0]), ("drills", name))


def inject(
    name: str = "kill", target: str = "pod-0/ocs-1", lasts_us: int | None = None, **fields: Any
) -> PlannedStep:
    """A step that injects the fault of an OCS."""
    duration = "" if lasts_us is None else f', "duration_us": {lasts_us}'
    template = f'{{"kind": "ocs", "target": "{target}"{duration}}}'
    values = {"fabric": target.partition("/")[0], **fields} if not target.startswith("{") else fields
    return PlannedStep(name=name, what="request", verb="inject", template=template, **values)


def wait(minutes: int, name: str = "wait", **fields: Any) -> PlannedStep:
    return PlannedStep(name=name, what="wait", for_us=minutes * MINUTE, **fields)


PROBE = PlannedProbe(name="no-fault", condition="count(faults, state == active) == 0")
METHOD_ALLOWED = Allowance(probe="no-fault", phase="method", for_us=60 * MINUTE)
OCS = PlannedTarget(name="ocs", kind="ocs", fabric="pod-0", choose=1)
LIMIT = PlannedLimit(what="ocs", at_most=1)


def plan(*steps: PlannedStep, **fields: Any) -> DrillPlan:
    """A plan with these steps, a gate of 2 minutes, 5 to settle and 3 to verify, and a lease of 2 hours."""
    values: dict[str, Any] = {
        "title": "test",
        "document_sha256": "0" * 64,
        "probe_every_us": MINUTE,
        "probes": (PROBE,),
        "allowances": (METHOD_ALLOWED,),
        "gate_us": 2 * MINUTE,
        "settle_us": 5 * MINUTE,
        "verify_us": 3 * MINUTE,
        "lease_us": 120 * MINUTE,
    }
    return DrillPlan(steps=steps, **(values | fields))
