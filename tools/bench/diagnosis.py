"""Group `diagnosis`: how well link faults are found from readings alone.

The scene is a full pod with slices, maintenance drains, and hosts, modules and OCSes that fail at natural
rates. Hard kinds of faults occur about equally often (balanced), at natural rates, or never (false alarms).
Thresholds were set with seed 0 and the swarm's small pods; other seeds are scored.
"""

import random
import statistics
from collections.abc import Iterator

from joblib import Parallel, delayed

from ops.sites.configuration import superpod_config
from schemas.messages.operator import DrainCube, InjectFault, UndrainCube
from schemas.names import FaultKind
from schemas.registry import decode
from services.fabric_kinds import services_of
from shared.basics.units import US_PER_DAY, US_PER_HOUR, to_whole_us
from shared.engine.site_driver import LabRequest
from shared.models.faults.fault_kinds import FAULTS
from shared.models.superpod.wiring import FACES
from shared.runtimes.lab import Lab
from tools.bench.diagnosis_score import HARD_KINDS, DiagnosisScore, ScoreRow, precision, score_rows
from tools.bench.figure import BenchFigure

POD, CUBES = "pod-0", 64
SCORED_SEEDS = (101, 102)
DAYS = 90.0
QUIET_DAYS = 30.0
"""No fault is injected in the last days, so that slow faults have time to show."""
A_DAY = 4.0
"""Injected link faults per day of the balanced runs: about thirty times the natural rate."""
BATCHES = 1
SHARE_OF_SHAKES = 0.3
"""A chassis that shakes hides other faults of its links, so fewer are injected."""
TECHNICIANS = 64
NATURAL_DAYS = 365.0
SEEN = (
    b'"FaultBegan"',
    b'"FaultEnded"',
    b'"CircuitsConnected"',
    b'"CircuitsDisconnected"',
    b'"VerdictGiven"',
)
"""Types of messages that the score reads, as they appear in a line of the log."""


def measure_diagnosis(quick: bool) -> list[BenchFigure]:
    """Measure recall and precision by kind, time to find, and false alarms."""
    share = 0.35 if quick else 1.0
    seeds = SCORED_SEEDS[:1] if quick else SCORED_SEEDS
    plans = [("balanced", seed, DAYS * max(share, 0.5)) for seed in seeds]
    plans += [("natural", seed, NATURAL_DAYS * share) for seed in seeds]
    plans += [("healthy", seed, DAYS * share) for seed in seeds]
    found = Parallel(n_jobs=-1)(delayed(_run)(*plan) for plan in plans)
    scores = {
        name: [score for (kind, _, _), score in zip(plans, found, strict=True) if kind == name]
        for name in ("balanced", "natural", "healthy")
    }
    figures = [*_by_kind("balanced", scores["balanced"]), *_totals("natural", scores["natural"])]
    return [*figures, *_alarms(scores["healthy"], sum(days for name, _, days in plans if name == "healthy"))]


def _run(name: str, seed: int, days: float) -> DiagnosisScore:
    pairs = ["repairs.technicians=4", "transceivers.telemetry_interval_s=0"]
    if name != "natural":
        pairs += ["failures.optics_per_day=0"]
    if name == "balanced":
        pairs[0] = f"repairs.technicians={TECHNICIANS}"
    config = superpod_config(pairs, seed=seed)
    score = DiagnosisScore(CUBES, round(days * US_PER_DAY))

    def see(lines: bytes) -> None:
        for line in lines.splitlines():
            if any(name in line for name in SEEN):
                score.see(decode(line))

    lab = Lab(POD, {POD: config}, services_of, sink=see)
    draw = random.Random(f"{name} {seed}")  # noqa: S311 -- no secret
    asked = [*_maintenance(draw, days), *(_faults(draw, days) if name == "balanced" else ())]
    asked.sort(key=lambda row: row[0])
    lab.run(
        round(days * US_PER_DAY),
        [LabRequest(at_us, POD, body, number) for number, (at_us, body) in enumerate(asked, start=1)],
    )
    return score


