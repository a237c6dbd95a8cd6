"""The outcome of a request in one sentence, from the messages that it caused."""

from collections.abc import Callable, Mapping
from typing import Any

from ops.report.tables import display_value, setting_text
from shared.basics.time_format import format_duration, format_time

Message = Mapping[str, Any]
Body = Mapping[str, Any]


def _admitted_text(message: Message) -> str:
    body = message["body"]
    if body["corner"] is not None:
        return f"{body['slice']} admitted as a mesh in {message['about'][1]}"
    cubes = len(body["cubes"])
    return f"{body['slice']} admitted on {cubes} cube{'s' if cubes > 1 else ''}"


def _joined_text(message: Message) -> str:
    slices = message["body"]["slices"]
    return f"{', '.join(slices[:-1])} and {slices[-1]} admitted together, as one job"


def _fault_began_text(message: Message) -> str:
    body = message["body"]
    until = f", until {format_time(body['expires_us'])}" if body["expires_us"] is not None else ""
    return f"{body['fault']} began: {body['kind']} {body['target']}{until}"


def _fault_ended_text(message: Message) -> str:
    body = message["body"]
    return f"{body['fault']} {body['how']}: {body['kind']} {body['target']}"


def _slice_text(words: str) -> Callable[[Message], str]:
    return lambda message: f"{message['body']['slice']} {words}"


def _rewiring_planned_text(message: Message) -> str:
    body = message["body"]
    name, count = body["rewiring"], body["stages"]
    stages = f"{count} stage{'s' if count != 1 else ''}"
    waits = f"; `lightwave dcn approve {name}` lets it come" if body["approval"] == "operator" else ""
    takes = f"{format_duration(body['takes_us'])} if nothing waits"
    return f"{name} planned: {body['circuits']:,} circuits in {stages}, {takes}; {_gain(body)}{waits}"


def _gain(body: Body) -> str:
    """What other trunks do for the hour that was planned for."""
    shares = [
        f"{body[field] / 1e6:.1%}" for field in ("use_ppm", "use_then_ppm", "transit_ppm", "transit_then_ppm")
    ]
    return (
        f"in the hardest hour of late: largest use {shares[0]} to {shares[1]}, "
        f"transit {shares[2]} to {shares[3]}"
    )


def _link_tested_text(message: Message) -> str:
    """What a module measured of its own light, and the verdict."""
    body, (end, *_) = message["body"], message["about"]
    expected = display_value("loss_db", body["expected_db"])
    if body["verdict"] == "open":
        return f"{end}: a technician has it in hand, it is not plugged in; test it when the repair is done"
    if body["loss_db"] is None:
        return f"{end}: none of its light comes back: module or cable is dead (expected {expected} dB)"
    more_db = body["loss_db"] - body["expected_db"]
    ber = display_value("ber", 10.0 ** body["log10_ber"])
    text = {
        "clean": "as made",
        "lossy": f"{more_db:.1f} dB more than factory matrix and fibre: dirt or a bend at this end",
        "errors": "too many errors for this much light",
    }
    loss = display_value("loss_db", body["loss_db"])
    return f"{end}: {loss} dB out and back, expected {expected} dB, BER {ber}: {text[body['verdict']]}"


def _parameters_changed_text(message: Message) -> str:
    """Which parameters are otherwise now, and what they were."""
    changes = message["body"]["changes"]
    if not changes:
        return "all were so before"
    return "; ".join(
        f"{change['name']} is {setting_text(change['value'])}, was {setting_text(change['was'])}"
        for change in changes
    )


def _ocs_restarting_text(message: Message) -> str:
    circuits = "its circuits stand" if message["body"]["keeps"] else "its circuits are lost until then"
    return f"{message['about'][0]} restarts its software; {circuits}"


def _cross_connects_text(how: str) -> Callable[[Message], str]:
    """Which cross-connects of a request were carried out, and why others were not."""

    def text(message: Message) -> str:
        body = message["body"]
        keys = ", ".join(f"{north + 1}A-{south + 1}B" for north, south in body["circuits"])
        ocs = message["about"][0].rpartition("/")[0] if message["about"] else f"ocs-{body['ocs']}"
        parts = [f"{ocs}: {keys} {how}", *(f"{key} refused: {reason}" for key, reason in body["refused"])]
        if body["not_tried"]:
            parts.append(f"not tried: {', '.join(body['not_tried'])}")
        return "; ".join(parts)

    return text


def _rewiring(message: Message) -> str:
    return str(message["body"]["rewiring"])


SENTENCES: dict[str, list[tuple[str, Callable[[Message], str]]]] = {
    "inject": [("FaultBegan", _fault_began_text)],
    "clear": [("FaultEnded", _fault_ended_text)],
    "request": [
        ("PodsJoined", _joined_text),
        ("SliceAdmitted", _admitted_text),
        ("SliceRequested", _slice_text("waits for room")),
    ],
    "release": [
        ("SliceCompleted", _slice_text("released")),
        ("SliceRefused", _slice_text("withdrawn before it ran")),
        ("SliceReleased", _slice_text("will be released")),
    ],
    "drain": [("CubeDrained", lambda message: f"{message['about'][0]} takes nothing new")],
    "plan": [
        ("RewiringPlanned", _rewiring_planned_text),
        (
            "TopologyKept",
            lambda message: f"all stays as it is: {message['body']['why']} ({_gain(message['body'])})",
        ),
    ],
    "approve": [
        (
            "StageWaits",
            lambda message: f"{_rewiring(message)} approved; it waits: {message['body']['reason']}",
        ),
        ("RewiringApproved", lambda message: f"{_rewiring(message)} approved, and carried out now"),
    ],
    "abort": [
        ("RewiringEnded", lambda message: f"{_rewiring(message)} {message['body']['outcome']}"),
    ],
    "connect": [("CrossConnectsTaken", _cross_connects_text("taken, and mirrors turn"))],
    "disconnect": [("CrossConnectsRemoved", _cross_connects_text("removed"))],
    "set": [("ParametersChanged", _parameters_changed_text)],
    "restart": [("OcsRestarting", _ocs_restarting_text)],
    "test": [("LinkTested", _link_tested_text)],
    "undrain": [("CubeUndrained", lambda message: f"{message['about'][0]} in use again")],
}
"""Verb → what its outcome means, the most telling message first."""


