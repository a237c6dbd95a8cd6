"""The scheduler's status documents: one per slice, one per cube for its use, and a summary."""

from collections import Counter

from schemas.documents.pods import CubeUseDocument, QueuedSince, SchedulerSummary, SliceDocument
from schemas.names import number_of
from schemas.recovery_policy import format_recovery_policy
from services.scheduler.explain.wait_reasons import wait_reason, wait_summary_of
from services.scheduler.lifecycle import slice_name
from services.scheduler.multislice.slice_status import (
    displayed_since_us,
    displayed_state,
    multislice_document,
    slow_reason,
)
from services.scheduler.state import SchedulerState, occupancy_of, policy_of
from shared.engine.service import DocumentKey


def document_keys(state: SchedulerState) -> list[DocumentKey]:
    """The keys of all documents: live slices, recently ended slices, cubes and the summary."""
    return [
        *(("slices", slice_name(state, number)) for number in sorted([*state.slices, *state.ended])),
        *(("cube-uses", f"{state.fabric}/cube-{cube}") for cube in range(state.cubes)),
        ("summaries", f"{state.fabric}/scheduler"),
    ]


def document(
    state: SchedulerState, key: DocumentKey
) -> SliceDocument | CubeUseDocument | SchedulerSummary | None:
    kind, name = key
    if kind == "slices":
        return _slice(state, name)
    if kind == "cube-uses":
        return _cube_use(state, name)
    return _summary(state) if key == ("summaries", f"{state.fabric}/scheduler") else None


def _slice(state: SchedulerState, name: str) -> SliceDocument | None:
    number = number_of(name)
    row = state.slices.get(number) or state.ended.get(number)
    if row is None:
        return None
    return SliceDocument(
        name=name,
        state=displayed_state(row),
        since_us=displayed_since_us(row),
        owner=row.owner,
        tier=row.tier,
        shape=row.shape,
        twisted=row.twisted,
        chips=row.chips,
        priority=row.priority,
        cubes=tuple([f"{state.fabric}/cube-{cube}" for cube in row.cubes]),
        corner=row.corner,
        links_down=row.links_down,
        links_degraded=row.links_degraded,
        swaps=row.swaps,
        restarts=row.restarts,
        reason=wait_reason(state, row) if row.state == "queued" else row.reason or slow_reason(state, row),
        queue_position=wait_summary_of(state).places[number] if row.state == "queued" else None,
        promised_us=state.promises.get(number),
        requested_us=row.requested_us,
        started_us=row.started_us,
        ended_us=row.ended_us,
        duration_us=row.duration_us,
        estimate_us=row.estimate_us,
        recovery=format_recovery_policy(policy_of(state, row)),
        changed_us=row.changed_us,
        multislice=multislice_document(row),
    )


def _cube_use(state: SchedulerState, name: str) -> CubeUseDocument | None:
    cube = number_of(name)
    if cube >= state.cubes:
        return None
    occupancy = occupancy_of(state)
    return CubeUseDocument(
        name=name,
        slices=tuple([slice_name(state, number) for number in occupancy.holders[cube]]),
        chips_used=occupancy.used[cube].bit_count(),
    )


def _summary(state: SchedulerState) -> SchedulerSummary:
    states = Counter(row.state for row in state.slices.values())
    queued = sorted(
        row.since_us[-1][1] for row in state.slices.values() if row.state == "queued" and row.tier != "filler"
    )
    return SchedulerSummary(
        name=f"{state.fabric}/scheduler",
        at_us=state.at_us,
        admitted=state.admitted,
        completed=state.completed,
        evicted=state.evicted,
        refused=state.refused,
        running=state.running,
        queued=state.queued,
        swapped=state.swapped,
        programming=states["programming"],
        preflight=states["preflight"],
        degraded=states["degraded"],
        recovering=states["recovering"],
        queued_since_us=QueuedSince(
            median=_queued_since_percentile(queued, 50), p95=_queued_since_percentile(queued, 95)
        )
        if queued
        else None,
        chips=state.chips,
        chips_by_category=dict(state.chips_by_category),
        chip_us=dict(state.chip_us),
    )


def _queued_since_percentile(queued: list[int], percent: int) -> int:
    """The nearest-rank percentile of waiting time, as the time at which that slice entered the queue.
    `queued` is sorted."""
    return queued[len(queued) - -(-len(queued) * percent // 100)]
