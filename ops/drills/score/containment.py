"""Containment: what the faults cost beyond the parts that they hit."""

from dataclasses import dataclass

from ops.drills.score.advice import advice_for_probe
from ops.drills.score.figures import FULL, Figure
from schemas.drill_plan import Phase, PlannedProbe
from schemas.messages.scheduler import SliceEvicted
from services.gateway.explain.drill_record import DrillRecord
from shared.basics.time_format import format_chip_hours, format_gap


@dataclass(frozen=True, slots=True)
class RunWithout:
    """The same run of the lab without the drill, over the same time: chip-microseconds of productive work
    with and without the drill, and the slices that were evicted without it."""

    productive_us: int
    productive_us_without: int
    evictions_without: int


def containment_figures(record: DrillRecord, without: RunWithout | None) -> list[Figure]:
    """Figures of the probes until the end of the method, of limits, evictions and chip-hours."""
    figures = probe_figures(record, ("gate", "method"))
    figures += _limits(record)
    figures.append(_evictions(record, without))
    figures.append(_chip_hours(without))
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
            advice_for_probe(probe.condition),
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
    helps = "spare cubes: --set scheduler.hot_spares=N, or a recovery policy that allows swaps and routing"
    return Figure("evictions", FULL * (allowed + 1) / (beyond + 1), text, found[-1].id, helps)


def _chip_hours(without: RunWithout | None) -> Figure:
    name = "chip-hours"
    if without is None:
        return Figure(
            name, None, "not measured: only a run in the lab has a run without the drill to compare"
        )
    lost_us = without.productive_us_without - without.productive_us
    if without.productive_us_without <= 0:
        return Figure(name, None, "not measured: there was no productive work without the drill")
    score = min(FULL, FULL * without.productive_us / without.productive_us_without)
    word = "lost" if lost_us >= 0 else "gained"
    text = (
        f"{format_chip_hours(abs(lost_us))} chip-hours {word} of "
        f"{format_chip_hours(without.productive_us_without)} without the drill"
    )
    helps = "spare cubes (--set scheduler.hot_spares=N), or shorter checkpoint intervals"
    return Figure(name, score, text, None, helps if score < FULL - 1.0 else None)
