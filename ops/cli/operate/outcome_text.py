"""The outcome of a request in one sentence, from the messages that it caused."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ops.client.answers import MessageType
from ops.report.tables import display_value, setting_text
from shared.basics.time_format import format_duration, format_time

if TYPE_CHECKING:
    from schemas.api.requests import RequestReceipt, RequestReport
    from schemas.api.rows import CubeRow, LogMessage
    from schemas.messages.cubes import CubeDrained, CubeUndrained, DrainPlanned, PlannedDrainCancelled
    from schemas.messages.failures import FaultBegan, FaultEnded, ParametersChanged
    from schemas.messages.ocs import CrossConnectsRemoved, CrossConnectsTaken, OcsRestarting
    from schemas.messages.scheduler import (
        CubeSwapped,
        PodsJoined,
        SliceAdmitted,
        SliceCompleted,
        SliceDegraded,
        SliceNoticed,
        SliceRecovering,
        SliceRefused,
        SliceRequeued,
    )
    from schemas.messages.topology import (
        RewiringApproved,
        RewiringEnded,
        RewiringPlanned,
        StageWaits,
        TopologyKept,
    )
    from schemas.messages.transceivers import LinksChanged, LinkTested
    from schemas.messages.workload import SliceReleased, SliceRequested

BEGAN: "MessageType[FaultBegan]" = MessageType("FaultBegan")
ENDED: "MessageType[FaultEnded]" = MessageType("FaultEnded")
LINKS_CHANGED: "MessageType[LinksChanged]" = MessageType("LinksChanged")
REQUESTED: "MessageType[SliceRequested]" = MessageType("SliceRequested")
DEGRADED: "MessageType[SliceDegraded]" = MessageType("SliceDegraded")
ANSWER_FIELDS = ("id", "status", "repeated", "complete", "outcome")
"""Fields of the twin's answer to a request."""
Sentence = Callable[[Any, "LogMessage"], str]
"""Takes the body of a message of one type, and the message."""


def _admitted_text(body: "SliceAdmitted", message: "LogMessage") -> str:
    if body.corner is not None:
        return f"{body.slice} admitted as a mesh in {message.about[1]}"
    cubes = len(body.cubes)
    return f"{body.slice} admitted on {cubes} cube{'s' if cubes > 1 else ''}"


def _joined_text(body: "PodsJoined", _message: "LogMessage") -> str:
    return f"{', '.join(body.slices[:-1])} and {body.slices[-1]} admitted together, as one job"


def _fault_began_text(body: "FaultBegan", _message: "LogMessage") -> str:
    until = f", until {format_time(body.expires_us)}" if body.expires_us is not None else ""
    return f"{body.fault} began: {body.kind} {body.target}{until}"


def _fault_ended_text(body: "FaultEnded", _message: "LogMessage") -> str:
    return f"{body.fault} {body.how}: {body.kind} {body.target}"


def _requested_text(body: "SliceRequested", _message: "LogMessage") -> str:
    return f"{body.slice} is queued"


def _completed_text(body: "SliceCompleted", _message: "LogMessage") -> str:
    return f"{body.slice} released"


def _withdrawn_text(body: "SliceRefused", _message: "LogMessage") -> str:
    return f"{body.slice} withdrawn before it ran"


def _released_text(body: "SliceReleased", _message: "LogMessage") -> str:
    return f"{body.slice} will be released"


def _drained_text(body: "CubeDrained", message: "LogMessage") -> str:
    return f"{message.about[0]} takes nothing new{_drain_end_text(body)}"


def _drain_end_text(body: object) -> str:
    """Until when a cube is drained, and the end that this replaces."""
    until_us, was_until_us = getattr(body, "until_us", None), getattr(body, "was_until_us", None)
    until = "" if until_us is None else f" until {format_time(until_us)}"
    if was_until_us is None:
        return until
    return f"{until or ' until it is undrained'}, instead of until {format_time(was_until_us)}"


def _drain_planned_text(body: "DrainPlanned", message: "LogMessage") -> str:
    until_us = getattr(body, "until_us", None)
    end = "until it is undrained" if until_us is None else f"until {format_time(until_us)}"
    return f"{message.about[0]} will be drained from {format_time(body.from_us)} {end}"


def _planned_drain_cancelled_text(body: "PlannedDrainCancelled", message: "LogMessage") -> str:
    return f"{message.about[0]} will not be drained at {format_time(body.from_us)}"


def _undrained_text(_body: "CubeUndrained", message: "LogMessage") -> str:
    return f"{message.about[0]} in use again"


