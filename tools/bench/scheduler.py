"""Group `scheduler`: decisions on a full pod with a long queue, compared with those of a plain scheduler.

It also times one plan for eight cubes that are lost at once. Times are processor times, because a decision
waits for nothing else.
"""

import gc
import statistics
import time
from collections.abc import Callable

from schemas.config.scheduler import SchedulerConfig
from services.scheduler.cycle import next_firm
from services.scheduler.lifecycle import end_slice, vacate
from services.scheduler.queue.expected_end import expected_end_us
from services.scheduler.queue.order import borrowed_chips, chips_by_owner, quotas_of
from services.scheduler.service import SERVICE
from services.scheduler.state import SchedulerState, occupancy_of, queue_of
from services.scheduler.structures.slice_record import Slice
from services.scheduler.structures.timeline import FOREVER
from shared.basics.errors import OperationFailed
from shared.engine.state_codec import decode_state, encode_state
from shared.models.superpod.shapes import cubes_of
from shared.models.superpod.wiring import CHIPS_PER_CUBE
from tools.bench.figure import BenchFigure
from tools.bench.full_pod import FullPod

WAITING = 1_000
DECISIONS = 1_000
PODS = (64, 144)
LOST_CUBES = 8
LONG_QUEUE = SchedulerConfig(research_waits_h=10_000.0)
"""No slice is preempted."""

Result = tuple[int | None, dict[int, int]]
"""(the slice that gets cubes next, slice → its promised start)."""


