"""Speeds of multislice jobs and traffic of networks in copies of a site, and the differences between two
copies."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

from schemas.api.whatif import JobEffect, JobSpeedFigures, TrafficEffect, TrafficFigures
from schemas.messages.scheduler import FULL_SPEED
from schemas.messages.traffic import TrafficCarried
from schemas.names import number_of
from services.jobs.state import Job, JobsState, MultisliceJob
from services.traffic.state import TrafficState
from shared.engine.site import Site
from shared.models.dcn.routing.carried_traffic import PPM
from shared.models.jobs.job_progress import TAKES_STEPS
from shared.models.jobs.multislice_jobs import ring_bytes

FactT = TypeVar("FactT")


@dataclass(frozen=True, slots=True)
class JobSpeed:
    """The speed of a job."""

    speed_ppm: int
    """Parts per million of full speed; 0 while the job is stopped."""
    gbps: float | None
    """The bandwidth that the network gives each of its pods, in Gb/s."""


@dataclass(frozen=True, slots=True)
class SpeedSample:
    """The multislice jobs and the networks with traffic, by name, from `at_us` on."""

    at_us: int
    jobs: Mapping[str, JobSpeed]
    traffic: Mapping[str, TrafficCarried]


def sample_speeds(site: Site) -> SpeedSample:
    """Sample the current speeds and traffic of a site."""
    jobs: dict[str, JobSpeed] = {}
    traffic: dict[str, TrafficCarried] = {}
    for instance in site.instances:
        state = instance.state
        if isinstance(state, JobsState):
            jobs |= {team.job: _job_speed(team, state.jobs[number]) for number, team in _teams(state)}
        elif isinstance(state, TrafficState) and state.last is not None:
            traffic[instance.fabric] = state.last
    return SpeedSample(site.now_us, jobs, traffic)


def slices_by_job(site: Site) -> dict[str, tuple[str, ...]]:
    """The slices of every multislice job, in order of pod."""
    slices: dict[str, list[str]] = {}
    for instance in site.instances:
        if isinstance(instance.state, JobsState):
            for number, team in _teams(instance.state):
                slices.setdefault(team.job, []).append(f"{instance.fabric}/slice-{number}")
    return {job: tuple(names) for job, names in slices.items()}


def _teams(state: JobsState) -> list[tuple[int, MultisliceJob]]:
    return [(number, team) for number, team in sorted(state.multislice_jobs.items()) if number in state.jobs]


def _job_speed(team: MultisliceJob, job: Job) -> JobSpeed:
    """The speed of a job, the same in all its pods. It is 0 if the network gives it no bandwidth although it
    sends data."""
    is_stopped = job.progress.phase not in TAKES_STEPS or (
        team.gbps == 0.0 and ring_bytes(len(team.pods), team.gradient_bytes) > 0
    )
    return JobSpeed(0 if is_stopped else job.progress.speed_ppm, team.gbps)


def carried_figures(traffic: TrafficCarried) -> TrafficFigures:
    """The reported traffic, as shares."""
    return TrafficFigures(
        use=traffic.use_ppm / PPM,
        bound=traffic.bound_ppm / PPM,
        served=traffic.served_ppm / PPM,
        transit=(PPM - traffic.direct_ppm) / PPM,
        path=traffic.path_ppm / PPM,
        cut_off=traffic.cut_off,
    )


def job_effects(
    done: Sequence[SpeedSample],
    left: Sequence[SpeedSample],
    slices: Mapping[str, tuple[str, ...]],
    until_us: int,
) -> tuple[JobEffect, ...]:
    """The jobs whose speed differs at some time until `until_us`, those that lose most first.

    Each row shows the speeds of the period with the largest effect: difference × duration.
    """
    effects: list[JobEffect] = []
    for job in slices:
        times = _times([(m.at_us, m.jobs.get(job)) for m in done], [(m.at_us, m.jobs.get(job)) for m in left])
        gaps = [abs(now.speed_ppm - without.speed_ppm) for _, now, without in times]
        if not any(gaps):
            continue
        effect_sizes = [gap * span_us for gap, span_us in zip(gaps, _spans(times, until_us), strict=True)]
        most = effect_sizes.index(max(effect_sizes))
        # A job keeps the last rate that it was given, so small differences can outlive their cause.
        significant = [n for n, gap in enumerate(gaps) if 2 * gap >= gaps[most]]
        _, now, without = times[most]
        last = significant[-1] + 1
        effect = JobEffect(
            job=job,
            slices=slices[job],
            becomes=_becomes(now, without),
            before=JobSpeedFigures(speed=without.speed_ppm / FULL_SPEED, gbps=without.gbps),
            after=JobSpeedFigures(speed=now.speed_ppm / FULL_SPEED, gbps=now.gbps),
            from_us=times[significant[0]][0],
            until_us=times[last][0] if last < len(times) else None,
        )
        effects.append(effect)
    return tuple(sorted(effects, key=lambda row: (row.after.speed - row.before.speed, _order(row.job))))


def _becomes(now: JobSpeed, without: JobSpeed) -> Literal["stopped", "slower", "faster", "runs"]:
    if not now.speed_ppm:
        return "stopped"
    if not without.speed_ppm:
        return "runs"
    return "slower" if now.speed_ppm < without.speed_ppm else "faster"


def _order(name: str) -> tuple[int, str]:
    return number_of(name), name


def traffic_effects(
    done: Sequence[SpeedSample], left: Sequence[SpeedSample], until_us: int
) -> tuple[TrafficEffect, ...]:
    """The networks whose traffic differs until `until_us`.

    Each row shows the period with the largest effect: the difference in served demand, else in the largest
    use, times its duration.
    """
    effects = []
    for fabric in {name: None for sample in done for name in sample.traffic}:
        times = _times(
            [(m.at_us, m.traffic.get(fabric)) for m in done], [(m.at_us, m.traffic.get(fabric)) for m in left]
        )
        differences = [_differences(now, without) for _, now, without in times]
        if any(served or use for served, use in differences):
            effect_sizes = [
                (served * span_us, use * span_us)
                for (served, use), span_us in zip(differences, _spans(times, until_us), strict=True)
            ]
            at_us, now, without = times[effect_sizes.index(max(effect_sizes))]
            before, after = carried_figures(without), carried_figures(now)
            effects.append(TrafficEffect(fabric=fabric, at_us=at_us, before=before, after=after))
    return tuple(effects)


def _differences(now: TrafficCarried, without: TrafficCarried) -> tuple[int, int]:
    return abs(now.served_ppm - without.served_ppm), abs(now.use_ppm - without.use_ppm)


def _spans(times: Sequence[tuple[int, FactT, FactT]], until_us: int) -> list[int]:
    """The duration of each period; the last one is at least 1 µs."""
    ends = [*(at_us for at_us, _, _ in times[1:]), until_us]
    return [max(1, end_us - at_us) for (at_us, _, _), end_us in zip(times, ends, strict=True)]


def _times(
    done: Sequence[tuple[int, FactT | None]], left: Sequence[tuple[int, FactT | None]]
) -> list[tuple[int, FactT, FactT]]:
    """(time, fact in `done`, fact in `left`) for each time at which one may change. Times at which one has no
    fact are left out. Of several facts at one time, the last counts."""
    return [
        (at_us, now, without)
        for at_us, now, without in _both(dict(done), dict(left))
        if now is not None and without is not None
    ]


def _both(
    done: Mapping[int, FactT | None], left: Mapping[int, FactT | None]
) -> Iterator[tuple[int, FactT | None, FactT | None]]:
    now: FactT | None = None
    without: FactT | None = None
    for at_us in sorted(done.keys() | left.keys()):
        now, without = done.get(at_us, now), left.get(at_us, without)
        yield at_us, now, without