def _rewiring_planned_text(body: "RewiringPlanned", _message: "LogMessage") -> str:
    name, count = body.rewiring, body.stages
    stages = f"{count} stage{'s' if count != 1 else ''}"
    waits = f"; `lightwave dcn approve {name}` starts it" if body.approval == "operator" else ""
    takes = f"{format_duration(body.takes_us)} if nothing waits"
    return f"{name} planned: {body.circuits:,} circuits in {stages}, {takes}; {_gain(body)}{waits}"


def _kept_text(body: "TopologyKept", _message: "LogMessage") -> str:
    return f"nothing is rewired: {body.why} ({_gain(body)})"


def _gain(body: "RewiringPlanned | TopologyKept") -> str:
    """How the new trunks change the use and the transit in the hour of the plan."""
    use, transit = (body.use_ppm, body.use_then_ppm), (body.transit_ppm, body.transit_then_ppm)
    shares = [f"{ppm / 1e6:.1%}" for ppm in (*use, *transit)]
    return (
        f"in the busiest recent hour: largest use {shares[0]} to {shares[1]}, "
        f"transit {shares[2]} to {shares[3]}"
    )


def _stage_waits_text(body: "StageWaits", _message: "LogMessage") -> str:
    return f"{body.rewiring} approved; it waits: {body.reason}"


def _approved_text(body: "RewiringApproved", _message: "LogMessage") -> str:
    return f"{body.rewiring} approved; it starts now"


def _rewiring_ended_text(body: "RewiringEnded", _message: "LogMessage") -> str:
    return f"{body.rewiring} {body.outcome}"


def _link_tested_text(body: "LinkTested", message: "LogMessage") -> str:
    """What a module measured of its own reflected light, and the verdict."""
    end = message.about[0]
    expected = display_value("loss_db", body.expected_db)
    if body.verdict == "open":
        return f"{end}: a technician has it in hand, it is not plugged in; test it when the repair is done"
    if body.loss_db is None or body.log10_ber is None:
        return f"{end}: none of its light comes back: module or cable is dead (expected {expected} dB)"
    more_db = body.loss_db - body.expected_db
    ber = display_value("ber", 10.0**body.log10_ber)
    text = {
        "clean": "as made",
        "lossy": f"{more_db:.1f} dB more than factory matrix and fibre: dirt or a bend at this end",
        "errors": "too many errors for this much light",
    }
    loss = display_value("loss_db", body.loss_db)
    return f"{end}: {loss} dB out and back, expected {expected} dB, BER {ber}: {text[body.verdict]}"


def _parameters_changed_text(body: "ParametersChanged", _message: "LogMessage") -> str:
    """The parameters that changed, with their new and old values."""
    if not body.changes:
        return "every parameter has its value already"
    return "; ".join(
        f"{change.name} is {setting_text(change.value)}, was {setting_text(change.was)}"
        for change in body.changes
    )


def _ocs_restarting_text(body: "OcsRestarting", message: "LogMessage") -> str:
    circuits = "its circuits stay up" if body.keeps else "its circuits are lost until then"
    return f"{message.about[0]} restarts its software; {circuits}"


def _connected_text(body: "CrossConnectsTaken", message: "LogMessage") -> str:
    return _cross_connects_text(body, message, "taken, and mirrors turn")


def _disconnected_text(body: "CrossConnectsRemoved", message: "LogMessage") -> str:
    return _cross_connects_text(body, message, "removed")


def _cross_connects_text(
    body: "CrossConnectsTaken | CrossConnectsRemoved", message: "LogMessage", how: str
) -> str:
    """Which cross-connects of a request were carried out, and why others were not."""
    keys = ", ".join(f"{north + 1}A-{south + 1}B" for north, south in body.circuits)
    ocs = message.about[0].rpartition("/")[0] if message.about else f"ocs-{body.ocs}"
    parts = [f"{ocs}: {keys} {how}", *(f"{key} refused: {reason}" for key, reason in body.refused)]
    if body.not_tried:
        parts.append(f"not tried: {', '.join(body.not_tried)}")
    return "; ".join(parts)


SENTENCES: dict[str, dict[str, Sentence]] = {
    "inject": {"FaultBegan": _fault_began_text},
    "clear": {"FaultEnded": _fault_ended_text},
    "request": {
        "PodsJoined": _joined_text,
        "SliceAdmitted": _admitted_text,
        "SliceRequested": _requested_text,
    },
    "release": {
        "SliceCompleted": _completed_text,
        "SliceRefused": _withdrawn_text,
        "SliceReleased": _released_text,
    },
    "drain": {"CubeDrained": _drained_text, "DrainPlanned": _drain_planned_text},
    "plan": {"RewiringPlanned": _rewiring_planned_text, "TopologyKept": _kept_text},
    "approve": {"StageWaits": _stage_waits_text, "RewiringApproved": _approved_text},
    "abort": {"RewiringEnded": _rewiring_ended_text},
    "connect": {"CrossConnectsTaken": _connected_text},
    "disconnect": {"CrossConnectsRemoved": _disconnected_text},
    "set": {"ParametersChanged": _parameters_changed_text},
    "restart": {"OcsRestarting": _ocs_restarting_text},
    "test": {"LinkTested": _link_tested_text},
    "undrain": {
        "CubeUndrained": _undrained_text,
        "PlannedDrainCancelled": _planned_drain_cancelled_text,
    },
}
"""Verb → type of message → sentence about the outcome; the most informative type first."""


