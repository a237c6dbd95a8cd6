"""What other services answer to a drill's orders, and what happens later to the effects that it began."""

from dataclasses import replace

from schemas.body import Body
from schemas.config.parameter import ParameterSetting
from schemas.documents.drills import EffectKind
from schemas.envelope import Envelope
from schemas.messages.cubes import CubeDrained, CubeUndrained, DrainPlanned, PlannedDrainCancelled
from schemas.messages.drills import REQUESTS, DrillOrder
from schemas.messages.failures import FaultBegan, FaultEnded, ParametersChanged
from schemas.messages.ocs import CrossConnectsRemoved, CrossConnectsTaken, LinkLooped, OcsRestarting
from schemas.messages.operator import (
    AbortRewiring,
    ClearFault,
    DrainCube,
    ReleaseSlice,
    RemoveCrossConnects,
    SetParameters,
    UndrainCube,
)
from schemas.messages.scheduler import SliceRefused
from schemas.messages.sequencer import FabricRetired
from schemas.messages.topology import RewiringApproved, RewiringEnded, RewiringPlanned, TopologyKept
from schemas.messages.workload import SliceReleased, SliceRequested
from schemas.registry import REFUSALS
from services.drills.requests import outlasts, text_of
from services.drills.state import DrillsState, Effect, SentOrder
from shared.engine.service import Output, RuleRow, on


def on_own_order(state: DrillsState, body: DrillOrder, message: Envelope) -> list[Output]:
    """Note the id of an order that this service has sent, so that its answers are known by their cause."""
    if not message.source.startswith("drills@") or message.fabric != state.fabric:
        return []
    number = int(body.drill.rpartition("-")[2])
    run = state.running.get(number)
    if run is None:
        return []
    effect = None
    if body.is_undo and state.undoing.get(number):
        effect, *rest = state.undoing[number]
        state.undoing[number] = tuple(rest)
    names = [name for name, _ in run.repeats]
    repeat = run.steps[names.index(body.step)].sent if body.step in names else 0
    state.orders[message.id] = SentOrder(number, body.step, repeat, body, effect)
    return []


def on_answer(state: DrillsState, _body: Body, message: Envelope) -> list[Output]:
    """Note that an order is carried out."""
    _answered(state, message)
    return []


def on_refused(state: DrillsState, body: Body, message: Envelope) -> list[Output]:
    """Note that an order is refused, with the reason."""
    order = state.orders.get(message.cause or "")
    if order is not None:
        state.orders[message.cause or ""] = replace(order, refusal=vars(body)["reason"])
    return []


def on_slice_refused(state: DrillsState, body: SliceRefused, message: Envelope) -> list[Output]:
    """The scheduler refuses a slice after the workload has requested it."""
    on_refused(state, body, message)
    for number in _with_effect(state, "slice", body.slice):
        steps = {one.step for one in state.running[number].effects if one.name == body.slice}
        _end(state, number, "slice", body.slice)
        for key, order in state.orders.items():
            is_own = order.drill == number and order.step in steps
            if is_own and order.order.request_type == "RequestSlice":
                state.orders[key] = replace(order, refusal=body.reason)
    return []


def on_fault_began(state: DrillsState, body: FaultBegan, message: Envelope) -> list[Output]:
    undo = ClearFault(fault=body.fault)
    _begin(state, message, "fault", body.fault, undo)
    return []


def on_fault_ended(state: DrillsState, body: FaultEnded, message: Envelope) -> list[Output]:
    _answered(state, message)
    _end_all(state, "fault", body.fault)
    return []


def on_drain(state: DrillsState, body: CubeDrained | DrainPlanned, message: Envelope) -> list[Output]:
    """Note a drain of an order. A drain that is not of a drill takes the cube over: no undo ends it."""
    cube = f"{message.fabric}/cube-{body.cube}"
    order = state.orders.get(message.cause or "")
    if order is None:
        if isinstance(body, CubeDrained) and not (message.cause or "").startswith("drills@"):
            _end_all(state, "drain", cube)
        return []
    if isinstance(body, CubeDrained) and outlasts(body, order.order.request, state.now_us):
        _answered(state, message)
        return []
    undo: Body = UndrainCube(cube=cube)
    was_until_us = body.was_until_us if isinstance(body, CubeDrained) else None
    if was_until_us is not None and was_until_us > state.now_us:
        undo = DrainCube(cube=cube, from_us=state.now_us, duration_us=was_until_us - state.now_us)
    _begin(state, message, "drain", cube, undo)
    return []


def on_undrain(
    state: DrillsState, body: CubeUndrained | PlannedDrainCancelled, message: Envelope
) -> list[Output]:
    _answered(state, message)
    _end_all(state, "drain", f"{message.fabric}/cube-{body.cube}")
    return []


def on_slice_requested(state: DrillsState, body: SliceRequested, message: Envelope) -> list[Output]:
    if message.cause in state.orders:
        _begin(state, message, "slice", body.slice, ReleaseSlice(slice=body.slice))
    return []


def on_slice_released(state: DrillsState, body: SliceReleased, message: Envelope) -> list[Output]:
    _answered(state, message)
    _end_all(state, "slice", body.slice)
    return []