def _cube_swapped_text(message: Message, _eased: bool) -> str:
    moved, left, spare = message["about"]
    return f"{moved} moved from {left} to {spare}"


def _slice_degraded_text(message: Message, improved: bool) -> str:
    """What only got better was no better before."""
    body = message["body"]
    counts = (("down", body["links_down"]), ("degraded", body["links_degraded"]))
    links = " and ".join(f"{n} link ends {how}" for how, n in counts if n)
    return f"{body['slice']} {'still degraded' if improved else 'degraded'}: {links}"


EFFECTS: dict[str, Callable[[Message, bool], str]] = {
    "SliceDegraded": _slice_degraded_text,
    "SliceRecovering": lambda message, _: f"{message['body']['slice']} recovering",
    "SliceNoticed": lambda message, _: f"{message['body']['slice']} told to leave ({message['body']['why']})",
    "SliceRequeued": lambda message, _: f"{message['body']['slice']} back in the queue",
    "CubeSwapped": _cube_swapped_text,
}
"""What else a person would want to know at once."""
EFFECTS_MAX = 3


def refusal_of(answer: Mapping[str, Any]) -> str | None:
    """The sentence that says why the request was refused, None if it was not."""
    if answer["status"] != "refused":
        return None
    reason = answer["reason"]
    return f"{reason} ({answer['id']})"


def partly_refused(answer: Mapping[str, Any]) -> bool:
    """Whether some of what was asked for in one request was refused."""
    return any(message["body"].get("refused") for message in answer["outcome"])


def drain_text(name: str, answer: Mapping[str, Any], slices: list[str]) -> str:
    """What a drain came to: who moved away, and who still runs there."""
    if answer["status"] == "received":
        return outcome_text("drain", answer)
    again = ", as asked before" if answer["repeated"] else ""
    still = f"; {still_running_text(slices)}, no spare" if slices else ", nothing runs there"
    return f"{name} takes nothing new{_effects(answer['outcome'])}{still}{again} ({answer['id']})"


def still_running_text(slices: list[str]) -> str:
    return f"{', '.join(slices)} still {'runs' if len(slices) == 1 else 'run'} there"


def fault_and_target(answer: Mapping[str, Any]) -> tuple[str, str] | None:
    """(target, fault) of the fault that a request began or ended, if it did."""
    for message in answer["outcome"]:
        if message["type"] in ("FaultBegan", "FaultEnded"):
            return message["body"]["target"], message["body"]["fault"]
    return None


def outcome_text(verb: str, answer: Mapping[str, Any]) -> str:
    """What happened, with the id of the message that the request became."""
    again = ", as asked before" if answer["repeated"] else ""
    return f"{_outcome_without_id(verb, answer)}{again} ({answer['id']})"


def commission_text(name: str, site: str, answer: Mapping[str, Any]) -> str:
    """That a fabric has joined its site, or will."""
    again = ", as asked before" if answer["repeated"] else ""
    if answer["status"] == "received":
        return f"received; {name} joins {site} when simulated time goes on{again} ({answer['id']})"
    return f"{name} joined {site} at {format_time(answer['at_us'])}{again} ({answer['id']})"


def retire_text(name: str, answer: Mapping[str, Any]) -> str:
    """That a fabric has retired, or will."""
    again = ", as asked before" if answer["repeated"] else ""
    if answer["status"] == "received":
        return f"received; {name} retires when simulated time goes on{again} ({answer['id']})"
    return f"{name} retired at {format_time(answer['at_us'])}{again} ({answer['id']})"


def _outcome_without_id(verb: str, answer: Mapping[str, Any]) -> str:
    if answer["status"] == "received":
        return "received; it will be taken when simulated time goes on"
    own = _own_messages(answer["outcome"])
    for kind, say in SENTENCES[verb]:
        for message in own:
            if message["type"] == kind:
                return f"{say(message)}{_effects(answer['outcome'])}"
    if verb == "abort" and answer["complete"]:
        return "it ends after the stage that it is in"
    return "done; nothing changed" if answer["complete"] else "accepted; what comes of it is not known yet"


def _own_messages(outcome: list[Message]) -> list[Message]:
    """The messages about what was asked for: not those about other slices that gained or lost by it."""
    asked = next(
        (m["body"]["slice"] for m in outcome if m["type"] in ("SliceRequested", "SliceReleased")), None
    )
    return [message for message in outcome if asked is None or message["body"].get("slice", asked) == asked]


def _all_up(body: Body) -> bool:
    return not body["degraded"] and not body["down"]


def _effects(outcome: list[Message]) -> str:
    improved = {m["id"] for m in outcome if m["type"] == "LinksChanged" and _all_up(m["body"])}
    latest: dict[object, str] = {}
    for message in outcome:
        kind, body = message["type"], message["body"]
        if kind in EFFECTS:
            text = EFFECTS[kind](message, message.get("cause") in improved)
            latest[kind, body["slice"], body.get("left")] = text
    effects = list(latest.values())
    if len(effects) > EFFECTS_MAX:
        effects = [*effects[:EFFECTS_MAX], f"{len(effects) - EFFECTS_MAX} more"]
    return "".join(f"; {effect}" for effect in effects)
