"""A scheduler alone, with a full pod and a long queue.

Circuits connect at once, jobs end on time, and each job that ends is replaced by a new request.
"""

import heapq
import time
from bisect import bisect
from itertools import accumulate
from typing import cast

from schemas.body import Body
from schemas.config.pods import PodConfig, SuperpodConfig
from schemas.config.scheduler import SchedulerConfig
from schemas.config.workload import WorkloadConfig
from schemas.envelope import enclose
from schemas.messages.cubes import CubeUnhealthy
from schemas.messages.jobs import JobCheckpointed
from schemas.messages.ocs import CircuitsConnected
from schemas.messages.scheduler import ConnectCircuits, SliceAdmitted, SliceNoticed
from schemas.messages.sequencer import FabricCommissioned, Tick
from schemas.messages.transceivers import LinksTrained
from schemas.messages.workload import SliceReleased, SliceRequested
from schemas.names import Tier
from services.scheduler.service import SERVICE
from services.scheduler.state import SchedulerState
from services.workload.run_times import draw_estimate_us, draw_run_us, draw_terms_for, run_mean_h
from services.workload.slice_mix import arrivals_per_day, mix_for
from shared.basics.keyed_random import draw_index, draw_uniform
from shared.basics.units import US_PER_HOUR, US_PER_MS, US_PER_S
from shared.engine.dispatch import ServiceInstance, deliver

FABRIC = "pod-0"
SEED = 7
OWNERS = 20
PRODUCTION_SHARE = 0.2
RUN_SIGMA = 0.7
WRITE_US = 20 * US_PER_S
DECIDE = (Tick, SliceReleased, SliceRequested, JobCheckpointed)
"""Messages on which the scheduler decides here."""


class FullPod:
    """A pod of `cubes` cubes with `waiting` queued slices of the mix of `workload`. `decided_s` has the
    processor time of every decision, with the message that caused it."""

    def __init__(
        self,
        cubes: int,
        waiting: int,
        policy: SchedulerConfig,
        tiers: tuple[Tier, ...] = ("production", "research"),
        smallest_chips: int = 1,
    ) -> None:
        self._held = ServiceInstance(SERVICE, FABRIC)
        self._policy = policy
        self._tiers = tiers
        self._demand = WorkloadConfig()
        kinds = [kind for kind in mix_for("", cubes) if kind.chips >= smallest_chips]
        rates = dict(zip(mix_for("", cubes), arrivals_per_day(self._demand, cubes), strict=True))
        self._kinds = kinds
        self._rates = list(accumulate([rates[kind] for kind in kinds]))
        self._run_us: dict[str, int] = {}
        self._ahead: list[tuple[int, int, Body]] = []
        """Messages of other services, by time."""
        self._now_us = self._seq = self._asked = 0
        self.decided_s: list[float] = []
        self._feed(
            FabricCommissioned(
                site=FABRIC, config=SuperpodConfig(pod=PodConfig(cubes=cubes), scheduler=policy)
            )
        )
        while self.state.queued < waiting:
            self._ask()

    @property
    def state(self) -> SchedulerState:
        return cast(SchedulerState, self._held.state)

    def live(self, decisions: int) -> None:
        """Continue for this many decisions."""
        self.decided_s = []
        while len(self.decided_s) < decisions:
            self._step()

    def lose(self, cubes: range) -> float:
        """Let these cubes fail at once. Return the processor time of the decision when all failures are
        known."""
        for cube in cubes:
            self._feed(CubeUnhealthy(cube=cube, reasons=("host-0",)))
        planned_us = self._now_us + self._policy.decision_s * US_PER_S
        while (self._held.due_us or 0) < planned_us:
            self._step()
        return self._tick()

    def _step(self) -> None:
        due_us = self._held.due_us
        if due_us is not None and (not self._ahead or due_us <= self._ahead[0][0]):
            self._tick()
            return
        at_us, _, body = heapq.heappop(self._ahead)
        self._now_us = max(self._now_us, at_us)
        self._feed(body)
        if isinstance(body, SliceReleased):
            self._ask()

    def _tick(self) -> float:
        due_us = self._held.due_us or 0
        self._now_us = max(self._now_us, due_us)
        return self._feed(Tick(service="scheduler", due_us=due_us, count=self._held.ticks + 1))

    def _feed(self, body: Body) -> float:
        self._seq += 1
        source = f"{body.writer}@{FABRIC}"
        message = enclose(body, fabric=FABRIC, at_us=self._now_us, cause=None, source=source, seq=self._seq)
        started_s = time.process_time()
        said = deliver(self._held, message)
        spent_s = time.process_time() - started_s
        self.state.changed_documents.clear()
        if isinstance(body, DECIDE):
            self.decided_s.append(spent_s)
        for answer in said:
            self._answer(answer.body)
        return spent_s

    def _answer(self, body: Body) -> None:
        if isinstance(body, SliceAdmitted):
            job_us = self._run_us[body.slice]
            self._later(job_us, SliceReleased(slice=body.slice, reason="finished"))
        elif isinstance(body, ConnectCircuits):
            connected = CircuitsConnected(
                slice=body.slice, joins=body.joins, missing_ocs=(), missing_ports=()
            )
            self._later(10 * US_PER_MS, connected)
            trained = LinksTrained(slice=body.slice, up=32 * len(body.joins), degraded=(), down=())
            self._later(10 * US_PER_MS, trained)
        elif isinstance(body, SliceNoticed):
            self._later(WRITE_US, JobCheckpointed(slice=body.slice))

    def _later(self, after_us: int, body: Body) -> None:
        self._seq += 1
        heapq.heappush(self._ahead, (self._now_us + after_us, self._seq, body))

    def _ask(self) -> None:
        """Request one more slice, drawn from the mix."""
        number, name = self._asked, f"{FABRIC}/slice-{self._asked}"
        self._asked += 1
        at = draw_uniform(SEED, FABRIC, "kind", number) * self._rates[-1]
        kind = self._kinds[bisect(self._rates, at)]
        mean_us = run_mean_h(self._demand, kind.cubes) * US_PER_HOUR
        run_us = draw_run_us(SEED, FABRIC, number, mean_us, RUN_SIGMA)
        self._run_us[name] = run_us
        is_first_tier = draw_uniform(SEED, FABRIC, "tier", number) < PRODUCTION_SHARE
        self._feed(
            SliceRequested(
                slice=name,
                owner=f"team-{draw_index(SEED, FABRIC, 'owner', number, OWNERS)}",
                tier=self._tiers[0 if is_first_tier else -1],
                shape=kind.shape,
                twisted=draw_uniform(SEED, FABRIC, "twisted", number) < kind.twisted_share,
                priority=0,
                duration_us=None,
                job=draw_terms_for(SEED, FABRIC, number, self._demand, run_us),
                estimate_us=draw_estimate_us(SEED, FABRIC, number, run_us, self._demand),
                requested_by="arrival",
            )
        )
