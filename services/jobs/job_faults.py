"""Faults of hosts, chips, cables and cube power under a job.

The job takes no more steps. It notices the fault by an error within seconds, or by a timeout within minutes
because it hangs. The delay is drawn by slice and start. It does not depend on what the twin's monitoring
sees.
"""

from functools import cache

from schemas.envelope import Envelope
from schemas.messages.failures import FaultBegan, FaultEnded
from services.jobs.state import BrokenPart, Job, JobsState, Symptom
from services.jobs.throttling import on_cooling_back, on_cooling_lost
from services.jobs.transitions import change_job, signals, store_job
from shared.basics.keyed_random import draw_exponential, draw_uniform
from shared.basics.units import US_PER_S, to_whole_us
from shared.engine.service import Output
from shared.models.jobs.job_progress import TAKES_STEPS, hung, progress_at
from shared.models.plant.plant_format import Part
from shared.models.superpod.cables import cable_chips
from shared.models.superpod.superpod_plant import superpod_plant
from shared.models.superpod.wiring import CHIPS_PER_CUBE, CHIPS_PER_HOST, chip_in_cube


def on_fault_began(state: JobsState, body: FaultBegan, message: Envelope) -> list[Output]:
    """Record a broken part. Jobs on it hang, and do not notice yet."""
    if body.kind == "cooling":
        return on_cooling_lost(state, body, message)
    if body.kind not in ("host", "chip", "cable", "cube-power"):
        return []
    place = superpod_plant(state.cubes).parse(body.target)
    is_link = place.kind == "cable"
    state.broken[body.fault] = BrokenPart(body.target, place["cube"], _chips_of(place), message.id, is_link)
    return [emitted for number in sorted(state.jobs) for emitted in hang_if_broken(state, number)]


def on_fault_ended(state: JobsState, body: FaultEnded, message: Envelope) -> list[Output]:
    """Remove a broken part. A job that it hit still has to restart."""
    if body.kind == "cooling":
        return on_cooling_back(state, body, message)
    state.broken.pop(body.fault, None)
    return []


def _chips_of(part: Part) -> tuple[int, ...]:
    """The chips of its cube that a part takes down; for a cable, those at its ends."""
    if part.kind == "cube":
        return tuple(range(CHIPS_PER_CUBE))
    if part.kind == "cable":
        return cable_chips(part["cable"])
    first = CHIPS_PER_HOST * part["host"]
    return (first + part["chip"],) if part.kind == "chip" else tuple(range(first, first + CHIPS_PER_HOST))


def hang_if_broken(state: JobsState, number: int) -> list[Output]:
    """Hang a job that starts, steps or writes on a broken part, and schedule its symptom."""
    job = state.jobs.get(number)
    if job is None or job.progress.phase == "hung":
        return []
    if _broken_under(state, job) is None:
        return []
    if number in state.multislice_jobs:
        progress = progress_at(job.progress, state.now_us)
        return [*signals(state, number, "hangs")] if progress.phase in TAKES_STEPS else []
    emitted = change_job(state, number, hung, job.cause)
    return emitted + schedule_symptom(state, number)


def schedule_symptom(state: JobsState, number: int) -> list[Output]:
    """Schedule when a hung job notices its broken part."""
    job = state.jobs.get(number)
    if job is not None and job.progress.phase == "hung" and job.symptom is None:
        part = _broken_under(state, job)
        if part is not None:
            store_job(state, number, job, job.progress, _symptom(state, number, job, part))
    return []


def _broken_under(state: JobsState, job: Job) -> BrokenPart | None:
    return next((part for part in state.broken.values() if _is_on(job, part)), None)


def _is_on(job: Job, part: BrokenPart) -> bool:
    if part.cube not in job.cubes:
        return False
    used = used_chips(job.shape, job.corner)
    return used.issuperset(part.chips) if part.is_link else not used.isdisjoint(part.chips)


def _symptom(state: JobsState, number: int, job: Job, part: BrokenPart) -> Symptom:
    name, start = f"{state.fabric}/slice-{number}", job.progress.starts
    if draw_uniform(state.seed, name, "hangs at a fault", start) < state.config.hang_share:
        return Symptom(state.now_us + state.config.hang_s * US_PER_S, part, "hang")
    after_s = draw_exponential(state.seed, name, "notices an error", start, state.config.error_s)
    return Symptom(state.now_us + to_whole_us(after_s, US_PER_S), part, "error")


@cache
def used_chips(shape: tuple[int, int, int], corner: tuple[int, int, int] | None) -> frozenset[int]:
    """The chips that a slice uses in each of its cubes, by number in the cube."""
    if corner is None:
        return frozenset(range(CHIPS_PER_CUBE))
    x, y, z = [range(least, least + side) for least, side in zip(corner, shape, strict=True)]
    return frozenset(chip_in_cube((i, j, k)) for i in x for j in y for k in z)