def _cube_swapped_text(_body: "CubeSwapped", message: "LogMessage") -> str:
    moved, left, spare = message.about
    return f"{moved} moved from {left} to {spare}"


def _slice_degraded_text(body: "SliceDegraded", _message: "LogMessage") -> str:
    return f"{body.slice} degraded: {_faulty_links_text(body)}"


def _still_degraded_text(body: "SliceDegraded") -> str:
    """Return the sentence for a slice whose links only improved: it was degraded before."""
    return f"{body.slice} still degraded: {_faulty_links_text(body)}"


def _faulty_links_text(body: "SliceDegraded") -> str:
    counts = (("down", body.links_down), ("degraded", body.links_degraded))
    return " and ".join(f"{n} link ends {how}" for how, n in counts if n)


def _recovering_text(body: "SliceRecovering", _message: "LogMessage") -> str:
    return f"{body.slice} recovering"


def _noticed_text(body: "SliceNoticed", _message: "LogMessage") -> str:
    return f"{body.slice} must leave soon ({body.why})"


def _requeued_text(body: "SliceRequeued", _message: "LogMessage") -> str:
    return f"{body.slice} back in the queue"


EFFECTS: dict[str, Sentence] = {
    "SliceDegraded": _slice_degraded_text,
    "SliceRecovering": _recovering_text,
    "SliceNoticed": _noticed_text,
    "SliceRequeued": _requeued_text,
    "CubeSwapped": _cube_swapped_text,
}
"""Type of message → sentence about a further effect of a request."""
EFFECTS_MAX = 3
VERBS = {
    "RequestSlice": "request",
    "ReleaseSlice": "release",
    "InjectFault": "inject",
    "ClearFault": "clear",
    "DrainCube": "drain",
    "UndrainCube": "undrain",
    "TestLink": "test",
    "SetParameters": "set",
    "RestartOcs": "restart",
    "CreateCrossConnects": "connect",
    "RemoveCrossConnects": "disconnect",
    "PlanTopology": "plan",
    "ApproveRewiring": "approve",
    "AbortRewiring": "abort",
}
"""Type of a request's message → the verb of its outcome."""


def partly_refused(answer: "RequestReceipt") -> bool:
    """Whether a part of the request was refused."""
    return any(getattr(message.body, "refused", None) for message in answer.outcome)


def drain_text(name: str, answer: "RequestReceipt", row: "CubeRow") -> str:
    """The outcome of a drain, with the cube's row after it: until when, what it replaced, the slices that
    moved away, and those that still run there."""
    slices = row.slices
    if answer.status == "received":
        return outcome_text("drain", answer)
    if any(message.type == "DrainPlanned" for message in answer.outcome):
        return outcome_text("drain", answer)
    again = "; repeated request" if answer.repeated else ""
    still = f"; {still_running_text(slices)}, no spare" if slices else ", nothing runs there"
    if not _own_messages(answer.outcome) and answer.complete:
        if (from_us := getattr(row, "drain_from_us", None)) is not None:
            return f"{name} {_plan_text('will be drained already', row, from_us)}{again} ({answer.id})"
        state = "is draining already" if slices else "is drained already"
        until_us = getattr(row, "drain_until_us", None)
        until = "" if until_us is None else f" until {format_time(until_us)}"
        return f"{name} {state}{until}{still}{again} ({answer.id})"
    own = next((m for m in answer.outcome if m.type == "CubeDrained"), None)
    now = f"{name} takes nothing new{_drain_end_text(own.body if own is not None else None)}"
    cancelled = [getattr(m.body, "from_us", 0) for m in answer.outcome if m.type == "PlannedDrainCancelled"]
    dropped = "".join(f"; its planned drain at {format_time(at_us)} is cancelled" for at_us in cancelled)
    return f"{now}{_effects(answer.outcome)}{dropped}{still}{again} ({answer.id})"


def _plan_text(how: str, row: "CubeRow", from_us: int) -> str:
    until_us = getattr(row, "drain_until_us", None)
    end = "until it is undrained" if until_us is None else f"until {format_time(until_us)}"
    return f"{how} from {format_time(from_us)} {end}"


def still_running_text(slices: Sequence[str]) -> str:
    """Which slices are still on a cube."""
    if not slices:
        return "nothing runs there"
    return f"{', '.join(slices)} still {'runs' if len(slices) == 1 else 'run'} there"


