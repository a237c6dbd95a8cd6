"""Computes the capacity that a network loses when a part fails, by applying the fault to a copy of its site.

The network's own services decide what happens to links, weights and rewirings. The answer holds if the part
fails now.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from schemas.api.whatif import BlockLoss, LossReport, RewiringEffect, TrafficFigures
from schemas.envelope import Envelope
from schemas.messages.failures import FaultRefused
from schemas.messages.operator import InjectFault
from schemas.messages.topology import RewiringEnded, RewiringPlanned, StageWaits
from schemas.names import FaultKind
from services.failures.service import SERVICE as FAILURES
from services.failures.state import FailuresState
from services.ocs.service import SERVICE as OCS
from services.ocs.state import OcsState
from services.topology.service import SERVICE as TOPOLOGY
from services.topology.stage_execution import blocking_reason
from services.topology.state import TopologyState
from services.traffic.kept_weights import weights_reason
from services.traffic.logic import carried_with_new_weights
from services.traffic.service import SERVICE as TRAFFIC
from services.traffic.state import TrafficState
from services.trunks.service import SERVICE as TRUNKS
from services.trunks.state import TrunksState
from services.what_if.compare import drive_now
from services.what_if.job_speeds import carried_figures, job_effects, sample_speeds, slices_by_job
from shared.basics.errors import OperationFailed
from shared.engine.service import Service
from shared.engine.site import Site
from shared.engine.state import StateT
from shared.models.network.blocks import NetworkLayout, network_of
from shared.models.network.wiring import NO_PORT
from shared.models.plant.plant_format import Part
from shared.models.superpod.wiring import IntArray

ENCLOSING_KINDS = {
    "port": ("ocs", "rack", "power"),
    "bundle": ("block", "rack", "power"),
    "ocs": ("rack", "power"),
    "rack": ("power",),
}
"""Kind of part → the kinds whose failure takes such a part down."""


@dataclass(frozen=True, slots=True)
class _CarriedState:
    """What a network carries."""

    links: IntArray
    """(B, B) links between blocks."""
    carried: TrafficFigures | None
    """How its demand uses the links; None before the first report."""
    fixed: int
    """Number of circuits that cannot be changed."""


def assess_network_impact(
    site: Site, fabric: str, kind: FaultKind, target: str, clock_us: int, is_over: Callable[[], bool]
) -> LossReport:
    """The loss if a part fails at the clock's time; the site is changed.

    Raise OperationFailed if the part cannot fail, or if the deadline passes before the site has caught up
    with its clock.
    """
    drive_now(site, fabric, (), clock_us, clock_us, is_over)
    before, speeds_before = _carried_state(site, fabric), sample_speeds(site)
    traffic = _state(site, fabric, TRAFFIC)
    new_weights, kept_because = carried_with_new_weights(traffic), weights_reason(traffic)
    down_by = _down_by(_state(site, fabric, FAILURES), target)
    done = drive_now(site, fabric, (InjectFault(kind=kind, target=target),), clock_us, clock_us, is_over)
    caused = done.caused()
    for message in caused:
        if isinstance(message.body, FaultRefused):
            raise OperationFailed(message.body.reason)
    after = _carried_state(site, fabric)
    solves_us = _state(site, fabric, TRAFFIC).next_solve_us
    if solves_us is not None:
        caused += drive_now(site, fabric, (), clock_us, solves_us, is_over).log
    plant = _state(site, fabric, TRUNKS).plant
    gbps, left = _gbps(plant, before), _gbps(plant, after)
    blocks = _block_losses(plant, fabric, before, after)
    total_gbps, total_left_gbps = float(gbps.sum()) / 2, float(left.sum()) / 2
    return LossReport(
        target=target,
        kind=kind,
        at_us=done.requested[0].at_us,
        down_by=down_by,
        links=int(before.links.sum()) // 2,
        links_lost=int((before.links - after.links).sum()) // 2,
        gbps=total_gbps,
        gbps_lost=total_gbps - total_left_gbps,
        lost=_share(total_gbps - total_left_gbps, total_gbps),
        blocks=blocks,
        pods_cut_off=tuple([row.pod for row in blocks if row.cut_off and row.pod is not None]),
        before=before.carried,
        at_once=after.carried,
        after=_carried_state(site, fabric).carried,
        new_weights=None if new_weights is None else carried_figures(new_weights),
        weights_reason=kept_because,
        jobs=job_effects([sample_speeds(site)], [speeds_before], slices_by_job(site), site.now_us),
        circuits_fixed=after.fixed - before.fixed,
        rewiring=_rewiring(_state(site, fabric, TOPOLOGY), caused),
    )


def _carried_state(site: Site, fabric: str) -> _CarriedState:
    traffic: TrafficState = _state(site, fabric, TRAFFIC)
    trunks: TrunksState = _state(site, fabric, TRUNKS)
    figures = None if traffic.last is None else carried_figures(traffic.last)
    ocs: OcsState = _state(site, fabric, OCS)
    fixed = int(np.count_nonzero(ocs.wanted[ocs.control_faults > 0] != NO_PORT))
    return _CarriedState(trunks.links.astype(np.int64), figures, fixed)


def _down_by(failures: FailuresState, target: str) -> tuple[str, ...]:
    """The active faults of a part and of the parts that enclose it."""
    names = {target, *_enclosing_parts(failures, failures.plant.parse(target))}
    return tuple(
        [
            failures.fault_name(number)
            for number, fault in sorted(failures.active.items())
            if fault.target in names
        ]
    )


def _enclosing_parts(failures: FailuresState, part: Part) -> list[str]:
    """The parts whose failure takes this part down, by name: for an OCS its rack, for a bundle also its
    block."""
    from shared.models.plant_graph import plant_graph  # noqa: PLC0415 -- networkx takes 0.2 s to import

    hardware = failures.current_config.network_hardware
    if hardware is None:
        raise TypeError(f"{failures.fabric} is not a network")
    words = ENCLOSING_KINDS.get(part.kind, ())
    if network_of(hardware).technology.latching:
        words = tuple(word for word in words if word != "power")
    return [found.name for found in plant_graph(failures.plant).enclosing(part, words)]


def _gbps(plant: NetworkLayout, carried: _CarriedState) -> IntArray:
    """(B,) capacity of every block's links in one direction, in Gb/s."""
    gbps: IntArray = (carried.links * plant.rates).sum(axis=1)
    return gbps


