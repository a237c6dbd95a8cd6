"""Runs an experiment with the kernel of failures and repairs.

The kernel draws exactly the faults and repair times that the services draw under the same seed, and simulates
nothing else.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import pairwise

import numpy as np

from ops.experiments.part_classes import LOG_MEASURES, part_classes
from ops.experiments.service_run import ExperimentRunPlan, RunResult, Window, measure_all, measure_halves
from ops.lab.backlog import add_samples
from schemas.config.pods import AnyPodConfig, FabricConfig
from schemas.names import FaultKind
from services.failures.hazards import (
    Hazard,
    first_hazard,
    next_hazard,
    parts_at_risk,
    seeds_of,
)
from services.failures.state import rates_of
from services.totals.availability_time import BLOCK_SIZES, AvailabilitySpans
from services.totals.fabric_spans import PodSpan
from services.totals.measures import MEASURES
from services.totals.slice_log import PodLog
from shared.basics.keyed_random import draw_index, draw_lognormal
from shared.basics.units import US_PER_DAY, US_PER_S
from shared.models.fabric_plants import plant_of
from shared.models.ocs.parts import PART
from shared.models.reliability.draws import FloatArray, IntArray
from shared.models.reliability.failure_kernel import FailureHistory, FaultPiece, replay
from shared.models.reliability.repair_shop import PartClass, Shop
from shared.models.superpod.wiring import ENDS_PER_CUBE, HOSTS_PER_CUBE

PARTS_PER_CUBE = {"host": HOSTS_PER_CUBE, "link": ENDS_PER_CUBE}
"""Class → number of its parts per cube, for classes of which a cube needs every part to be healthy."""


def run_kernel(plan: ExperimentRunPlan) -> RunResult:
    """Run all fabrics of a plan. All must be pods that the kernel can model (`ops.experiments.method`)."""
    began_s = time.process_time()
    pods = [_Pod(f, c, plan) for site in plan.sites for f, c in site.fabrics.items()]
    over_time = [name for name in plan.measures if MEASURES[name].over_time]
    first_us, *_, last_us = plan.window_bounds_us
    with_log = any(name.startswith(LOG_MEASURES) for name in plan.measures)
    first, second, whole = (
        [pod.span(*bounds_us, with_log=with_log) for pod in pods]
        for bounds_us in ((first_us, plan.middle_us), (plan.middle_us, last_us), (first_us, last_us))
    )
    windows = [
        Window(*window_bounds_us, measure_all(over_time, [pod.span(*window_bounds_us) for pod in pods]))
        for window_bounds_us in (pairwise(plan.window_bounds_us) if plan.window_us else ())
    ]
    digest = sha256(b"".join(pod.digest for pod in pods)).hexdigest()
    return RunResult(
        figures=measure_all(plan.measures, whole),
        windows=tuple(windows),
        messages=sum(pod.history.events for pod in pods),
        cpu_s=time.process_time() - began_s,
        digest=digest,
        halves=measure_halves(plan.measures, first, second),
        backlogs=add_samples([{"open_repairs": pod.open_repairs(plan.sample_times_us)} for pod in pods]),
    )


@dataclass(frozen=True, slots=True)
class _Unhealthy:
    """The spans during which monitoring sees cubes as unhealthy, in microseconds; one list for all cubes."""

    cube: IntArray
    begin: FloatArray
    end: FloatArray

    def until(self, at_us: float) -> float:
        """Return the unhealthy cube-time until a given time."""
        return float((np.minimum(self.end, at_us) - np.minimum(self.begin, at_us)).sum())


class _Pod:
    """One pod, run to the end."""

    def __init__(self, fabric: str, config: FabricConfig, plan: ExperimentRunPlan) -> None:
        assert isinstance(config, AnyPodConfig)  # noqa: S101 -- the choice of the method guarantees it
        self._fabric, self._config = fabric, config
        self._classes = part_classes(config)
        self._phases: dict[int, int] = {}
        self.history = self._run(float(plan.window_bounds_us[-1]))
        self._bad = self._unhealthy()
        self._mended = np.sort(self.history.mended[np.isfinite(self.history.mended)])
        columns = (self.history.part, self.history.failed, self.history.mended)
        self.digest = sha256(b"".join(column.tobytes() for column in columns)).digest()

    def open_repairs(self, times_us: Sequence[int]) -> list[int]:
        """Return the number of parts that are down at each of these times."""
        failed = np.searchsorted(self.history.failed, times_us, "right")
        return [int(n) for n in failed - np.searchsorted(self._mended, times_us, "right")]

    def span(self, from_us: int, to_us: int, *, with_log: bool = False) -> PodSpan:
        """Return the pod's availability, faults and repairs between two times; `with_log`, also when its
        cubes were available."""
        cubes, failed = self._config.pod.cubes, self.history.failed
        return PodSpan(
            kind=self._config.kind,
            cubes=cubes,
            span_us=to_us - from_us,
            cube_us=cubes * (to_us - from_us) - (self._bad.until(to_us) - self._bad.until(from_us)),
            faults={"all": _clipped_us(failed, from_us, to_us)},
            repairs=_clipped_us(self._mended, from_us, to_us),
            log=PodLog(availability_time=self._availability(from_us, to_us)) if with_log else PodLog(),
        )

    def _availability(self, from_us: int, to_us: int) -> AvailabilitySpans:
        """How long cubes, and OCSes, were available between two times."""
        cubes, bad = self._config.pod.cubes, self._bad
        out = np.stack((bad.begin, bad.end), axis=1).clip(from_us, to_us)
        ocs = self._merged_ocs_spans().clip(from_us, to_us)
        blocks = {}
        for size in BLOCK_SIZES:
            if size <= cubes:
                of = bad.cube // size
                whole = of < cubes // size
                merged = _merged_spans(list(zip(of[whole].tolist(), *out[whole].T.tolist(), strict=True)))
                lost_us = float((merged[2] - merged[1]).sum())
                blocks[size] = to_us - from_us - lost_us / (cubes // size)
        return AvailabilitySpans(
            _time_by_available(out, np.empty((0, 2)), cubes, (from_us, to_us)),
            _time_by_available(out, ocs, cubes, (from_us, to_us)),
            blocks,
        )

    def _merged_ocs_spans(self) -> FloatArray:
        """When any part of an OCS was down, shape (spans, 2)."""
        history, first, found = self.history, 0, list[tuple[int, float, float]]()
        for kind, one in self._classes.items():
            if kind in PART:
                mine = (history.part >= first) & (history.part < first + one.number)
                end = np.where(np.isnan(history.mended[mine]), np.inf, history.mended[mine])
                found += [
                    (0, *both) for both in zip(history.failed[mine].tolist(), end.tolist(), strict=True)
                ]
            first += one.number
        return np.stack(_merged_spans(found)[1:], axis=1)

    def _run(self, until: float) -> FailureHistory:
        config, seed = self._config, self._config.seed
        shop = Shop(
            tuple(self._classes.values()) or (PartClass("none", 1, 0.0, 1.0),),
            config.repairs.technicians,
            config.repairs.fibre_technicians,
            config.repairs.repair_sigma,
        )
        at, of, seen, first = [], [], [], 0
        for kind, one in self._classes.items():
            times, struck = self._faults(kind, until)
            at.append(times)
            of.append(first + struck)
            seen.append(self._host_requests(struck, times) if kind == "host" else times)
            first += one.number
        nothing = np.empty(0)
        every = np.concatenate((nothing, *at))
        order = np.argsort(every, kind="stable")
        parts = np.concatenate((nothing, *of)).astype(np.int64)[order]
        piece = FaultPiece(until, every[order], parts, np.concatenate((nothing, *seen))[order])

        def units(drawn: int, many: int) -> FloatArray:
            return np.array([self._repair(seed, number) for number in range(drawn, drawn + many)])

        return replay(shop, [piece], units)

    def _repair(self, seed: int, number: int) -> float:
        sigma = self._config.repairs.repair_sigma
        return draw_lognormal(seed, self._fabric, "repair time", number, 1.0, sigma)

    def _faults(self, kind: FaultKind, until: float) -> tuple[FloatArray, IntArray]:
        """Return the times of the faults of a class, and the part that each one strikes."""
        seed, fabric, config = self._config.seed, self._fabric, self._config
        plant, rates = plant_of(config.kind, config.hardware), rates_of(config)
        seeds = seeds_of(seed, rates)
        times, struck = [], []
        hazard: Hazard = first_hazard(seeds, fabric, kind, rates, plant, 0)
        while hazard.next_us is not None and hazard.next_us <= until:
            times.append(hazard.next_us)
            parts = parts_at_risk(kind, plant)
            struck.append(draw_index(seed, fabric, f"{kind} fault target", hazard.drawn, parts))
            hazard = next_hazard(seeds, fabric, kind, rates, plant, hazard)
        return np.array(times, dtype=np.float64), np.array(struck, dtype=np.int64)

    def _heartbeats(self, hosts: IntArray, after: FloatArray) -> FloatArray:
        """Return the first heartbeat of each host after the given time."""
        interval = self._config.cubes.heartbeat_s * US_PER_S
        phases = np.array([self._phase(int(host), interval) for host in hosts], dtype=np.float64)
        return np.asarray(after + interval - (after - phases) % interval, dtype=np.float64)

    def _host_requests(self, hosts: IntArray, after: FloatArray) -> FloatArray:
        """Return when the repair of each host is requested that fails at the given time: when another host
        of its cube reports after it has missed a heartbeat (services/cubes/power_monitoring.py)."""
        silent = self._heartbeats(hosts, after)
        first = hosts - hosts % HOSTS_PER_CUBE
        reports = np.full((HOSTS_PER_CUBE, len(hosts)), np.inf)
        for index in range(HOSTS_PER_CUBE):
            others = first + index != hosts
            reports[index, others] = self._heartbeats((first + index)[others], silent[others])
        return np.asarray(reports.min(axis=0), dtype=np.float64)

    def _phase(self, number: int, interval: int) -> int:
        if number not in self._phases:
            cube, host = divmod(number, HOSTS_PER_CUBE)
            name = f"{self._fabric}/cube-{cube}/host-{host}"
            self._phases[number] = draw_index(self._config.seed, name, "heartbeat phase", 0, interval)
        return self._phases[number]

    def _unhealthy(self) -> _Unhealthy:
        history, first = self.history, 0
        spans: list[tuple[int, float, float]] = []
        for kind, one in self._classes.items():
            if kind in PARTS_PER_CUBE:
                mine = (history.part >= first) & (history.part < first + one.number)
                part = history.part[mine].astype(np.int64) - first
                begin = history.failed[mine]
                end = np.where(np.isnan(history.mended[mine]), np.inf, history.mended[mine])
                if kind == "host":
                    ended = np.isfinite(end)
                    begin = self._heartbeats(part, begin)
                    end[ended] = self._heartbeats(part[ended], end[ended])
                cube = part // PARTS_PER_CUBE[kind]
                spans += zip(cube.tolist(), begin.tolist(), end.tolist(), strict=True)
            first += one.number
        return _Unhealthy(*_merged_spans(spans))


def _time_by_available(
    out: FloatArray, ocs: FloatArray, cubes: int, bounds_us: tuple[int, int]
) -> tuple[int, ...]:
    """Number of cubes → time between two times with exactly that many available, without the time in which
    an OCS was not whole. `out` are the spans of cubes that were not available, `ocs` those of OCSes."""
    many = len(out), len(ocs)
    at_us = np.concatenate((out[:, 0], out[:, 1], ocs[:, 0], ocs[:, 1], bounds_us))
    lost = np.repeat((1, -1, 0, 0, 0), (many[0], many[0], many[1], many[1], 2))
    faulty = np.repeat((0, 0, 1, -1, 0), (many[0], many[0], many[1], many[1], 2))
    order = np.argsort(at_us, kind="stable")
    span_us = np.diff(at_us[order])
    # Spans outside begin and end at once: for no time, more than all cubes may be lost.
    left = np.maximum(cubes - np.cumsum(lost[order])[:-1], 0)
    is_whole = np.cumsum(faulty[order])[:-1] == 0
    found = np.bincount(left[is_whole], weights=span_us[is_whole], minlength=cubes + 1)
    return tuple(found.tolist())


def _merged_spans(spans: Sequence[tuple[int, float, float]]) -> tuple[IntArray, FloatArray, FloatArray]:
    """Merge overlapping spans of the same cube. Returns cube, begin and end of each."""
    found: list[list[float]] = []
    for cube, begin, end in sorted(spans):
        if found and found[-1][0] == cube and begin <= found[-1][2]:
            found[-1][2] = max(found[-1][2], end)
        elif end > begin:
            found.append([cube, begin, end])
    table = np.array(found, dtype=np.float64).reshape(-1, 3)
    return table[:, 0].astype(np.int64), table[:, 1], table[:, 2]


def _clipped_us(times: FloatArray, from_us: float, to_us: float) -> int:
    """Count the sorted times in (from_us, to_us]."""
    return int(np.searchsorted(times, to_us, "right") - np.searchsorted(times, from_us, "right"))


# Figures in closed form, for pods in the steady state with a technician for every part that is down.

NO_LOG_DIGEST = "exact"


def run_exact(plan: ExperimentRunPlan) -> RunResult:
    """Return the expected figures of all fabrics of a plan. `ops.experiments.method` checks that a closed
    form exists."""
    first_us, *_, last_us = plan.window_bounds_us
    spans = [
        _closed_form_span(config, last_us - first_us)
        for site in plan.sites
        for config in site.fabrics.values()
        if isinstance(config, AnyPodConfig)  # the choice of the method guarantees it
    ]
    assert all(name in MEASURES for name in plan.measures)  # noqa: S101 -- checked with the document
    return RunResult(measure_all(plan.measures, spans), (), 0, 0.0, NO_LOG_DIGEST)


def _closed_form_span(config: AnyPodConfig, span_us: int) -> PodSpan:
    """Return the expected figures of one pod.

    Each part works for a mean time. It is then down until its repair ends; hosts are first detected by a
    missed heartbeat, repaired when another host of their cube has reported, and seen as down until a
    heartbeat after the repair. A cube needs all of its parts.
    """
    interval_us = float(config.cubes.heartbeat_s * US_PER_S)
    healthy, failures = 1.0, 0.0
    for kind, one in part_classes(config).items():
        seen_us = interval_us / 2.0 if kind == "host" else 0.0
        wait_us = interval_us / HOSTS_PER_CUBE if kind == "host" else 0.0
        cycle_us = US_PER_DAY / one.failure_rate + seen_us + wait_us + one.repair_time
        down_us = wait_us + one.repair_time + seen_us
        healthy *= (1.0 - down_us / cycle_us) ** PARTS_PER_CUBE.get(kind, 0)
        failures += one.number / cycle_us
    cubes = config.pod.cubes
    return PodSpan(
        kind=config.kind,
        cubes=cubes,
        span_us=span_us,
        cube_us=cubes * span_us * healthy,
        faults={"all": failures * span_us},
        repairs=failures * span_us,
    )
