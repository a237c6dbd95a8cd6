"""Writes the drill document of an incident: the same faults and requests at the same relative times.

Every step is in the background and starts with the method, so its pause is its offset: no step is late
because of an earlier one. A last step waits until the incident is over.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ops.drills.calls import VERBS_MODULE
from ops.drills.incident import Fault, FaultEffect, Incident, OperatorRequest
from ops.report.tables import count_text
from schemas.messages.operator import (
    DrainCube,
    RequestSlice,
    RestartOcs,
    SetParameters,
    TestLink,
    UndrainCube,
)
from schemas.recovery_policy import format_recovery_policy
from schemas.site_readings import SiteQuery, SiteReading
from shared.basics.time_format import format_duration, format_time
from shared.basics.units import US_PER_HOUR, US_PER_MIN, US_PER_S
from shared.models.faults.fault_kinds import FAULTS

LEAD_US = US_PER_S
"""The first step begins this long after the method."""
MARGIN_US = 30 * US_PER_MIN
"""Added to the length of the incident, for what may be violated and for how long."""
DETECTED_US = US_PER_MIN
"""The shortest time within which an effect is expected. Heartbeats and readings are periodic, so another run
can detect the same fault a little later."""
GATE, RECOVERY_US, VERIFY = "5m", US_PER_HOUR, "10m"
GATE_US = 5 * US_PER_MIN
WIDE_KINDS = frozenset({"batch", "block", "bundle", "rack", "control", "power"})
"""Kinds of faults that affect parts other than their target, which does not bound their blast radius."""
COUNTED: Mapping[str, tuple[str, str]] = {
    "slices-degraded": ("slices", "state=degraded"),
    "slices-recovering": ("slices", "state=recovering"),
    "cubes-unhealthy": ("cubes", "health!=healthy"),
    "ocs-not-up": ("ocs", "state!=up"),
}
"""Probe → (kind, the resources that it counts)."""

Node = dict[str, Any]
"""A part of a document."""


def steady_queries(fabric: str) -> tuple[SiteQuery, ...]:
    """What the document must know of the site before the incident, in the order of the probes."""
    return tuple(
        SiteQuery(what="condition", fabric=fabric, text=f"count({kind}, {where}) >= 0")
        for kind, where in COUNTED.values()
    )


def document_of(incident: Incident, before: Sequence[SiteReading]) -> Node:
    """The document. `before` are the answers to `steady_queries` right before the incident; what its kind of
    fabric does not have is not probed."""
    fabric = incident.fabric
    probes = _probes(incident, before)
    span_us = incident.until_us - incident.first_us
    allowed = format_duration(_whole_minutes(span_us + MARGIN_US))
    lease_us = GATE_US + span_us + LEAD_US + RECOVERY_US + US_PER_HOUR
    title = f"Incident of {fabric} at {format_time(incident.first_us)}"
    extension: Node = {
        "name": "lightwave",
        "version": 1,
        "fabric": fabric,
        "before": {"quiet_for": GATE},
        "after": {"recovers_within": format_duration(RECOVERY_US), "holds_for": VERIFY},
        "limits": _limits(incident),
        "ends_within": _hours(lease_us),
    }
    during = {name: {"at_most": allowed} for name in probes if name != "no-slice-evicted"}
    if during:
        extension["during"] = during
    if incident.effects:
        extension["expects"] = [_expected(incident, effect) for effect in incident.effects]
    return {
        "title": title,
        "description": _description(incident),
        "tags": ["lightwave", "from-incident"],
        "configuration": {"fabric": fabric},
        "steady-state-hypothesis": {
            "title": f"{fabric} is as steady as before the incident",
            "probes": list(probes.values()),
        },
        "method": _method(incident, span_us),
        "runtime": {"hypothesis": {"strategy": "continuously"}, "rollbacks": {"strategy": "always"}},
        "extensions": [extension],
    }


def _expected(incident: Incident, effect: FaultEffect) -> Node:
    """The same message must follow the fault within twice the delay of the incident. A drill counts the time
    from the start of its method."""
    offset_us = effect.fault_us - incident.first_us + LEAD_US
    within_us = offset_us + max(2 * effect.delay_us, DETECTED_US)
    return {"type": effect.type, "of": effect.target, "within": _seconds(within_us)}


def _description(incident: Incident) -> str:
    faults = ", ".join(f"{one.body.kind} of {one.body.target}" for one in incident.faults[:20])
    text = f"Made from the log: {count_text(len(incident.faults), 'fault')} ({faults})"
    text += f" and {count_text(len(incident.requests), 'request')} of operators, at the same relative times."
    if incident.left_out:
        names = ", ".join(sorted({type(one.body).__name__ for one in incident.left_out}))
        text += f" Left out, because they name what only that twin had: {len(incident.left_out)} ({names})."
    return text


def _probes(incident: Incident, before: Sequence[SiteReading]) -> dict[str, Node]:
    """Probe by name: at most as many as before the incident."""
    found: dict[str, Node] = {}
    for (name, (kind, where)), reading in zip(COUNTED.items(), before, strict=True):
        if reading.problem is None and reading.compared:
            most = int(reading.compared[0].rpartition("=")[2])
            arguments = {"kind": kind, "where": where, "fabric": "${fabric}"}
            tolerance = {"type": "range", "range": [0, most]}
            found[name] = _activity("probe", name, "count", arguments) | {"tolerance": tolerance}
    if "slices-degraded" in found and not incident.evicted:
        arguments = {"type": "SliceEvicted", "fabric": "${fabric}"}
        probe = _activity("probe", "no-slice-evicted", "events", arguments)
        found["no-slice-evicted"] = probe | {"tolerance": 0}
    return found


def _limits(incident: Incident) -> Node:
    """The faults at once, and if no fault is of a whole domain, the OCSes and cubes that are targets."""
    limits: Node = {"faults": _most_at_once(incident.faults)}
    if any(one.body.kind in WIDE_KINDS for one in incident.faults):
        return limits
    parts = {"/".join(one.body.target.split("/")[:2]) for one in incident.faults}
    drained = {one.body.cube for one in incident.requests if isinstance(one.body, DrainCube)}
    for limit in ("ocs", "cubes"):
        word = "/ocs-" if limit == "ocs" else "/cube-"
        targets = sum(word in part for part in parts | drained)
        if targets:
            # One more than the targets, for a part that fails by itself meanwhile.
            limits[limit] = targets + 1
    return limits


def _most_at_once(faults: Sequence[Fault]) -> int:
    return max(
        sum(other.at_us <= one.at_us and (other.ended_us or one.at_us) >= one.at_us for other in faults)
        for one in faults
    )


# --- steps --------------------------------------------------------------------------------------------------


def _method(incident: Incident, span_us: int) -> list[Node]:
    steps: list[tuple[int, Node]] = []
    for number, fault in enumerate(incident.faults, 1):
        steps.append((fault.at_us, _inject(f"fault-{number}", fault)))
    for number, request in enumerate(incident.requests, 1):
        steps.append((request.at_us, _request(f"request-{number}", request)))
    timed = []
    for at_us, step in sorted(steps, key=lambda one: one[0]):
        offset_us = at_us - incident.first_us + LEAD_US
        timed.append(step | {"background": True, "pauses": {"before": offset_us / US_PER_S}})
    arguments = {"lasts": _seconds(span_us + LEAD_US)}
    return [*timed, _activity("action", "until-it-is-over", "wait", arguments)]


def _activity(kind: str, name: str, verb: str, arguments: Node) -> Node:
    provider = {"type": "python", "module": VERBS_MODULE, "func": verb, "arguments": arguments}
    return {"type": kind, "name": name, "provider": provider}


def _inject(name: str, fault: Fault) -> Node:
    body = fault.body
    arguments: Node = {"kind": body.kind, "target": body.target}
    if fault.ended_us is not None:
        arguments["lasts"] = _seconds(fault.ended_us - fault.at_us)
    if body.severity is not None:
        arguments["severity"] = body.severity
    if body.onset_us and FAULTS[body.kind].onset_h is not None:
        arguments["onset"] = _seconds(body.onset_us)
    return _activity("action", name, "inject", arguments)


def _request(name: str, request: OperatorRequest) -> Node:
    body = request.body
    verb, arguments = _CALLS[type(body)](body)
    if type(body) in (RequestSlice, SetParameters):
        arguments["fabric"] = request.fabric
    return _activity("action", name, verb, arguments)


def _drain(body: DrainCube) -> tuple[str, Node]:
    lasts = {} if body.duration_us is None else {"lasts": _seconds(body.duration_us)}
    return "drain", {"cube": body.cube, **lasts}


def _slice(body: RequestSlice) -> tuple[str, Node]:
    arguments: Node = {"shape": "x".join(map(str, body.shape)), "tier": body.tier, "owner": body.owner}
    if body.duration_us is not None:
        arguments["lasts"] = _seconds(body.duration_us)
    if body.priority:
        arguments["priority"] = body.priority
    if body.twisted:
        arguments["twisted"] = True
    if body.recovery is not None:
        arguments["recovery"] = format_recovery_policy(body.recovery)
    if body.pods is not None:
        arguments["pods"] = list(body.pods)
    return "request_slice", arguments


def _parameters(body: SetParameters) -> tuple[str, Node]:
    return "set_parameters", {"parameters": {one.name: one.value for one in body.settings}}


_CALLS: dict[type, Callable[[Any], tuple[str, Node]]] = {
    DrainCube: _drain,
    UndrainCube: lambda body: ("undrain", {"cube": body.cube}),
    RequestSlice: _slice,
    SetParameters: _parameters,
    TestLink: lambda body: ("test_link", {"end": body.end}),
    RestartOcs: lambda body: ("restart_ocs", {"ocs": body.ocs}),
}
"""Type of a request → (verb, arguments) that repeat it."""


def _seconds(us: int) -> str:
    """A duration in whole seconds, at least one, rounded up."""
    return f"{max(1, -(-us // US_PER_S))}s"


def _whole_minutes(us: int) -> int:
    return -(-us // US_PER_MIN) * US_PER_MIN


def _hours(us: int) -> str:
    return f"{-(-us // US_PER_HOUR)}h"
