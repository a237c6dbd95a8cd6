"""Dry runs of a request: the scheduler's own rules on a private copy of its state."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any

from schemas.body import Body
from schemas.envelope import enclose
from schemas.messages.jobs import JobCheckpointed
from schemas.messages.scheduler import ConnectCircuits, DisconnectCircuits, LeaveCircuits
from schemas.messages.workload import SliceRequested
from schemas.names import Join, Shape, number_of
from services.scheduler.admission import on_job_checkpointed, on_slice_requested
from services.scheduler.lifecycle import slice_name
from services.scheduler.placement.circuit_commands import leftover_circuits
from services.scheduler.state import SchedulerState, has_notice
from services.scheduler.structures.pod_placement import PLACEMENTS, PodPlacement
from services.scheduler.structures.slice_record import Slice
from shared.basics.errors import InvalidInput
from shared.engine.service import CausedBy, Output
from shared.models.superpod.shapes import chips_of, legal_shapes


def copy_of(state: SchedulerState) -> SchedulerState:
    """An independent copy of the state. Tables are copied; their rows are immutable and shared."""
    tables: dict[str, Any] = {}
    for field in fields(state):
        value = getattr(state, field.name)
        if field.metadata.get("transient"):
            tables[field.name] = set() if field.name == "changed_documents" else None
        elif isinstance(value, dict):
            tables[field.name] = dict(value)
    return replace(state, **tables)


@dataclass(frozen=True, slots=True)
class DryRun:
    """The result of a dry run."""

    state: SchedulerState
    row: Slice
    """The slice after the request."""
    emitted: tuple[Body, ...]
    """The emitted messages, oldest first."""
    leavers: tuple[int, ...]
    """The slices that must leave for it."""
    leftover_before: tuple[Join, ...]
    """The circuits that no slice used before the request."""


def dry_run_request(state: SchedulerState, request: SliceRequested) -> DryRun:
    """Request a slice in a copy of the state."""
    state = copy_of(state)
    leftover_before = tuple(leftover_circuits(state))
    message = enclose(
        request,
        fabric=state.fabric,
        at_us=state.now_us,
        cause=None,
        source=f"{request.writer}@{state.fabric}",
        seq=number_of(request.slice),
    )
    emitted = _bodies(on_slice_requested(state, request, message))
    number = number_of(request.slice)
    row = state.slices.get(number) or state.ended[number]
    claim = row.claim
    return DryRun(state, row, emitted, () if claim is None else claim.victims, leftover_before)


def after_victims_left(trial: DryRun) -> DryRun:
    """The dry run after all slices in the way have written their checkpoints and left."""
    state, emitted = copy_of(trial.state), list(trial.emitted)
    for number in trial.leavers:
        if has_notice(state, number):
            body = JobCheckpointed(slice=slice_name(state, number))
            message = enclose(
                body, fabric=state.fabric, at_us=state.now_us, cause=None, source="jobs", seq=number
            )
            emitted += _bodies(on_job_checkpointed(state, body, message))
    return replace(trial, state=state, row=state.slices[trial.row.number], emitted=tuple(emitted))


@dataclass(frozen=True, slots=True)
class CircuitChanges:
    """The circuits of a slice, as joins."""

    kept: tuple[Join, ...]
    """Joins that existed already."""
    made: tuple[Join, ...]
    """Joins that must be made."""
    taken_away: int
    """Number of unused joins that are disconnected for them."""


def circuit_changes(trial: DryRun) -> CircuitChanges:
    """The circuit changes that follow from the emitted messages."""
    name, existing = slice_name(trial.state, trial.row.number), set(trial.leftover_before)
    kept: tuple[Join, ...] = ()
    made: tuple[Join, ...] = ()
    taken_away = 0
    for body in trial.emitted:
        if isinstance(body, LeaveCircuits):
            existing.update(body.joins)
        elif isinstance(body, DisconnectCircuits):
            taken_away += len(existing.intersection(body.joins)) if body.slice == name else 0
            existing.difference_update(body.joins)
        elif isinstance(body, ConnectCircuits):
            if body.slice == name:
                kept = tuple([join for join in body.joins if join in existing])
                made = tuple([join for join in body.joins if join not in existing])
            existing.difference_update(body.joins)
    return CircuitChanges(kept, made, taken_away)


def has_or_claims_cubes(trial: DryRun) -> bool:
    """Whether the slice has cubes, or will have them when its victims have left."""
    return bool(trial.row.cubes) or trial.row.claim is not None


def largest_now(state: SchedulerState, request: SliceRequested) -> Shape | None:
    """The largest shape that would get cubes instead, at once or after its victims have left; None if not
    even one chip would. Among equal sizes, the most cubical."""
    for shape in _by_size(state.kind, state.cubes):
        if has_or_claims_cubes(
            dry_run_request(state, request.model_copy(update={"shape": shape, "twisted": False}))
        ):
            return shape
    return None


@lru_cache(maxsize=64)
def _by_size(kind: str, cubes_in_pod: int) -> tuple[Shape, ...]:
    """The shapes that an empty pod can hold, largest first. In pods where any cubes will do, only one shape
    of each size."""
    placement = PLACEMENTS[kind]
    legal = sorted(
        [shape for shape in legal_shapes(cubes_in_pod) if _is_legal(placement, shape, cubes_in_pod)],
        key=lambda shape: (-chips_of(shape), sum(shape), shape),
    )
    if placement.links_are_fixed:
        return tuple(legal)
    sizes: dict[int, Shape] = {}
    for shape in legal:
        sizes.setdefault(chips_of(shape), shape)
    return tuple(sizes.values())


def _is_legal(placement: PodPlacement, shape: Shape, cubes_in_pod: int) -> bool:
    try:
        placement.check(shape, False, cubes_in_pod)
    except InvalidInput:
        return False
    return True


def _bodies(emitted: Sequence[Output]) -> tuple[Body, ...]:
    return tuple([output.body if isinstance(output, CausedBy) else output for output in emitted])
