"""Undo: whether everything that the drill began has ended, and the hypothesis is true afterwards."""

from ops.drills.score.containment import probe_figures
from ops.drills.score.figures import FULL, Figure
from schemas.envelope import Envelope
from schemas.messages.cubes import CubeDrained, CubeUndrained
from schemas.messages.failures import FaultBegan, FaultEnded, ParametersChanged
from services.drills.requests import outlasts
from services.gateway.explain.drill_record import DrillRecord, RecordedOrder


def undo_figures(record: DrillRecord) -> list[Figure]:
    """What has ended, checked with the log and not only with the drill's own report; and the probes."""
    begun: dict[str, tuple[str, str | None]] = {}
    """What the drill began → (the message that began it, the one that ended it)."""
    for message in record.messages:
        order = record.orders.get(message.cause or "")
        match message.body:
            case FaultBegan(fault=name) if order is not None:
                begun[name] = message.id, None
            case FaultEnded(fault=name) if name in begun:
                begun[name] = begun[name][0], message.id
            case CubeDrained(cube=cube) as body:
                name = f"drain of {message.fabric}/cube-{cube}"
                if name in begun and begun[name][1] is None and _gives_back(message, order):
                    begun[name] = begun[name][0], message.id
                elif _is_own_drain(body, order, message.at_us):
                    begun[name] = message.id, None
            case CubeUndrained(cube=cube) if (name := f"drain of {message.fabric}/cube-{cube}") in begun:
                begun[name] = begun[name][0], message.id
            case ParametersChanged(changes=changes) if order is not None:
                for change in changes:
                    name = f"{message.fabric} {change.name}"
                    if order.body.is_undo and name in begun:
                        begun[name] = begun[name][0], message.id
                    elif not order.body.is_undo:
                        begun[name] = message.id, None
    left = [*(() if record.end is None else record.end.left)]
    open_ = [name for name, (_, ended) in begun.items() if ended is None]
    not_ended = list(dict.fromkeys([*open_, *left]))
    figures: list[Figure] = []
    if begun or left:
        total = len(begun) + len([name for name in left if name not in begun])
        first_left = begun[open_[0]][0] if open_ else None
        last_end = next((ended for _, ended in reversed(begun.values()) if ended is not None), None)
        figures.append(
            Figure(
                "everything ended",
                FULL * (1.0 - len(not_ended) / total),
                f"{total - len(not_ended)} of {total} ended"
                + (f"; left: {', '.join(not_ended[:5])}" if not_ended else ""),
                first_left or last_end or record.end_id,
                "end it by hand, and report the refusal of its end as a fault of the twin"
                if not_ended
                else None,
            )
        )
    return [*figures, *probe_figures(record, ("undo", "verify"))]


def _gives_back(message: Envelope, order: RecordedOrder | None) -> bool:
    """Whether a drain takes the cube over from the drill: one of an operator or for planned work, or an
    earlier one to which the undo gives it back."""
    if order is not None:
        return order.body.is_undo
    return not (message.cause or "").startswith("drills@")


def _is_own_drain(body: CubeDrained, order: RecordedOrder | None, at_us: int) -> bool:
    return order is not None and not order.body.is_undo and not outlasts(body, order.body.request, at_us)