def fault_and_target(answer: "RequestReceipt") -> tuple[str, str] | None:
    """(target, fault) of the fault that a request began or ended, if it did."""
    for message in answer.outcome:
        if (body := BEGAN.body(message) or ENDED.body(message)) is not None:
            return body.target, body.fault
    return None


def outcome_text(verb: str, answer: "RequestReceipt") -> str:
    """Describe what happened, with the id of the request's message."""
    again = "; repeated request" if answer.repeated else ""
    return f"{_outcome_without_id(verb, answer)}{again} ({answer.id})"


def report_text(report: "RequestReport") -> str | None:
    """Describe what happened after an earlier request; None if it is pending or refused, or has no such
    sentence."""
    verb = VERBS.get(report.type)
    return None if verb is None or report.status != "accepted" else _outcome_without_id(verb, report)


def commission_text(name: str, site: str, answer: "RequestReceipt") -> str:
    """The outcome of a commissioning: the fabric has joined its site, or will."""
    again = "; repeated request" if answer.repeated else ""
    if answer.status == "received":
        return f"received; {name} joins {site} when simulated time continues{again} ({answer.id})"
    return f"{name} joined {site} at {format_time(answer.at_us)}{again} ({answer.id})"


def retire_text(name: str, answer: "RequestReceipt") -> str:
    """The outcome of a retirement: the fabric has retired, or will."""
    again = "; repeated request" if answer.repeated else ""
    if answer.status == "received":
        return f"received; {name} retires when simulated time continues{again} ({answer.id})"
    return f"{name} retired at {format_time(answer.at_us)}{again} ({answer.id})"


def _outcome_without_id(verb: str, answer: "RequestReceipt | RequestReport") -> str:
    if answer.status == "received":
        return "received; it takes effect when simulated time continues"
    own = _own_messages(answer.outcome)
    if verb == "request" and (several := _job_text(answer.outcome)) is not None:
        return f"{several}{_effects(answer.outcome)}"
    for kind, text in SENTENCES[verb].items():
        for message in own:
            if message.type == kind:
                return f"{text(message.body, message)}{_effects(answer.outcome)}"
    if verb == "abort" and answer.complete:
        return "it ends after its current stage"
    return "done; nothing changed" if answer.complete else "accepted; the outcome is not known yet"


def _job_text(outcome: "Sequence[LogMessage]") -> str | None:
    """What became of each slice of a job over several pods. None for a single slice, and if the whole job is
    admitted, which has a sentence of its own."""
    requested = [body for message in outcome if (body := REQUESTED.body(message)) is not None]
    job = next((body.multislice.job for body in requested if body.multislice is not None), None)
    if job is None or any(message.type == "PodsJoined" for message in outcome):
        return None
    slices = [body.slice for body in requested if body.multislice is not None and body.multislice.job == job]
    admitted = {_slice_of(message) for message in outcome if message.type == "SliceAdmitted"}
    waiting = [name for name in slices if name not in admitted]
    has = [name for name in slices if name in admitted]
    parts = [f"{_names_text(has)} {'has' if len(has) == 1 else 'have'} cubes"] if has else []
    parts += [f"{_names_text(waiting)} {'is' if len(waiting) == 1 else 'are'} queued"] if waiting else []
    return f"job {job}: {'; '.join(parts)}"


def _names_text(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _own_messages(outcome: "Sequence[LogMessage]") -> "list[LogMessage]":
    """The messages about the request itself, without those about other slices that it affects."""
    requested = next((_slice_of(m) for m in outcome if m.type in ("SliceRequested", "SliceReleased")), None)
    return [message for message in outcome if requested is None or _slice_of(message) in (None, requested)]


def _slice_of(message: "LogMessage") -> str | None:
    """The slice that a message is about, if its body has one."""
    name: str | None = getattr(message.body, "slice", None)
    return name


def _all_up(body: "LinksChanged | None") -> bool:
    return body is not None and not body.degraded and not body.down


def _effects(outcome: "Sequence[LogMessage]") -> str:
    improved = {message.id for message in outcome if _all_up(LINKS_CHANGED.body(message))}
    latest: dict[object, str] = {}
    for message in outcome:
        if message.type in EFFECTS:
            text = EFFECTS[message.type](message.body, message)
            degraded = DEGRADED.body(message)
            if degraded is not None and message.cause in improved:
                text = _still_degraded_text(degraded)
            latest[message.type, _slice_of(message), getattr(message.body, "left", None)] = text
    effects = list(latest.values())
    if len(effects) > EFFECTS_MAX:
        effects = [*effects[:EFFECTS_MAX], f"{len(effects) - EFFECTS_MAX} more"]
    return "".join(f"; {effect}" for effect in effects)
