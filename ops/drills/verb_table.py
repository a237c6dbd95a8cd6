"""The verbs of drill documents: functions of `ops.drills.verbs`, with their arguments."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument: its name, what it must be, and whether a call can omit it."""

    name: str
    what: str
    required: bool = False


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb. `undo` describes how a drill undoes it."""

    name: str
    type: Literal["action", "probe"]
    summary: str
    arguments: tuple[Argument, ...]
    undo: str = "nothing to undo"

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(one.name for one in self.arguments)

    @property
    def required(self) -> tuple[str, ...]:
        return tuple(one.name for one in self.arguments if one.required)


_DURATION = "a duration, such as 30m"
_FABRIC = Argument("fabric", "the fabric, such as pod-0 [default: that of the drill]")
_NAMES = "a list of names, a range such as pod-0/cube-[0-7], or a target"


def _one(name: str, what: str) -> Argument:
    return Argument(name, what, required=True)


def _action(name: str, summary: str, *arguments: Argument, undo: str = "nothing to undo") -> Verb:
    return Verb(name, "action", summary, arguments, undo)


def _probe(name: str, summary: str, *arguments: Argument) -> Verb:
    return Verb(name, "probe", summary, arguments)


_VERBS = (
    _action(
        "inject",
        "Inject a fault of any kind, also in several parts at once.",
        _one("kind", "the kind of fault, such as ocs; `lightwave inject --list` lists them"),
        _one("target", f"the part, such as pod-0/ocs-17; {_NAMES}"),
        Argument("lasts", f"{_DURATION} [default: until it is repaired, or the drill ends]"),
        Argument("severity", "a number in the unit of the kind [default: drawn]"),
        Argument("onset", "the time until the severity is reached [default: at once]"),
        undo="the fault is cleared",
    ),
    _action(
        "clear",
        "Clear a fault.",
        Argument("fault", "the fault, such as pod-0/fault-7"),
        Argument("target", "in rollbacks: a part, whose active faults are cleared"),
    ),
    _action(
        "drain",
        "Take cubes out of use.",
        _one("cube", f"the cube, such as pod-0/cube-12; {_NAMES}"),
        Argument("lasts", f"{_DURATION} [default: until the drill ends]"),
        undo="the cube is undrained",
    ),
    _action("undrain", "Put cubes back in use.", _one("cube", f"the cube, such as pod-0/cube-12; {_NAMES}")),
    _action(
        "request_slice",
        "Request a slice.",
        _one("shape", "three sides in chips, such as 4x4x8"),
        _FABRIC,
        Argument("twisted", "true or false [default: false]"),
        Argument("owner", "the owner [default: operator]"),
        Argument("tier", "production, research or filler [default: production]"),
        Argument("priority", "-100 to 100 [default: 0]"),
        Argument("lasts", f"{_DURATION} [default: until the drill ends]"),
        Argument("recovery", "allowed recoveries, such as swap,route:2%,wait [default: all]"),
        Argument("pods", "pods in ring order, such as pod-0,pod-3, for a multislice job"),
        undo="the slice is released",
    ),
    _action(
        "release_slice", "Release slices.", _one("slice", f"the slice, such as pod-0/slice-42; {_NAMES}")
    ),
    _action(
        "set_parameters",
        "Change parameters of a fabric: arrivals, technicians, repair times and rates of faults.",
        _one("parameters", "names and values, such as {repairs.technicians: 1}"),
        _FABRIC,
        undo="the parameters get their earlier values",
    ),
    _action(
        "test_link", "Test a dark link end.", _one("end", f"the end, such as pod-0/cube-12/+y/7; {_NAMES}")
    ),
    _action("restart_ocs", "Restart the software of OCSes.", _one("ocs", f"such as pod-0/ocs-17; {_NAMES}")),
    _action(
        "connect",
        "Make manual cross-connects of an OCS.",
        _one("ocs", "the OCS, such as pod-0/ocs-17"),
        _one("keys", "a list of cross-connects, such as [1A-5B]"),
        Argument("error_mode", "stop-on-error or ignore-error [default: stop-on-error]"),
        undo="the cross-connects are removed",
    ),
    _action(
        "disconnect",
        "Remove manual cross-connects of an OCS.",
        _one("ocs", "the OCS, such as pod-0/ocs-17"),
        _one("keys", "a list of cross-connects, such as [1A-5B]"),
        Argument("error_mode", "stop-on-error or ignore-error [default: stop-on-error]"),
    ),
    _action("plan_topology", "Search for a better topology of a network now.", _FABRIC),
    _action(
        "approve_rewiring", "Carry out a planned rewiring.", _one("rewiring", "such as dcn-0/rewiring-2")
    ),
    _action("abort_rewiring", "Drop or stop a rewiring.", _one("rewiring", "such as dcn-0/rewiring-2")),
    _action("wait", "Wait.", _one("lasts", _DURATION)),
    _action(
        "wait_until",
        "Wait until a condition is true; the step fails if it is not in time.",
        Argument("condition", "a condition, as for `lightwave wait`"),
        Argument("of", "a resource, such as pod-0/ocs-17, instead of a condition"),
        Argument("field", "with `of`: a field of it, such as state"),
        Argument("is_value", "with `of`: the value, such as up"),
        _one("at_most", _DURATION),
        _FABRIC,
    ),
    _action(
        "pause_process",
        "Pause a process of a live twin.",
        _one("process", "such as worker-1, gateway, redis or kafka"),
        _one("lasts", _DURATION),
        undo="the process continues",
    ),
    _action(
        "kill_process",
        "Kill a process of a live twin, which its supervisor starts again.",
        _one("process", "such as worker-1, gateway, redis or kafka"),
    ),
    _probe(
        "condition",
        "Whether a condition is true.",
        _one("condition", "a condition, as for `lightwave wait`"),
        _FABRIC,
    ),
    _probe(
        "value",
        "A field of a resource.",
        _one("of", f"the resource, such as pod-0; {_NAMES}"),
        _one("field", "a field of `lightwave get -o json`, such as ocs_down"),
        Argument("kind", "its kind, if the name does not show it"),
    ),
    _probe(
        "exists",
        "Whether a resource exists.",
        _one("of", "the resource, such as pod-0/slice-42"),
        Argument("kind", "its kind, if the name does not show it"),
    ),
    _probe(
        "count",
        "The number of resources of a kind.",
        _one("kind", "the kind, such as slices"),
        Argument("where", "tests of fields, such as state=degraded [default: all]"),
        _FABRIC,
    ),
    _probe(
        "share",
        "The share, 0 to 1, of the resources of a kind that have not ended.",
        _one("kind", "the kind, such as slices"),
        _one("where", "tests of fields, such as state=running"),
        _FABRIC,
    ),
    _probe(
        "events",
        "The number of resources with an event since the drill began.",
        _one("type", "the type of message, such as SliceEvicted"),
        _FABRIC,
    ),
)
VERBS: Mapping[str, Verb] = {verb.name: verb for verb in _VERBS}
"""Name → verb, actions first."""