def _block_losses(
    plant: NetworkLayout, fabric: str, before: _CarriedState, after: _CarriedState
) -> tuple[BlockLoss, ...]:
    """The losses of the blocks that lose links, by number."""
    links, left = before.links.sum(axis=1), after.links.sum(axis=1)
    gbps, gbps_left = _gbps(plant, before), _gbps(plant, after)
    return tuple(
        [
            BlockLoss(
                name=f"{fabric}/block-{n}",
                pod=plant.blocks[n].pod,
                links=int(links[n]),
                links_lost=int(links[n] - left[n]),
                gbps=float(gbps[n]),
                gbps_lost=float(gbps[n] - gbps_left[n]),
                lost=_share(float(gbps[n] - gbps_left[n]), float(gbps[n])),
                cut_off=not left[n],
            )
            for n in np.flatnonzero(left < links).tolist()
        ]
    )


def _share(part: float, total_gbps: float) -> float:
    return part / total_gbps if total_gbps > 0.0 else 0.0


def _rewiring(state: TopologyState, caused: Sequence[Envelope]) -> RewiringEffect | None:
    """The effect on a rewiring: what was reported at once, or what blocks it from now on."""
    effects: dict[str, str] = {}
    for message in caused:
        match message.body:
            case RewiringPlanned(rewiring=name, circuits=circuits, stages=stages):
                effects[name] = f"is planned as a result: {circuits} circuits in {stages} stages"
            case StageWaits(rewiring=name, stage=stage, reason=reason):
                effects[name] = f"stage {stage} waits: {reason}"
            case RewiringEnded(rewiring=name, outcome=outcome, reason=reason):
                effects[name] = f"ends, {outcome}: {reason}"
            case _:
                pass
    for name, effect in effects.items():
        return RewiringEffect(name=name, effect=effect)
    for number in state.current:
        effect = blocking_reason(state, number) or "can continue"
        return RewiringEffect(name=state.rewiring_name(number), effect=effect)
    return None


def _state(site: Site, fabric: str, service: Service[StateT]) -> StateT:
    state = site.instance(fabric, service.name).state
    if not isinstance(state, service.state):
        raise TypeError(
            f"state of {service.name} of {fabric}: must be {service.state.__name__}, is {type(state)}"
        )
    return state
