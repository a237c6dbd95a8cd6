"""How fast jobs over several pods go, and how networks carry their demand, in copies of a site: what two of
them tell of the same time is compared."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

from schemas.api.whatif import JobEffect, JobSpeedFigures, TrafficEffect, TrafficFigures
from schemas.messages.traffic import TrafficCarried
from schemas.names import number_of
from services.jobs.state import Job, JobsState, MultisliceJob
from services.traffic.state import TrafficState
from shared.engine.site import Site
from shared.models.dcn.routing.carried_traffic import PPM
from shared.models.jobs.multislice_jobs import ring_bytes
from shared.models.jobs.progress import FULL_SPEED, TAKES_STEPS

FactT = TypeVar("FactT")


@dataclass(frozen=True, slots=True)
class JobSpeed:
    """Parts per million of full speed, 0 while the job stands; what the network gives each of its pods."""

    speed_ppm: int
    gbps: float | None


@dataclass(frozen=True, slots=True)
class SpeedSample:
    """What is so from `at_us` on: jobs over several pods by name, networks that carry traffic by theirs."""

    at_us: int
    jobs: Mapping[str, JobSpeed]
    traffic: Mapping[str, TrafficCarried]


def sample_speeds(site: Site) -> SpeedSample:
    """What is so in a site now."""
    jobs: dict[str, JobSpeed] = {}
    traffic: dict[str, TrafficCarried] = {}
    for instance in site.instances:
        state = instance.state
        if isinstance(state, JobsState):
            jobs |= {team.job: _pace(team, state.jobs[number]) for number, team in _teams(state)}
        elif isinstance(state, TrafficState) and state.last is not None:
            traffic[instance.fabric] = state.last
    return SpeedSample(site.now_us, jobs, traffic)


def slices_by_job(site: Site) -> dict[str, tuple[str, ...]]:
    """The slices of every job over several pods, in order of pod."""
    found: dict[str, list[str]] = {}
    for instance in site.instances:
        if isinstance(instance.state, JobsState):
            for number, team in _teams(instance.state):
                found.setdefault(team.job, []).append(f"{instance.fabric}/slice-{number}")
    return {job: tuple(names) for job, names in found.items()}


def _teams(state: JobsState) -> list[tuple[int, MultisliceJob]]:
    return [(number, team) for number, team in sorted(state.multislice_jobs.items()) if number in state.jobs]


def _pace(team: MultisliceJob, job: Job) -> JobSpeed:
    """The same in all pods of the job. Where the network gives it nothing it stands, if it sends anything."""
    stands = job.progress.phase not in TAKES_STEPS or (
        team.gbps == 0.0 and ring_bytes(len(team.pods), team.gradient_bytes) > 0
    )
    return JobSpeed(0 if stands else job.progress.speed_ppm, team.gbps)


def carried_figures(told: TrafficCarried) -> TrafficFigures:
    """What was told, as shares."""
    return TrafficFigures(
        use=told.use_ppm / PPM,
        bound=told.bound_ppm / PPM,
        served=told.served_ppm / PPM,
        transit=(PPM - told.direct_ppm) / PPM,
        path=told.path_ppm / PPM,
        cut_off=told.cut_off,
    )


def job_effects(
    done: Sequence[SpeedSample],
    left: Sequence[SpeedSample],
    slices: Mapping[str, tuple[str, ...]],
    until_us: int,
) -> tuple[JobEffect, ...]:
    """The jobs, of those with these slices, that are faster or slower at some time up to `until_us` in the
    one than in the other, each as it goes while most comes of that; those first that lose most."""
    found: list[JobEffect] = []
    for job in slices:
        times = _times([(m.at_us, m.jobs.get(job)) for m in done], [(m.at_us, m.jobs.get(job)) for m in left])
        gaps = [abs(now.speed_ppm - without.speed_ppm) for _, now, without in times]
        if not any(gaps):
            continue
        comes = [gap * span_us for gap, span_us in zip(gaps, _spans(times, until_us), strict=True)]
        most = comes.index(max(comes))
        # What a job was told last stays with it, so that small differences may outlive their reason.
        wide = [n for n, gap in enumerate(gaps) if 2 * gap >= gaps[most]]
        _, now, without = times[most]
        last = wide[-1] + 1
        effect = JobEffect(
            job=job,
            slices=slices[job],
            becomes=_becomes(now, without),
            before=JobSpeedFigures(speed=without.speed_ppm / FULL_SPEED, gbps=without.gbps),
            after=JobSpeedFigures(speed=now.speed_ppm / FULL_SPEED, gbps=now.gbps),
            from_us=times[wide[0]][0],
            until_us=times[last][0] if last < len(times) else None,
        )
        found.append(effect)
    return tuple(sorted(found, key=lambda row: (row.after.speed - row.before.speed, _order(row.job))))


def _becomes(now: JobSpeed, without: JobSpeed) -> Literal["stands", "slower", "faster", "goes"]:
    if not now.speed_ppm:
        return "stands"
    if not without.speed_ppm:
        return "goes"
    return "slower" if now.speed_ppm < without.speed_ppm else "faster"


def _order(name: str) -> tuple[int, str]:
    return number_of(name), name


def traffic_effects(
    done: Sequence[SpeedSample], left: Sequence[SpeedSample], until_us: int
) -> tuple[TrafficEffect, ...]:
    """The networks that carry their demand otherwise in the one than in the other up to `until_us`, each as
    it is while most comes of that: of what is served, or else of the largest use."""
    found = []
    for fabric in {name: None for moment in done for name in moment.traffic}:
        times = _times(
            [(m.at_us, m.traffic.get(fabric)) for m in done], [(m.at_us, m.traffic.get(fabric)) for m in left]
        )
        differ = [_differ(now, without) for _, now, without in times]
        if any(served or use for served, use in differ):
            comes = [
                (served * span_us, use * span_us)
                for (served, use), span_us in zip(differ, _spans(times, until_us), strict=True)
            ]
            at_us, now, without = times[comes.index(max(comes))]
            before, after = carried_figures(without), carried_figures(now)
            found.append(TrafficEffect(fabric=fabric, at_us=at_us, before=before, after=after))
    return tuple(found)


def _differ(now: TrafficCarried, without: TrafficCarried) -> tuple[int, int]:
    return abs(now.served_ppm - without.served_ppm), abs(now.use_ppm - without.use_ppm)


def _spans(times: Sequence[tuple[int, FactT, FactT]], until_us: int) -> list[int]:
    """For how long each of the times lasts: the last one for one µs at least."""
    ends = [*(at_us for at_us, _, _ in times[1:]), until_us]
    return [max(1, end_us - at_us) for (at_us, _, _), end_us in zip(times, ends, strict=True)]


def _times(
    done: Sequence[tuple[int, FactT | None]], left: Sequence[tuple[int, FactT | None]]
) -> list[tuple[int, FactT, FactT]]:
    """(time, fact in the one, fact in the other) whenever either may change; without the times at which one
    of them has none. Of several at one time the last counts."""
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
