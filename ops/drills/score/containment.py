"""Containment: what the faults cost beyond the parts that they hit."""

from ops.drills.score.advice import SPARES, advice_for_probe, takes_cubes
from ops.drills.score.chip_hours import RunWithout, chip_hours_figure
from ops.drills.score.figures import FULL, Figure
from schemas.drill_plan import Phase, PlannedProbe
from schemas.messages.scheduler import SliceEvicted
from services.gateway.explain.drill_record import DrillRecord
from shared.basics.time_format import format_gap


def containment_figures(record: DrillRecord, without: RunWithout | None) -> list[Figure]:
    """Figures of the probes until the end of the method, of limits, evictions and chip-hours."""
    figures = probe_figures(record, ("gate", "method"))
    figures += _limits(record)
    figures.append(_evictions(record, without))
    figures.append(chip_hours_figure(without))
    return figures


def probe_figures(record: DrillRecord, phases: tuple[Phase, ...]) -> list[Figure]:
    """A figure for each probe: the share of its resources that did not deviate in these phases."""
    return [_probe(record, probe, phases) for probe in record.plan.probes]


def _probe(record: DrillRecord, probe: PlannedProbe, phases: tuple[Phase, ...]) -> Figure:
    spans = [
        (target, reading)
        for (name, target), readings in record.readings().items()
        if name == probe.name
        for reading in readings
        if reading.phase in phases
    ]
    measured = {target for target, reading in spans if reading.verdict != "not-measured"}
    deviated = [
        (message, body)
        for message, body in record.deviations
        if body.probe == probe.name and body.phase in phases
    ]
    name = f"probe {probe.name}"
    if not measured and not deviated:
        return Figure(name, None, "not measured", weight=probe.weight)
    if deviated:
        bad = {body.target for _, body in deviated}
        message, worst = max(deviated, key=lambda pair: pair[1].violated_us)
        return Figure(
            name,
            FULL * (1.0 - len(bad) / max(len(measured | bad), 1)),
            f"violated for {format_gap(worst.violated_us)} in the {worst.phase}, allowed "
            f"{format_gap(worst.allowed_us)}" + (f" ({len(bad)} resources)" if len(bad) > 1 else ""),
            message.id,
            advice_for_probe(probe.condition, record),
            probe.weight,
        )
    blind = [reading for _, reading in spans if reading.verdict == "not-measured"]
    if blind:
        text = f"not measured all the time: not from the {blind[0].phase} on"
        return Figure(name, None, text, blind[0].message, weight=probe.weight)
    violated_us: dict[str | None, int] = {}
    decided: str | None = None
    for target, reading in spans:
        if reading.verdict == "violated":
            violated_us[target] = violated_us.get(target, 0) + reading.until_us - reading.since_us
            decided = reading.message
    longest_us = max(violated_us.values(), default=0)
    text = (
        f"violated for {format_gap(longest_us)}, which is allowed" if violated_us else "passed all the time"
    )
    return Figure(name, FULL, text, decided or (spans[-1][1].message if spans else None), weight=probe.weight)


def _limits(record: DrillRecord) -> list[Figure]:
    """Whether a limit or a stop condition ended the drill; no figure if the document has none."""
    has_stop = any(probe.is_stop for probe in record.plan.probes)
    if not record.plan.limits and not has_stop:
        return []
    if record.stopped is not None and record.stopped[1].cause in ("limit", "stop-condition"):
        message, body = record.stopped
        helps = "a smaller blast radius: fewer targets, or more spare capacity before the drill"
        return [Figure("limits", 0.0, f"stopped: {body.reason}", message.id, helps)]
    allowed = ", ".join(f"{limit.what} at most {limit.at_most}" for limit in record.plan.limits)
    return [Figure("limits", FULL, f"none exceeded ({allowed or 'stop conditions'})", record.end_id)]


def _evictions(record: DrillRecord, without: RunWithout | None) -> Figure:
    first_us = record.phase_us("method") or 0
    found = [message for message, _ in record.each(SliceEvicted) if message.at_us >= first_us]
    before = 0 if without is None else without.evictions_without
    allowed = next((limit.at_most for limit in record.plan.limits if limit.what == "slices-evicted"), 0)
    beyond = max(0, len(found) - before)
    text = f"{len(found)} slices evicted" + ("" if without is None else f", {before} without the drill")
    if beyond <= allowed:
        return Figure("evictions", FULL, text, record.end_id)
    helps = "a recovery policy that allows routing"
    if takes_cubes(record):
        helps = f"{SPARES}, or a recovery policy that allows swaps and routing"
    return Figure("evictions", FULL * (allowed + 1) / (beyond + 1), text, found[-1].id, helps)