def _maintenance(draw: random.Random, days: float) -> Iterator[tuple[int, DrainCube | UndrainCube]]:
    """Yield drains for maintenance: one cube per day is out of use for some hours."""
    for day in range(int(days)):
        cube = f"{POD}/cube-{draw.randrange(CUBES)}"
        from_us = day * US_PER_DAY + draw.randrange(12) * US_PER_HOUR
        yield from_us, DrainCube(cube=cube)
        yield from_us + draw.randrange(2, 12) * US_PER_HOUR, UndrainCube(cube=cube)


def _faults(draw: random.Random, days: float) -> Iterator[tuple[int, InjectFault]]:
    """Yield faults of all kinds in turn, at drawn parts and times. Slow kinds develop as slowly as natural
    ones."""
    kinds = [kind for kind in HARD_KINDS if kind != "batch"]
    for number in range(int(A_DAY * (days - QUIET_DAYS))):
        kind = kinds[number % len(kinds)]
        if kind == "shake" and draw.random() > SHARE_OF_SHAKES:
            continue
        yield _injected(draw, kind, days)
    for _ in range(BATCHES):
        yield _injected(draw, "batch", days)


def _injected(draw: random.Random, kind: FaultKind, days: float) -> tuple[int, InjectFault]:
    mean_h = FAULTS[kind].onset_h
    onset_us = None if not mean_h else to_whole_us(mean_h * draw.uniform(0.5, 1.5), US_PER_HOUR)
    at_us = round(draw.uniform(0.0, days - QUIET_DAYS) * US_PER_DAY)
    return at_us, InjectFault(kind=kind, target=_target(draw, kind), onset_us=onset_us)


def _target(draw: random.Random, kind: FaultKind) -> str:
    ocs = f"{POD}/ocs-{draw.randrange(48)}"
    match kind:
        case "shake":
            return ocs
        case "mirror":
            return f"{ocs}/{draw.choice('NS')}{draw.randrange(2 * CUBES)}"
        case "batch":
            return f"{POD}/batch-{draw.randrange(64)}"
    return f"{POD}/cube-{draw.randrange(CUBES)}/{draw.choice(FACES)}/{draw.randrange(16)}"


def _by_kind(name: str, scores: list[DiagnosisScore]) -> Iterator[BenchFigure]:
    """Yield a row of the confusion matrix per kind, and how often the verdict of that name was correct."""
    known = precision(scores)
    for row in score_rows(scores):
        right, given = known.get(row.kind, (0, 0))
        how = f"{row.faults} faults diagnosed as {_words(row)}; found after {_hours(row)}"
        yield BenchFigure(f"{name} {row.kind} recall", round(row.recall, 3), "share", "at least 0.95", how)
        if given:
            yield BenchFigure(
                f"{name} {row.kind} precision",
                round(right / given, 3),
                "share",
                "at least 0.9",
                f"{given} first verdicts",
            )
    yield from _totals(name, scores)


def _totals(name: str, scores: list[DiagnosisScore]) -> Iterator[BenchFigure]:
    found, known = [*score_rows(scores)], precision(scores)
    faults = sum(row.faults for row in found)
    hits = sum(row.recall * row.faults for row in found)
    right, given = (sum(pair[place] for pair in known.values()) for place in (0, 1))
    seeds = ", ".join(map(str, SCORED_SEEDS[: len(scores)]))
    how = f"all hard kinds, seeds {seeds}: " + "; ".join(f"{row.kind} {row.faults}" for row in found)
    yield BenchFigure(f"{name} recall", round(hits / max(faults, 1), 3), "share", "at least 0.95", how)
    yield BenchFigure(
        f"{name} precision",
        round(right / max(given, 1), 3),
        "share",
        "at least 0.9",
        f"{given} first verdicts",
    )


def _alarms(scores: list[DiagnosisScore], days: float) -> Iterator[BenchFigure]:
    false = [words for score in scores for words in score.false]
    how = f"{days:g} days of busy pods with no link faults except dead modules: {len(false)} verdicts"
    yield BenchFigure("healthy false alarms", round(len(false) / days, 4), "1/pod-day", "at most 0.1", how)


def _words(row: ScoreRow) -> str:
    return ", ".join(f"{name} {count}" for name, count in row.held_for.items())


def _hours(row: ScoreRow) -> str:
    if not row.hours:
        return "never"
    late = row.hours[min(int(0.95 * len(row.hours)), len(row.hours) - 1)]
    return f"{statistics.median(row.hours):.1f} h (median), {late:.0f} h (95 %)"
