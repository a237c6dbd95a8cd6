"""Runs a drill in the lab: fresh fabrics, a warm-up, the drill, and the same run without it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ops.drills.document import Drill
from ops.drills.score.chip_hours import WORK, RunWithout
from ops.drills.score.figures import DrillScore
from ops.drills.score.score import score_drill
from ops.lab.site_run import SiteRun
from schemas.config.pods import FabricConfig
from schemas.drill_process_steps import process_problem
from schemas.envelope import Envelope
from schemas.files.site_plan import SitePlan
from schemas.messages.drill_requests import RunDrill
from schemas.messages.drills import DrillEnded, DrillRefused
from schemas.messages.scheduler import SliceEvicted
from services.gateway.explain.drill_record import DrillRecord, read_record
from services.totals.pod_totals import PodTotals
from shared.basics.errors import InvalidInput
from shared.basics.units import US_PER_HOUR
from shared.engine.site_driver import LabRequest
from shared.models.fabric_plants import plant_of
from shared.models.jobs.goodput_accounting import sum_by_category
from shared.models.plant.plant_format import Plant
from shared.runtimes.lab import Sink

AFTER_LEASE_US = US_PER_HOUR
"""Beyond its lease and its last phase a drill has at most this long to end."""


@dataclass(frozen=True, slots=True)
class LabDrill:
    """A drill on new fabrics, `warm_up_us` after their start. `seed` is that of the drill and, in `site`, of
    the fabrics."""

    drill: Drill
    site: SitePlan
    seed: int
    warm_up_us: int


@dataclass(frozen=True, slots=True)
class LabDrillResult:
    """The result: the score, the log's record, the number of messages and the digest of the whole log."""

    score: DrillScore
    record: DrillRecord
    without: RunWithout | None
    messages: int
    log_sha256: str


class _Watch:
    """Collects the messages from the request of the drill on, and sees its end."""

    def __init__(self) -> None:
        self.messages: list[Envelope] = []
        self.has_ended = False

    def see(self, cascade: Sequence[Envelope]) -> None:
        self.messages += cascade
        self.has_ended = self.has_ended or any(isinstance(m.body, DrillEnded | DrillRefused) for m in cascade)


def run_lab_drill(plan: LabDrill, *, pair: bool = True, sink: Sink | None = None) -> LabDrillResult:
    """Run a drill to its end; with `pair`, run the same fabrics without it as well.

    `sink` receives the lines of the log. Raises InvalidInput if the site lacks the drill's fabric, or if a
    step acts on a process.
    """
    if plan.drill.fabric not in plan.site.fabrics:
        known = ", ".join(plan.site.fabrics)
        raise InvalidInput(
            f"fabric: the drill is addressed to {plan.drill.fabric}, which the lab lacks; must be one "
            f"of {known}"
        )
    problem = process_problem(plan.drill.plan, None, "in the lab")
    if problem is not None:
        raise InvalidInput(problem)
    watch = _Watch()
    run = SiteRun(plan.site, sink=sink, observers=(watch,))
    run.run(plan.warm_up_us - 1)
    before = {} if not pair else _chip_us(run)
    body = RunDrill(plan=plan.drill.plan, seed=plan.seed)
    drill = plan.drill.plan
    until_us = plan.warm_up_us + drill.lease_us + drill.undo_us + drill.verify_us + AFTER_LEASE_US
    request = LabRequest(plan.warm_up_us, plan.drill.fabric, body, 1)
    run.run(until_us, (request,), lambda: watch.has_ended)
    record = read_record(enumerate(watch.messages), None, plants_of(plan.site.fabrics))
    without = None
    if pair and record.end is not None and record.phase_us("method") is not None:
        without = _run_without(plan, record, _more_us(_chip_us(run), before))
    return LabDrillResult(score_drill(record, without), record, without, run.lab.messages, run.lab.log_sha256)


def _run_without(plan: LabDrill, record: DrillRecord, with_us: Mapping[str, int]) -> RunWithout:
    """The same run without the drill, until the time at which the drill ended. `with_us` is the chip-time of
    the drill by category."""
    first_us = record.phase_us("method") or 0
    watch = _Watch()
    run = SiteRun(plan.site, observers=(watch,))
    run.run(plan.warm_up_us - 1)
    before = _chip_us(run)
    run.run(record.end_us)
    without_us = _more_us(_chip_us(run), before)
    evictions = [m for m in watch.messages if isinstance(m.body, SliceEvicted) and m.at_us >= first_us]
    more_us = {name: us for name, us in _more_us(with_us, without_us).items() if name not in WORK}
    total_us = sum(without_us.values())
    return RunWithout(_work_us(with_us), _work_us(without_us), len(evictions), more_us, total_us)


def _chip_us(run: SiteRun) -> dict[str, int]:
    """Chip-microseconds of all pods of the site so far, by category."""
    totals = [total for total in run.read_totals().values() if isinstance(total, PodTotals)]
    return sum_by_category(total.chip_time.chip_us for total in totals)


def _more_us(later: Mapping[str, int], earlier: Mapping[str, int]) -> dict[str, int]:
    """The difference by category."""
    return {name: us - earlier.get(name, 0) for name, us in later.items()}


def _work_us(chip_us: Mapping[str, int]) -> int:
    """Chip-microseconds of work that no fault took."""
    return sum(chip_us.get(name, 0) for name in WORK)


def plants_of(fabrics: Mapping[str, FabricConfig]) -> dict[str, Plant]:
    """Fabric → its plant."""
    return {name: plant_of(config.kind, config.hardware) for name, config in fabrics.items()}
