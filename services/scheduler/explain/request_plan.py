"""Plans a request: what the scheduler would do with it now, on a copy of the state."""

from typing import Literal

from schemas.api.explain import LeavingSlice, PlannedCircuit, SlicePlan
from schemas.messages.workload import SliceRequested
from services.scheduler.explain.dry_run import (
    CircuitChanges,
    DryRun,
    after_victims_left,
    circuit_changes,
    dry_run_request,
    has_or_claims_cubes,
    largest_now,
)
from services.scheduler.explain.start_estimate import expected_start
from services.scheduler.explain.wait_reasons import wait_reason, wait_summary_of
from services.scheduler.lifecycle import slice_name
from services.scheduler.queue.preemption import lost_chip_us
from services.scheduler.state import SchedulerState
from shared.models.superpod.shapes import shape_text
from shared.models.superpod.wiring import FACE_LINKS, STRANDS, join_ports

CIRCUITS_OF_A_JOIN = FACE_LINKS * STRANDS


def plan_request(state: SchedulerState, request: SliceRequested) -> SlicePlan:
    """What the scheduler would do with this request at `state.now_us`. The state does not change."""
    dry_run = dry_run_request(state, request)
    waits = dry_run.row.state == "queued" and not has_or_claims_cubes(dry_run)
    placed = dry_run if not dry_run.leavers else after_victims_left(dry_run)
    row, circuits = placed.row, circuit_changes(placed)
    largest = largest_now(state, request)
    return SlicePlan(
        fabric=state.fabric,
        at_us=state.now_us,
        shape=shape_text(row.shape),
        twisted=row.twisted,
        chips=row.chips,
        owner=row.owner,
        tier=row.tier,
        priority=row.priority,
        decision=_decision(dry_run),
        reason=wait_reason(dry_run.state, dry_run.row) if waits else dry_run.row.reason,
        queue_position=wait_summary_of(dry_run.state).places[row.number] if waits else None,
        start=expected_start(dry_run.state, dry_run.row) if dry_run.row.state == "queued" else None,
        cubes=tuple([f"{state.fabric}/cube-{cube}" for cube in _cubes(placed)]),
        corner=row.corner,
        circuits_kept=CIRCUITS_OF_A_JOIN * len(circuits.kept),
        circuits_made=CIRCUITS_OF_A_JOIN * len(circuits.made),
        circuits_taken_away=CIRCUITS_OF_A_JOIN * circuits.taken_away,
        circuits=_circuits(state.fabric, circuits),
        leavers=tuple([_leaver(state, dry_run, number) for number in dry_run.leavers]),
        largest_now=None if largest is None else shape_text(largest),
    )


def _decision(dry_run: DryRun) -> Literal["placed", "claims", "waits", "refused"]:
    if dry_run.row.cubes:
        return "placed"
    if dry_run.row.claim is not None:
        return "claims"
    return "waits" if dry_run.row.state == "queued" else "refused"


def _cubes(placed: DryRun) -> tuple[int, ...]:
    """The cubes of the slice; if its claim must wait for victims, the claimed cubes."""
    claim = placed.row.claim
    return placed.row.cubes if claim is None else claim.cubes


def _leaver(before: SchedulerState, dry_run: DryRun, number: int) -> LeavingSlice:
    row, notice = before.slices[number], dry_run.state.slices[number].notice
    move = None if notice is None else notice.move
    return LeavingSlice(
        slice=slice_name(before, number),
        owner=row.owner,
        tier=row.tier,
        loses_chip_us=lost_chip_us(before, row),
        moves_to=None if move is None else f"{before.fabric}/cube-{move.spare}",
        already_leaving=row.notice is not None,
    )


def _circuits(fabric: str, circuits: CircuitChanges) -> tuple[PlannedCircuit, ...]:
    """The circuits by OCS, then North port."""
    rows = [
        (ocs, north, south, kept)
        for joins, kept in ((circuits.kept, True), (circuits.made, False))
        if joins
        for ocs, north, south in zip(*[ports.tolist() for ports in join_ports(joins)], strict=True)
    ]
    return tuple(
        [
            PlannedCircuit(ocs=f"{fabric}/ocs-{ocs}", north=north, south=south, kept=kept)
            for ocs, north, south, kept in sorted(rows)
        ]
    )
