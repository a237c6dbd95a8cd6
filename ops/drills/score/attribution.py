"""Attribution: whether repairs were opened for the parts that were broken, and only for those."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ops.drills.score.figures import FULL, Figure
from schemas.envelope import Envelope
from schemas.messages.failures import FaultBegan, FaultEnded
from schemas.messages.repairs import RepairOpened
from schemas.name_parts import fabric_part, is_within
from services.gateway.explain.drill_record import DrillRecord
from shared.basics.units import US_PER_HOUR
from shared.models.faults.fault_reach import affected_ends
from shared.models.plant.plant_format import Plant

AFTER_END_US = US_PER_HOUR
"""A repair may be opened for a fault up to an hour after it ended: telemetry is read at intervals."""


@dataclass
class _Fault:
    """A true fault, and the repairs that were opened for it."""

    message: Envelope
    body: FaultBegan
    ended_us: int | None = None
    right: list[Envelope] = field(default_factory=list)


def attribution_figures(record: DrillRecord) -> list[Figure]:
    """Precision and recall of repairs over the faults of the drill and the natural ones meanwhile."""
    since_us = record.phase_us("method")
    if since_us is None:
        return []
    faults = {
        name: _Fault(message, message.body)
        for name, message in record.faults_before.items()
        if isinstance(message.body, FaultBegan)
    }
    started: list[_Fault] = []
    right: list[Envelope] = []
    false: list[Envelope] = []
    for message in record.messages:
        match message.body:
            case FaultBegan():
                faults[message.body.fault] = fault = _Fault(message, message.body)
                if message.at_us >= since_us:
                    started.append(fault)
            case FaultEnded(fault=name) if name in faults:
                faults[name].ended_us = message.at_us
            case RepairOpened() if message.at_us >= since_us:
                causes = [one for one in faults.values() if _is_right(record.plants, one, message)]
                for fault in causes:
                    fault.right.append(message)
                (right if causes else false).append(message)
    return [_precision(right, false), *_recall(started), _false_alarms(record, false)]


def _is_right(plants: Mapping[str, Plant], fault: _Fault, opened: Envelope) -> bool:
    """Whether this repair is of the part that the fault broke, of a part that contains it, or of a link end
    that it affects, while it was active or shortly after."""
    body, begun = opened.body, fault.body
    if not isinstance(body, RepairOpened) or fabric_part(begun.target) != fabric_part(body.target):
        return False
    if fault.ended_us is not None and opened.at_us > fault.ended_us + AFTER_END_US:
        return False
    if body.target == begun.target or is_within(begun.target, body.target):
        return True
    return body.target in _affected(plants, begun)


def _affected(plants: Mapping[str, Plant], begun: FaultBegan) -> set[str]:
    fabric = fabric_part(begun.target)
    plant = plants[fabric]
    ends = affected_ends(plant, begun.kind, begun.target)
    return {plant.part(plant.ends.kind, end, fabric).name for end in ends}


def _precision(right: list[Envelope], false: list[Envelope]) -> Figure:
    total = len(right) + len(false)
    if total == 0:
        return Figure("precision", None, "no repair was opened")
    text = f"{len(right)} of {total} repairs opened for a broken part"
    helps = "readings at shorter intervals: --set transceivers.inspection_interval_s=N" if false else None
    return Figure("precision", FULL * len(right) / total, text, (false or right)[0].id, helps)


def _recall(started: list[_Fault]) -> list[Figure]:
    if not started:
        return [Figure("recall", None, "no part broke")]
    missed = [fault for fault in started if not fault.right]
    text = f"{len(started) - len(missed)} of {len(started)} faults had a repair opened"
    text += f"; none for {', '.join(_named(fault.body) for fault in missed[:3])}" if missed else ""
    deciding = missed[0].message.id if missed else started[-1].right[0].id
    helps = (
        "telemetry that shows this fault: a shorter transceivers.inspection_interval_s, or a longer drill"
        if missed
        else None
    )
    return [Figure("recall", FULL * (1 - len(missed) / len(started)), text, deciding, helps)]


def _named(body: FaultBegan) -> str:
    return f"{body.kind} {body.target}"


def _false_alarms(record: DrillRecord, false: list[Envelope]) -> Figure:
    if not false:
        return Figure("false alarms", FULL, "none", record.end_id)
    names = [opened.body.target for opened in false if isinstance(opened.body, RepairOpened)]
    text = f"{len(false)} repairs of parts that were not broken: {', '.join(names[:3])}"
    helps = "`lightwave why` on this repair: it names the readings that led to it"
    return Figure("false alarms", FULL / (1 + len(false)), text, false[0].id, helps)
