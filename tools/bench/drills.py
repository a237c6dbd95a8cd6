"""Group `drills`: what a running drill with five probes costs a pod, next to the same pod without it.

Both labs run in one process and take turns, so that other work on the machine slows down both. Only their
processor time counts.
"""

import time

from ops.sites.configuration import superpod_config
from schemas.drill_plan import Allowance, DrillPlan, PlannedLimit, PlannedProbe, PlannedStep
from schemas.messages.drill_requests import RunDrill
from services.fabric_kinds import services_of
from shared.basics.units import US_PER_DAY, US_PER_HOUR, US_PER_MIN, US_PER_S
from shared.engine.site_driver import LabRequest
from shared.runtimes.lab import Lab
from tools.bench.figure import BenchFigure

POD = "pod-0"
CONDITIONS = (
    "count(ocs, state != up) <= 3",
    "count(slices, state == degraded) <= 100",
    "count(cubes, health != healthy) <= 60",
    "count(faults, state == active) <= 1000",
    "ocs.pod-0/ocs-3.state == up",
)
EVERY_US = (30 * US_PER_S, 10 * US_PER_MIN)
"""Times between two readings: the default of drill documents, and a long one."""
TWIN_SPEED = 800
"""Speed of a twin on which people drill."""


class _Peer:
    """A pod in the lab after a day; `spent_s` is its processor time since."""

    def __init__(self, probe_every_us: int | None) -> None:
        self.lab = Lab(POD, {POD: superpod_config([], seed=7)}, services_of)
        self.lab.run(US_PER_DAY)
        self.spent_s = 0.0
        if probe_every_us is not None:
            request = RunDrill(plan=_plan(probe_every_us))
            self.lab.run(US_PER_DAY + US_PER_HOUR, [LabRequest(US_PER_DAY + 1, POD, request, 1)])
        self.lab.run(US_PER_DAY + US_PER_HOUR)
        self.messages = -self.lab.messages

    def run(self, until_us: int) -> None:
        began_s = time.process_time()
        self.lab.run(until_us)
        self.spent_s += time.process_time() - began_s


def measure_drills(quick: bool) -> list[BenchFigure]:
    """Measure the processor time of a pod with a drill, at two intervals of readings, over that without."""
    days = 1 if quick else 4
    without, *drilled = (_Peer(None), *map(_Peer, EVERY_US))
    start_us = US_PER_DAY + US_PER_HOUR
    for turn in range(1, 8 * days + 1):
        for peer in (without, *drilled):
            peer.run(start_us + turn * US_PER_DAY // 8)
    found = []
    for every_us, peer in zip(EVERY_US, drilled, strict=True):
        readings, every = days * US_PER_DAY // every_us, f"every {every_us // US_PER_S} s"
        how = f"{days} pod-days in the lab, {len(CONDITIONS)} probes and a limit, read {every}"
        ratio, each_s = peer.spent_s / without.spent_s, (peer.spent_s - without.spent_s) / readings
        share = each_s * TWIN_SPEED * US_PER_S / every_us
        found += [
            BenchFigure(f"drill, {every}", round(ratio, 2), "ratio", "-", how),
            BenchFigure(f"drill reading, {every}", round(each_s * 1_000, 2), "ms", "-", how),
            BenchFigure(f"drill at × {TWIN_SPEED}, {every}", round(share, 3), "cores", "aiming at 0.1", how),
        ]
    return found


def _plan(probe_every_us: int) -> DrillPlan:
    """A drill that only reads, for a year."""
    probes = tuple(PlannedProbe(name=f"p{n}", condition=text) for n, text in enumerate(CONDITIONS))
    year_us = 365 * US_PER_DAY
    return DrillPlan(
        title="Only reads",
        document_sha256="0" * 64,
        probe_every_us=probe_every_us,
        probes=probes,
        allowances=tuple(Allowance(probe=probe.name, phase="method", for_us=year_us) for probe in probes),
        steps=(PlannedStep(name="wait", what="wait", for_us=year_us),),
        limits=(PlannedLimit(what="ocs", at_most=100),),
        gate_us=US_PER_MIN,
        settle_us=0,
        verify_us=0,
        lease_us=2 * year_us,
    )
