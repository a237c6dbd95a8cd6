"""The log of a small drill, written by hand: an OCS fails for 30 minutes and one probe deviates."""

from collections.abc import Iterator

from schemas.body import Body
from schemas.drill_plan import Allowance, DrillPlan, PlannedLimit, PlannedProbe, PlannedStep, PlannedTarget
from schemas.envelope import Envelope, enclose
from schemas.messages.drill_requests import RunDrill
from schemas.messages.drills import (
    DrawnTarget,
    DrillBegun,
    DrillDeviated,
    DrillEnded,
    DrillOrder,
    DrillPhaseBegun,
    DrillStepEnded,
    DrillStopped,
    DrillTargetsDrawn,
    ProbeChanged,
)
from schemas.messages.failures import FaultBegan, FaultEnded, FaultRefused
from schemas.messages.operator import ClearFault, InjectFault
from schemas.messages.sequencer import Tick

MINUTE_US = 60_000_000
DRILL = "pod-0/drill-0"
PLAN = DrillPlan.model_validate(
    {
        "title": "An OCS dies",
        "document_sha256": "a" * 64,
        "tags": ("ocs",),
        "probe_every_us": MINUTE_US,
        "targets": (PlannedTarget(name="ocs", kind="ocs", fabric="pod-0"),),
        "probes": (
            PlannedProbe(name="none-degraded", condition="count(slices, state == degraded) == 0"),
            PlannedProbe(name="up", condition="ocs.{ocs}.state == up", each="ocs"),
        ),
        "allowances": (Allowance(probe="up", phase="method", for_us=45 * MINUTE_US),),
        "steps": (
            PlannedStep(name="the-switch-dies", what="request", verb="inject", fabric="pod-0"),
            PlannedStep(name="ten-minutes", what="wait", for_us=10 * MINUTE_US),
        ),
        "limits": (PlannedLimit(what="faults", at_most=1), PlannedLimit(what="ocs", at_most=1)),
        "gate_us": 10 * MINUTE_US,
        "settle_us": 0,
        "verify_us": 0,
        "lease_us": 240 * MINUTE_US,
    }
)


class LogWriter:
    """Writes messages of one site, each with the next sequence number."""

    def __init__(self) -> None:
        self.messages: list[Envelope] = []

    def add(self, minute: int, body: Body, cause: str | None = None, source: str = "drills@pod-0") -> str:
        """Append a message; its id."""
        message = enclose(
            body,
            fabric="pod-0",
            at_us=minute * MINUTE_US,
            cause=cause,
            source=source,
            seq=len(self.messages),
        )
        self.messages.append(message)
        return message.id

    def numbered(self) -> Iterator[tuple[int, Envelope]]:
        return iter(enumerate(self.messages, 100))


def begun(log: LogWriter) -> None:
    """Start the drill, with a gate that passes."""
    run = RunDrill(plan=PLAN, seed=7, asked_by="alice", comment="May drill")
    request = log.add(60, run, source="operator@pod-0")
    log.add(
        60,
        DrillBegun(
            drill=DRILL,
            title=PLAN.title,
            document_sha256=PLAN.document_sha256,
            seed=7,
            lease_ends_us=300 * MINUTE_US,
        ),
        request,
    )
    drawn = (DrawnTarget(target="ocs", names=("pod-0/ocs-17",)),)
    log.add(60, DrillTargetsDrawn(drill=DRILL, targets=drawn))
    log.add(60, DrillPhaseBegun(drill=DRILL, phase="gate"))
    probe(log, 60, "gate", "none-degraded", "passed")
    probe(log, 60, "gate", "up", "passed")


def probe(log: LogWriter, minute: int, phase: str, name: str, verdict: str) -> None:
    target = "pod-0/ocs-17" if name == "up" else None
    values = ("count=0",) if verdict == "passed" else ("count=<3>",)
    changed = {"drill": DRILL, "phase": phase, "probe": name, "target": target, "verdict": verdict}
    log.add(minute, ProbeChanged.model_validate({**changed, "compared": values}))


