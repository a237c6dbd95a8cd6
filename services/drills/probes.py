"""The queries of a drill about its site, and the lamps that their answers set."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from schemas.drill_plan import (
    BEGAN_MARK,
    CONDITION_MAX,
    DrillPlan,
    Phase,
    PlannedProbe,
    PlannedStep,
    PlannedTarget,
)
from schemas.messages.drills import DrillDeviated, ProbeChanged, Verdict
from schemas.site_readings import CountReading, SiteQuery, SiteReading
from services.drills.requests import placed, requests_of, typed_text_of
from services.drills.state import DrillRun, Lamp
from shared.engine.service import Output

Answers = Mapping[SiteQuery, SiteReading]
NO_READER = SiteReading(problem="the runtime has not read the site")
AND = " and "
OWN_LIMITS = frozenset({"faults"})
"""Limits that the drill counts itself."""


def answers_of(queries: Sequence[SiteQuery], readings: Sequence[SiteReading] | None) -> Answers:
    """Query → its answer."""
    if readings is None or len(readings) != len(queries):
        return {}
    return dict(zip(queries, readings, strict=True))


def target_query(target: PlannedTarget) -> SiteQuery:
    """The query for the resources from which a target is drawn."""
    return SiteQuery(what="names", fabric=target.fabric, text=target.kind, where=target.where)


def fabrics_of(plan: DrillPlan, home: str) -> tuple[str, ...]:
    """The fabrics on which a drill acts, its home first."""
    others = [step.fabric for step in plan.steps if step.fabric is not None]
    return tuple(dict.fromkeys([home, *others]))


def placed_probes(plan: DrillPlan, run: DrillRun) -> Iterator[tuple[PlannedProbe, str | None]]:
    """(probe, resource) for every measurement of the hypothesis."""
    for probe in plan.probes:
        if probe.each is None:
            yield probe, None
        else:
            for name in run.names_of(probe.each):
                yield probe, name


def probe_query(probe: PlannedProbe, target: str | None, run: DrillRun, home: str) -> SiteQuery:
    """The query of one measurement of a probe."""
    text = _timed(placed(probe.condition, probe.each, target or ""), run)
    return SiteQuery(what="condition", fabric=probe.fabric or home, text=text)


def _timed(text: str, run: DrillRun) -> str:
    return text.replace(BEGAN_MARK, str(run.began_us))


def wait_queries(step: PlannedStep, run: DrillRun, home: str) -> list[SiteQuery]:
    """The condition of a wait; with a target it must be true of all its resources. It is one query, or
    several if one would be longer than a condition can be."""
    fabric, text = step.fabric or home, _timed(step.condition or "", run)
    texts = [text]
    names = () if step.each is None else run.names_of(step.each)
    if names:
        texts = []
        for one in (f"({placed(text, step.each, name)})" for name in names):
            if texts and len(texts[-1]) + len(AND) + len(one) <= CONDITION_MAX:
                texts[-1] += AND + one
            else:
                texts.append(one)
    return [SiteQuery(what="condition", fabric=fabric, text=one) for one in texts]


def has_site_limits(plan: DrillPlan) -> bool:
    """Whether the blast radius needs counts of the site."""
    return any(limit.what not in OWN_LIMITS for limit in plan.limits)


def count_queries(plan: DrillPlan, home: str) -> list[SiteQuery]:
    """The counts of the blast radius as they are."""
    if not has_site_limits(plan):
        return []
    return [SiteQuery(what="impact", fabric=fabric, text="") for fabric in fabrics_of(plan, home)]


def impact_query(step: PlannedStep, run: DrillRun, home: str) -> SiteQuery | None:
    """The counts of the blast radius, predicted for the next repeat of a step; None if it has no requests."""
    try:
        requests = requests_of(step, run.names_of(step.each) if step.each else ())
    except ValueError:
        return None
    texts = tuple(typed_text_of(request) for request in requests)
    return SiteQuery(what="impact", fabric=step.fabric or home, text="", requests=texts) if texts else None


def total(answers: Answers, queries: Sequence[SiteQuery]) -> dict[str, int] | str:
    """The sum of counts over fabrics, or why there is none."""
    found: dict[str, int] = {}
    for query in queries:
        reading = answers.get(query, NO_READER)
        if reading.counts is None:
            return reading.problem or "not counted"
        for one in reading.counts:
            found[one.what] = found.get(one.what, 0) + one.count
    return found


def counts(found: Mapping[str, int]) -> tuple[CountReading, ...]:
    return tuple(CountReading(what=what, count=count) for what, count in sorted(found.items()))


def read_lamp(
    lamp: Lamp | None,
    phase: Phase,
    probe: PlannedProbe,
    target: str | None,
    allowed: int,
    reading: SiteReading,
    now_us: int,
) -> Lamp:
    """The lamp of a probe after a reading; `lamp` is the one before it in this phase."""
    verdict: Verdict = "not-measured"
    if reading.holds is not None:
        verdict = "passed" if reading.holds else "violated"
    violated_us, since_us, deviated = 0, now_us, False
    if lamp is not None:
        violated_us, deviated = lamp.violated_us, lamp.deviated
        if lamp.verdict == "violated":
            violated_us += now_us - lamp.read_us
        if lamp.verdict == verdict:
            since_us = lamp.since_us
    is_out = violated_us > allowed or (verdict == "violated" and not allowed)
    return Lamp(
        phase=phase,
        probe=probe.name,
        target=target,
        verdict=verdict,
        since_us=since_us,
        read_us=now_us,
        violated_us=violated_us,
        allowed_us=allowed,
        deviated=deviated or is_out,
        compared=reading.compared or (),
        problem=None if reading.holds is not None else reading.problem or "not measured",
    )


def read_lamps(
    plan: DrillPlan, run: DrillRun, drill: str, home: str, answers: Answers, now_us: int
) -> tuple[DrillRun, list[Output], list[Lamp]]:
    """Read all probes. Returns the drill with its lamps, the messages about what changed, and the lamps that
    have just deviated."""
    lamps = {(lamp.phase, lamp.probe, lamp.target): lamp for lamp in run.lamps}
    emitted: list[Output] = []
    deviating: list[Lamp] = []
    for probe, target in placed_probes(plan, run):
        key = (run.phase, probe.name, target)
        before = lamps.get(key)
        reading = answers.get(probe_query(probe, target, run, home), NO_READER)
        allowed = plan.allowed_us(probe.name, run.phase)
        lamp = lamps[key] = read_lamp(before, run.phase, probe, target, allowed, reading, now_us)
        if before is None or before.verdict != lamp.verdict:
            compared = lamp.compared if lamp.problem is None else (lamp.problem,)
            emitted.append(
                ProbeChanged(
                    drill=drill,
                    phase=run.phase,
                    probe=probe.name,
                    target=target,
                    verdict=lamp.verdict,
                    compared=compared,
                )
            )
        if lamp.deviated and not (before and before.deviated):
            deviating.append(lamp)
            emitted.append(
                DrillDeviated(
                    drill=drill,
                    phase=run.phase,
                    probe=probe.name,
                    target=target,
                    violated_us=lamp.violated_us,
                    allowed_us=allowed,
                )
            )
    deviated = run.deviated or bool(deviating)
    return replace(run, lamps=tuple(lamps.values()), deviated=deviated, has_read=True), emitted, deviating


def close_lamps(run: DrillRun, drill: str, now_us: int) -> tuple[DrillRun, list[Output]]:
    """The drill at the end of its phase, and the messages about probes that have deviated since their last
    reading: what was violated then has been violated until now."""
    lamps: list[Lamp] = []
    emitted: list[Output] = []
    for lamp in run.lamps:
        if lamp.phase != run.phase or lamp.verdict != "violated":
            lamps.append(lamp)
            continue
        violated_us = lamp.violated_us + now_us - lamp.read_us
        is_out = violated_us > lamp.allowed_us
        if is_out and not lamp.deviated:
            emitted.append(
                DrillDeviated(
                    drill=drill,
                    phase=lamp.phase,
                    probe=lamp.probe,
                    target=lamp.target,
                    violated_us=violated_us,
                    allowed_us=lamp.allowed_us,
                )
            )
        deviated = lamp.deviated or is_out
        lamps.append(replace(lamp, read_us=now_us, violated_us=violated_us, deviated=deviated))
    return replace(run, lamps=tuple(lamps), deviated=run.deviated or bool(emitted)), emitted


def lamps_now(run: DrillRun) -> list[Lamp]:
    """The lamps of the current phase."""
    return [lamp for lamp in run.lamps if lamp.phase == run.phase]
