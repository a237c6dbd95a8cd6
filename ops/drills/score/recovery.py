"""Recovery: how long after the last step until the hypothesis is true again, or after the undo, if the drill
still had something to end."""

from ops.drills.score.advice import advice_for_probe
from ops.drills.score.figures import FULL, Figure, share_of_time
from schemas.drill_plan import Phase, PlannedProbe
from services.gateway.explain.drill_record import DrillRecord, ProbeKey, Reading
from shared.basics.time_format import format_gap

AFTER: tuple[Phase, ...] = ("settle", "undo", "verify")


def recovery_figures(record: DrillRecord) -> list[Figure]:
    """A figure for each probe: that of its slowest resource."""
    since_us = record.phase_us("settle")
    since_us = record.phase_us("undo") if since_us is None else since_us
    if since_us is None:
        return []
    by_probe: dict[str, list[tuple[ProbeKey, list[Reading]]]] = {}
    for key, readings in record.readings().items():
        by_probe.setdefault(key[0], []).append((key, readings))
    return [_probe(record, probe, by_probe.get(probe.name, []), since_us) for probe in record.plan.probes]


def _probe(
    record: DrillRecord, probe: PlannedProbe, rows: list[tuple[ProbeKey, list[Reading]]], since_us: int
) -> Figure:
    allowed_us = _allowed_us(record, probe)
    found = [
        _resource(record, probe, target, readings, since_us, allowed_us) for (_, target), readings in rows
    ]
    measured = [figure for figure in found if figure is not None and figure.score is not None]
    if not measured:
        return Figure(f"probe {probe.name}", None, "not measured", weight=probe.weight)
    return min(measured, key=lambda figure: figure.score if figure.score is not None else FULL)


def _allowed_us(record: DrillRecord, probe: PlannedProbe) -> int:
    """The time that the document allows this probe in the settle phase: its allowance, else all of it."""
    allowed = [a.for_us for a in record.plan.allowances if a.probe == probe.name and a.phase == "settle"]
    return max([*allowed, 0]) or record.plan.settle_us


def _has_undone(record: DrillRecord) -> bool:
    """Whether the drill ended something itself: then the site could recover only from there on."""
    return any(order.body.is_undo for order in record.orders.values())


def _resource(
    record: DrillRecord,
    probe: PlannedProbe,
    target: str | None,
    readings: list[Reading],
    since_us: int,
    allowed_us: int,
) -> Figure | None:
    """The time until a probe was true of a resource for good; None if it was not measured, or not in the
    end."""
    after = [reading for reading in readings if reading.phase in AFTER]
    if not after or after[-1].verdict == "not-measured":
        return None
    after = [reading for reading in after if reading.verdict != "not-measured"]
    name = f"probe {probe.name}" if target is None else f"probe {probe.name} of {target}"
    last = after[-1]
    if last.verdict == "violated":
        measured = f"not back after {format_gap(last.until_us - since_us)}, in the phase {last.phase}"
        return Figure(
            name, 0.0, measured, last.message, advice_for_probe(probe.condition, record), probe.weight
        )
    violated = [reading for reading in after if reading.verdict == "violated"]
    if not violated:
        return Figure(name, FULL, "true at the last step", last.message, weight=probe.weight)
    undo_us = record.phase_us("undo")
    if undo_us is not None and violated[-1].until_us > undo_us and _has_undone(record):
        since_us, allowed_us = undo_us, max(record.plan.undo_us, allowed_us)
    took_us = violated[-1].until_us - since_us
    back = next(reading for reading in after if reading.since_us >= violated[-1].until_us)
    helps = None if took_us <= allowed_us else advice_for_probe(probe.condition, record)
    text = f"back after {format_gap(took_us)}, allowed {format_gap(allowed_us)}"
    text += f", in the phase {back.phase}" if back.phase != "settle" else ""
    return Figure(name, share_of_time(took_us, allowed_us), text, back.message, helps, probe.weight)
