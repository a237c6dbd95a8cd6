"""What would become of a request that came now: the rule that decides, on a copy of the state."""

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


def plan_request(state: SchedulerState, wanted: SliceRequested) -> SlicePlan:
    """What the scheduler would do with this request at `state.now_us`. The state stays as it is."""
    trial = dry_run_request(state, wanted)
    waits = trial.row.state == "queued" and not has_or_claims_cubes(trial)
    placed = trial if not trial.leavers else after_victims_left(trial)
    row, circuits = placed.row, circuit_changes(placed)
    fits = largest_now(state, wanted)
    return SlicePlan(
        fabric=state.fabric,
        at_us=state.now_us,
        shape=shape_text(row.shape),
        twisted=row.twisted,
        chips=row.chips,
        owner=row.owner,
        tier=row.tier,
        priority=row.priority,
        decision=_decision(trial),
        reason=wait_reason(trial.state, trial.row) if waits else trial.row.reason,
        queue_position=wait_summary_of(trial.state).places[row.number] if waits else None,
        start=expected_start(trial.state, trial.row) if trial.row.state == "queued" else None,
        cubes=tuple([f"{state.fabric}/cube-{cube}" for cube in _cubes(placed)]),
        corner=row.corner,
        circuits_kept=CIRCUITS_OF_A_JOIN * len(circuits.kept),
        circuits_made=CIRCUITS_OF_A_JOIN * len(circuits.made),
        circuits_taken_away=CIRCUITS_OF_A_JOIN * circuits.taken_away,
        circuits=_circuits(state.fabric, circuits),
        leavers=tuple([_leaver(state, trial, number) for number in trial.leavers]),
        largest_now=None if fits is None else shape_text(fits),
    )


def _decision(trial: DryRun) -> Literal["placed", "claims", "waits", "refused"]:
    if trial.row.cubes:
        return "placed"
    if trial.row.number in trial.state.claims:
        return "claims"
    return "waits" if trial.row.state == "queued" else "refused"


def _cubes(placed: DryRun) -> tuple[int, ...]:
    """Where it lies; of a claim that is not served at once, where it will."""
    claim = placed.state.claims.get(placed.row.number)
    return placed.row.cubes if claim is None else claim.cubes


def _leaver(before: SchedulerState, trial: DryRun, number: int) -> LeavingSlice:
    row, move = before.slices[number], trial.state.moves.get(number)
    return LeavingSlice(
        slice=slice_name(before, number),
        owner=row.owner,
        tier=row.tier,
        loses_chip_us=lost_chip_us(before, row),
        moves_to=None if move is None else f"{before.fabric}/cube-{move.spare}",
        already_leaving=number in before.notices,
    )


def _circuits(fabric: str, circuits: CircuitChanges) -> tuple[PlannedCircuit, ...]:
    """By OCS, then North port."""
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
