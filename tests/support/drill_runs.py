"""Drills on living twins: a plan with long phases, and what must be true of the log afterwards."""

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from schemas.drill_plan import (
    PHASES,
    Allowance,
    DrillPlan,
    PlannedLimit,
    PlannedProbe,
    PlannedStep,
    PlannedTarget,
)
from schemas.envelope import Envelope
from schemas.messages.drills import (
    DrillBegun,
    DrillEnded,
    DrillOrder,
    DrillPhaseBegun,
    DrillStepEnded,
    DrillTargetsDrawn,
    ProbeChanged,
)
from schemas.messages.failures import FaultBegan, FaultEnded, ParametersChanged
from schemas.messages.sequencer import FabricCommissioned
from schemas.registry import decode
from services.fabric_kinds import services_of
from services.gateway.explain.chaos_journal import chaos_journal
from services.gateway.explain.drill_journal import drill_journal
from shared.basics.json_types import JsonObject
from shared.basics.units import US_PER_MIN
from shared.engine.site_driver import LabRequest
from shared.runtimes.lab import Lab

SETTINGS = ("pod.cubes=8", "failures.enabled=false")
"""A pod in which only drills break something."""
STEPS = ("fail", "drain", "rate", "pause")
ORDERS = (
    ("fail", "InjectFault", False),
    ("fail", "InjectFault", False),
    ("drain", "DrainCube", False),
    ("rate", "SetParameters", False),
    ("rate", "SetParameters", True),
    ("drain", "UndrainCube", True),
    ("fail", "ClearFault", True),
    ("fail", "ClearFault", True),
)
"""(step, type of request, whether it is an undo) of each order, in order."""


def lasting_drill(phase_us: int, fabric: str = "pod-0") -> DrillPlan:
    """A drill whose phases other than the undo last `phase_us`. Two OCSes that are drawn stay down until the
    undo, so the settle phase is never over early; a cube is drained, and a failure rate changes."""
    request: dict[str, Any] = {"what": "request", "fabric": fabric}
    return DrillPlan(
        title="Two OCSes fail until the undo",
        document_sha256="0" * 64,
        probe_every_us=max(1_000_000, phase_us // 20),
        targets=(
            PlannedTarget(name="ocs", kind="ocs", fabric=fabric, where=("state=up",), choose=2),
            PlannedTarget(name="cube", kind="cubes", fabric=fabric, where=("health=healthy",), choose=1),
        ),
        probes=(PlannedProbe(name="all-up", condition="count(ocs, state != up) == 0"),),
        allowances=tuple(
            Allowance(probe="all-up", phase=phase, for_us=10 * phase_us) for phase in PHASES[1:]
        ),
        steps=(
            PlannedStep(
                name="fail",
                verb="inject",
                template='{"kind": "ocs", "target": "{ocs}"}',
                each="ocs",
                **request,
            ),
            PlannedStep(name="drain", verb="drain", template='{"cube": "{cube}"}', each="cube", **request),
            PlannedStep(
                name="rate",
                verb="set",
                template='{"settings": [{"name": "failures.host_per_day", "value": 0.5}]}',
                **request,
            ),
            PlannedStep(name="pause", what="wait", for_us=phase_us),
        ),
        limits=(PlannedLimit(what="faults", at_most=2), PlannedLimit(what="ocs", at_most=3)),
        gate_us=phase_us,
        settle_us=phase_us,
        verify_us=phase_us,
        lease_us=max(24 * 60 * US_PER_MIN, 10 * phase_us),
    )


def check_drill(log: Sequence[Envelope], drill: str) -> None:
    """Every phase and step of a drill came once and in order, and its faults ended within its lease."""
    bodies: dict[type, list[Any]] = {}
    orders: dict[str, DrillOrder] = {}
    for message in log:
        if vars(message.body).get("drill") == drill:
            bodies.setdefault(type(message.body), []).append(message.body)
        if isinstance(message.body, DrillOrder) and message.body.drill == drill:
            orders[message.id] = message.body
    (begun,), (ended,) = bodies[DrillBegun], bodies[DrillEnded]
    assert (ended.status, ended.left) == ("completed", ())
    assert [one.phase for one in bodies[DrillPhaseBegun]] == list(PHASES)
    assert len(bodies[DrillTargetsDrawn]) == 1
    steps = [(one.step, one.repeat, one.outcome) for one in bodies[DrillStepEnded]]
    assert steps == [(name, 1, "done") for name in STEPS]
    assert [(one.step, one.request_type, one.is_undo) for one in orders.values()] == list(ORDERS)
    faults = [one.fault for one in bodies[FaultBegan]]
    over = Counter(
        one.body.fault
        for one in log
        if isinstance(one.body, FaultEnded) and one.at_us <= begun.lease_ends_us and one.body.fault in faults
    )
    assert len(faults) == 2
    assert over == Counter(faults)
    rate, back = (
        one.body.changes for one in log if isinstance(one.body, ParametersChanged) and one.cause in orders
    )
    assert (rate[0].was, rate[0].value) == (back[0].value, back[0].was)


def check_lab(lines: Sequence[bytes], drills: Sequence[str]) -> list[bytes]:
    """The lab, with the same requests at the same times, writes the same log: byte for byte up to the end of
    the last drill. So the drills' journals are the same. Returns the lab's lines, at least to that end."""
    log = [decode(line) for line in lines]
    first = log[0].body
    assert isinstance(first, FabricCommissioned)
    requests = [
        LabRequest(one.at_us, one.fabric, one.body, one.seq)
        for one in log
        if one.source.startswith("operator@")
    ]
    written: list[bytes] = []
    fabrics = {log[0].fabric: first.config}
    lab = Lab(first.site, fabrics, services_of, lambda data: written.extend(data.splitlines()))
    ends = [place for place, one in enumerate(log) if isinstance(one.body, DrillEnded)]
    assert len(ends) == len(drills)
    lab.run(log[ends[-1]].at_us, requests)
    count = ends[-1] + 1
    for place, (found, expected) in enumerate(zip(lines[:count], written[:count], strict=True)):
        assert found == expected, f"line {place}"
    for drill in drills:
        assert journal(lines, drill) == journal(written, drill)
    return written


def journal(lines: Sequence[bytes], drill: str, software: str = "1.0") -> JsonObject:
    """The journal of a drill by the log of its site, as the gateway of that version of the software shows
    it."""
    return chaos_journal(drill_journal(enumerate(map(decode, lines)), drill, software))


def check_counts(log: Sequence[Envelope], drill: str, get: Callable[[str], Sequence[Any]], rows: str) -> int:
    """What the drill's counts of resources compared is the number of rows that the gateway shows as they were
    before that Tick. `rows` is the query for them; returns the number of comparisons."""
    before = {message.id: last.id for last, message in pairwise(log)}
    compared = 0
    for message in log:
        body = message.body
        if not isinstance(body, ProbeChanged) or body.drill != drill:
            continue
        shown = len(get(f"{rows}&at={before[message.cause or '']}"))
        assert body.compared == (f"count={shown}",), message.id
        compared += 1
    return compared
