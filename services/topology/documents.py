"""Status documents of the topology: planned, running and recent rewirings, and a summary."""

from collections.abc import Iterable

import numpy as np

from schemas.documents.dcn import RewiringDocument, RewiringStageStatus, RewiringState, TopologySummary
from schemas.names import number_of
from services.topology.state import EndedRewiring, Rewiring, StagePlan, TopologyState
from shared.engine.service import DocumentKey


def document_keys(state: TopologyState) -> Iterable[DocumentKey]:
    for number in sorted([*state.current, *state.ended]):
        yield "rewirings", state.rewiring_name(number)
    yield "summaries", f"{state.fabric}/topology"


def document(state: TopologyState, key: DocumentKey) -> RewiringDocument | TopologySummary | None:
    kind, name = key
    if kind == "summaries":
        return _summary(state, name)
    number = number_of(name)
    rewiring = state.ended.get(number) or state.current.get(number)
    return None if rewiring is None else _rewiring(name, rewiring)


def _summary(state: TopologyState, name: str) -> TopologySummary:
    ended = state.outcomes
    return TopologySummary(
        name=name,
        # The initial wiring does not count as a rewiring, as in `outcomes`.
        planned=max(0, state.planned - 1),
        completed=ended.get("completed", 0),
        aborted=ended.get("aborted", 0),
        refused=ended.get("refused", 0),
        taken_back=ended.get("taken-back", 0),
        overtaken=ended.get("overtaken", 0),
        kept=state.kept,
        circuits_made=state.circuits_made,
        under_way=any(rewiring.begun_us is not None for rewiring in state.current.values()),
        domains_without_control=int(np.count_nonzero(state.control_faults)),
    )


def _rewiring(name: str, rewiring: Rewiring) -> RewiringDocument:
    ended = rewiring if isinstance(rewiring, EndedRewiring) else None
    phase: RewiringState = "undraining" if rewiring.phase == "parking" else rewiring.phase
    return RewiringDocument(
        name=name,
        state="ended" if ended else phase,
        reason=rewiring.reason,
        approval=rewiring.approval,
        circuits=rewiring.circuits,
        stages=rewiring.stages_planned,
        stages_done=rewiring.stage,
        takes_us=rewiring.takes_us,
        use_ppm=rewiring.use_ppm,
        use_then_ppm=rewiring.use_then_ppm,
        transit_ppm=rewiring.transit_ppm,
        transit_then_ppm=rewiring.transit_then_ppm,
        bound_ppm=rewiring.bound_ppm,
        waits_for=None if ended else rewiring.waits_for,
        aborted=rewiring.aborted_by is not None,
        outcome=ended.outcome if ended else None,
        ended_because=ended.ended_because if ended else None,
        planned_us=rewiring.planned_us,
        begun_us=rewiring.begun_us,
        ends_us=None if ended else _ends_us(rewiring),
        ended_us=ended.ended_us if ended else None,
        plan=tuple([_stage(stage) for stage in rewiring.stages]),
    )


def _ends_us(rewiring: Rewiring) -> int | None:
    """The expected end; None if the rewiring has not started, waits, or undoes a stage."""
    stage_progress = rewiring.stage_progress
    begun_us = rewiring.due_us if stage_progress is None else rewiring.stage_begun_us
    if rewiring.phase == "waiting" or rewiring.begun_us is None or begun_us is None:
        return None
    if stage_progress is not None and (stage_progress.takes_back or stage_progress.refused):
        return None
    left = rewiring.stages[rewiring.stage :][: 1 if rewiring.aborted_by else None]
    return begun_us + sum(stage.takes_us for stage in left)


def _stage(stage: StagePlan) -> RewiringStageStatus:
    return RewiringStageStatus(
        domain=None if stage.domain is None else f"control-{stage.domain}",
        ocses=len({ocs for ocs, _, _ in (*stage.removed, *stage.made)}),
        removed=len(stage.removed),
        made=len(stage.made),
        kept_ppm=stage.kept_ppm,
        takes_us=stage.takes_us,
    )