def on_cross_connects(state: DrillsState, body: CrossConnectsTaken, message: Envelope) -> list[Output]:
    keys = tuple(f"{north + 1}A-{south + 1}B" for north, south in body.circuits)
    ocs = f"{message.fabric}/ocs-{body.ocs}"
    undo = RemoveCrossConnects(ocs=ocs, cross_connects=keys, error_mode="ignore-error")
    _begin(state, message, "cross-connects", f"{ocs} {', '.join(keys)}", undo)
    return []


def on_rewiring(
    state: DrillsState, body: RewiringPlanned | RewiringApproved, message: Envelope
) -> list[Output]:
    _begin(state, message, "rewiring", body.rewiring, AbortRewiring(rewiring=body.rewiring))
    return []


def on_rewiring_ended(state: DrillsState, body: RewiringEnded, message: Envelope) -> list[Output]:
    _answered(state, message)
    _end_all(state, "rewiring", body.rewiring)
    return []


def on_parameters_changed(state: DrillsState, body: ParametersChanged, message: Envelope) -> list[Output]:
    """Note the earlier values. The undo leaves out parameters that another request changes meanwhile."""
    order = state.orders.get(message.cause or "")
    names = [change.name for change in body.changes]
    if order is not None and not order.order.is_undo:
        undo = SetParameters(
            settings=tuple(ParameterSetting(name=one.name, value=one.was) for one in body.changes)
        )
        if names:
            _begin(state, message, "parameters", f"{message.fabric} {', '.join(names)}", undo)
    elif order is None:
        _leave_parameters(state, message.fabric, frozenset(names))
    _answered(state, message)
    return []


def _leave_parameters(state: DrillsState, fabric: str, names: frozenset[str]) -> None:
    for number, run in list(state.running.items()):
        effects = tuple(
            _without_parameters(effect, names, state.now_us)
            if effect.kind == "parameters" and effect.fabric == fabric and effect.ended_us is None
            else effect
            for effect in run.effects
        )
        if effects != run.effects:
            state.put(number, run, effects=effects)


def _without_parameters(effect: Effect, names: frozenset[str], now_us: int) -> Effect:
    """The effect whose undo leaves these parameters out; it has ended if none is left."""
    undo = SetParameters.model_validate_json(effect.undo)
    kept = tuple(one for one in undo.settings if one.name not in names)
    if not kept:
        return replace(effect, ended_us=now_us)
    if len(kept) == len(undo.settings):
        return effect
    return replace(effect, undo=text_of(SetParameters(settings=kept)))


def on_retired(state: DrillsState, _body: FabricRetired, message: Envelope) -> list[Output]:
    """Everything in a retired fabric has ended."""
    for name in [name for name, fabric in state.elsewhere.items() if fabric == message.fabric]:
        del state.elsewhere[name]
    for number, run in list(state.running.items()):
        effects = tuple(
            replace(one, ended_us=state.now_us)
            if one.fabric == message.fabric and one.ended_us is None
            else one
            for one in run.effects
        )
        if effects != run.effects:
            state.put(number, run, effects=effects)
    return []


def _answered(state: DrillsState, message: Envelope) -> SentOrder | None:
    order = state.orders.get(message.cause or "")
    if order is not None:
        state.orders[message.cause or ""] = replace(order, answered=True)
    return order


def _begin(state: DrillsState, message: Envelope, kind: EffectKind, name: str, undo: Body) -> None:
    """Note that an order began something."""
    order = _answered(state, message)
    if order is None or order.order.is_undo or order.drill not in state.running:
        return
    run = state.running[order.drill]
    effect = Effect(kind, order.step, message.fabric, name, type(undo).__name__, text_of(undo), state.now_us)
    if not any(one.kind == kind and one.name == name and one.ended_us is None for one in run.effects):
        state.put(order.drill, run, effects=(*run.effects, effect))


def _with_effect(state: DrillsState, kind: EffectKind, name: str) -> list[int]:
    return [
        number
        for number, run in state.running.items()
        if any(one.kind == kind and one.name == name and one.ended_us is None for one in run.effects)
    ]


def _end(state: DrillsState, number: int, kind: EffectKind, name: str) -> None:
    run = state.running[number]
    effects = tuple(
        replace(one, ended_us=state.now_us)
        if one.kind == kind and one.name == name and one.ended_us is None
        else one
        for one in run.effects
    )
    state.put(number, run, effects=effects)


def _end_all(state: DrillsState, kind: EffectKind, name: str) -> None:
    for number in _with_effect(state, kind, name):
        _end(state, number, kind, name)


ANSWER_ROWS: tuple[RuleRow[DrillsState], ...] = (
    *(
        on(body, on_answer, scope="site-wide")
        for body in (CrossConnectsRemoved, LinkLooped, OcsRestarting, TopologyKept)
    ),
    *(
        on(body, on_refused, scope="site-wide")
        for body in dict.fromkeys(REFUSALS[name] for name in REQUESTS)
        if body is not SliceRefused
    ),
)
"""The rows for answers to orders that begin nothing and end nothing, and for the refusals of requests that a
drill can send."""