def deviated_drill() -> LogWriter:
    """A drill that completed although `none-degraded` was violated for five minutes during the method."""
    log = LogWriter()
    begun(log)
    log.add(70, DrillPhaseBegun(drill=DRILL, phase="method"))
    probe(log, 70, "method", "none-degraded", "passed")
    order = log.add(70, _order(InjectFault(kind="ocs", target="pod-0/ocs-17", duration_us=30 * MINUTE_US)))
    log.add(70, _began(), order, source="failures@pod-0")
    log.add(70, DrillStepEnded(drill=DRILL, step="the-switch-dies", repeat=1, outcome="done"))
    log.add(71, Tick(service="drills", due_us=71 * MINUTE_US, count=1), source="sequencer@pod-0")
    probe(log, 71, "method", "none-degraded", "violated")
    probe(log, 71, "method", "up", "violated")
    log.add(
        71,
        DrillDeviated(drill=DRILL, phase="method", probe="none-degraded", violated_us=0, allowed_us=0),
    )
    probe(log, 76, "method", "none-degraded", "passed")
    log.add(80, DrillStepEnded(drill=DRILL, step="ten-minutes", repeat=1, outcome="done"))
    log.add(80, DrillPhaseBegun(drill=DRILL, phase="undo"))
    clear = log.add(80, _order(ClearFault(fault="pod-0/fault-3"), is_undo=True))
    log.add(80, _ended(), clear, source="failures@pod-0")
    log.add(80, DrillPhaseBegun(drill=DRILL, phase="verify"))
    probe(log, 81, "verify", "none-degraded", "passed")
    log.add(90, DrillEnded(drill=DRILL, status="completed", deviated=True))
    return log


def closed_gate() -> LogWriter:
    """A drill whose gate is not passed."""
    log = LogWriter()
    begun(log)
    probe(log, 65, "gate", "none-degraded", "violated")
    log.add(65, DrillStopped(drill=DRILL, cause="gate", reason="none-degraded is violated"))
    ended = DrillEnded(drill=DRILL, status="cancelled", deviated=False, reason="none-degraded is violated")
    log.add(65, ended)
    return log


def refused_step() -> LogWriter:
    """A drill whose first step is refused."""
    log = LogWriter()
    begun(log)
    log.add(70, DrillPhaseBegun(drill=DRILL, phase="method"))
    order = log.add(70, _order(InjectFault(kind="ocs", target="pod-0/ocs-99")))
    why = "no such part"
    log.add(70, FaultRefused(subject="pod-0/ocs-99", reason=why), order, source="failures@pod-0")
    step = DrillStepEnded(drill=DRILL, step="the-switch-dies", repeat=1, outcome="refused", reason=why)
    log.add(70, step)
    log.add(70, DrillStopped(drill=DRILL, cause="step", reason=why))
    log.add(70, DrillEnded(drill=DRILL, status="failed", deviated=False, reason=why))
    return log


def _order(request: InjectFault | ClearFault, *, is_undo: bool = False) -> DrillOrder:
    return DrillOrder(
        drill=DRILL,
        step="the-switch-dies",
        fabric="pod-0",
        request_type=type(request).__name__,
        request=request,
        lease_ends_us=300 * MINUTE_US,
        is_undo=is_undo,
    )


def _began() -> FaultBegan:
    return FaultBegan.model_validate(
        {
            "fault": "pod-0/fault-3",
            "kind": "ocs",
            "target": "pod-0/ocs-17",
            "injected": True,
            "severity": None,
            "expires_us": 100 * MINUTE_US,
        }
    )


def _ended() -> FaultEnded:
    return FaultEnded(fault="pod-0/fault-3", kind="ocs", target="pod-0/ocs-17", how="cleared")