def measure_scheduler(quick: bool) -> list[BenchFigure]:
    """Measure all figures of the scheduler."""
    gc.collect()
    gc.freeze()  # as every long-running process does with its imports
    decisions = DECISIONS // 10 if quick else DECISIONS
    return [*_decisions(decisions), *_plans(), *_beside_plain(decisions // 10)]


def _decisions(count: int) -> list[BenchFigure]:
    """Measure whole messages, each with all its immediate effects: the slices that start, leave and move."""
    figures = []
    for policy in ("easy", "conservative"):
        medians = {}
        for cubes in PODS:
            pod = FullPod(cubes, WAITING, SchedulerConfig.model_validate({"backfill": policy}))
            pod.live(count)
            spent_ms = sorted(1e3 * spent_s for spent_s in pod.decided_s)
            medians[cubes] = statistics.median(spent_ms)
            p99 = spent_ms[len(spent_ms) * 99 // 100]
            how = f"{WAITING:,} slices wait for {cubes} cubes; whole messages, {count:,} of them; CPU"
            name, goals = (
                f"decision, {policy}, {cubes} cubes",
                ("under 2", "under 20") if cubes == 64 else ("-", "-"),
            )
            figures += [
                BenchFigure(f"{name}, median", round(medians[cubes], 2), "ms", goals[0], how),
                BenchFigure(f"{name}, 99 %", round(p99, 1), "ms", goals[1], how),
            ]
        ratio = medians[PODS[1]] / medians[PODS[0]]
        how = "medians, 144 over 64 cubes"
        figures.append(
            BenchFigure(f"decision, {policy}, larger pod", round(ratio, 2), "ratio", "at most 3", how)
        )
    return figures


def _plans() -> list[BenchFigure]:
    """Measure the tick that decides the recovery of all slices on a row of eight failed cubes."""
    spent_s = []
    for first in range(0, PODS[0], LOST_CUBES):
        pod = FullPod(PODS[0], WAITING, SchedulerConfig())
        spent_s.append(pod.lose(range(first, first + LOST_CUBES)))
    how = (
        f"the longest of {len(spent_s)} rows of {LOST_CUBES} cubes that fail at once, {WAITING:,} slices wait"
    )
    return [BenchFigure("recovery plan, 8 cubes", round(1e3 * max(spent_s), 1), "ms", "under 20", how)]


# --- compared with a plain scheduler ------------------------------------------------------------------------


def _beside_plain(count: int) -> list[BenchFigure]:
    """Measure the choice of the next slice after one has left, on whole cubes and without preemption."""
    pod = FullPod(PODS[0], WAITING, LONG_QUEUE, tiers=("research",), smallest_chips=CHIPS_PER_CUBE)
    ours_s, peer_s = [], []
    for _ in range(count):
        pod.live(1)
        state = free_one_cube(pod.state)
        found, spent_s = _timed(_ours, state)
        ours_s.append(spent_s)
        plain, spent_s = _timed(plain_easy, state)
        peer_s.append(spent_s)
        if plain != found:
            raise OperationFailed(f"scheduler: ours decides {found}, the plain one {plain}")
    ours_ms, peer_ms = 1e3 * statistics.median(ours_s), 1e3 * statistics.median(peer_s)
    how = f"which of {WAITING:,} slices starts next, whole cubes, no preemption; median of {count}"
    plainly = "sorts all waiting slices again and tries each on a list of cubes; the same decisions"
    return [
        BenchFigure("next start", round(ours_ms, 2), "ms", "-", how),
        BenchFigure("next start, plain scheduler", round(peer_ms, 2), "ms", "the peer", plainly),
        BenchFigure("next start over plain", round(peer_ms / ours_ms, 1), "ratio", "-", "in the same run"),
    ]


def free_one_cube(state: SchedulerState) -> SchedulerState:
    """Return the state of the pod just after the next slice to leave has left."""
    after = decode_state(SERVICE.state, encode_state(state))
    on_cubes = [row for row in after.slices.values() if row.cubes]
    row = min(on_cubes, key=lambda row: (row.ends_us or FOREVER, row.number))
    row, _ = vacate(after, row)
    end_slice(after, row, "finished", "finished")
    queue_of(after)
    occupancy_of(after)
    return after


def _timed(decide: Callable[[SchedulerState], Result], state: SchedulerState) -> tuple[Result, float]:
    started_s = time.process_time()
    found = decide(state)
    return found, time.process_time() - started_s


def _ours(state: SchedulerState) -> Result:
    decision = next_firm(state)
    return None if decision.offer is None else decision.offer.row.number, decision.promises


def plain_easy(state: SchedulerState) -> Result:
    """Schedule with EASY as in a textbook, for slices of whole cubes without preemption.

    All waiting slices are sorted. The first is promised the time at which enough cubes are free by the
    estimates, and each of the others is tried separately.
    """
    now_us = state.now_us
    free_us = [now_us] * state.cubes
    for cube in (*state.unhealthy, *state.drained):
        free_us[cube] = FOREVER
    for row in state.slices.values():
        for cube in row.cubes:
            ends_us = FOREVER if row.ends_us is None else max(row.ends_us, now_us + 1)
            free_us[cube] = max(free_us[cube], ends_us)
    head, *others = _sorted_queue(state)
    idle = [cube for cube, at_us in enumerate(free_us) if at_us <= now_us]
    if cubes_of(head.shape) <= len(idle):
        return head.number, {}
    promised_us = sorted(free_us)[cubes_of(head.shape) - 1]
    promises = {head.number: promised_us} if promised_us < FOREVER else {}
    for row in others:
        cubes = cubes_of(row.shape)
        if cubes <= len(idle):
            after_us = list(free_us)
            left_us = expected_end_us(state, row, now_us)
            for cube in idle[:cubes]:
                after_us[cube] = FOREVER if left_us is None else left_us
            if sorted(after_us)[cubes_of(head.shape) - 1] <= promised_us:
                return row.number, promises
    return None, promises


def _sorted_queue(state: SchedulerState) -> list[Slice]:
    held = chips_by_owner(state)
    waiting = [row for row in state.slices.values() if row.state == "queued"]
    quotas = quotas_of(state, {row.owner for row in waiting} | held.keys())
    return sorted(
        waiting,
        key=lambda row: (
            borrowed_chips(held.get(row.owner, 0), quotas[row.owner]),
            -row.priority,
            row.number,
        ),
    )
