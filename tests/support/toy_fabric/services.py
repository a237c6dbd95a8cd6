"""The services of a field of lamps: `failures` begins and ends faults, `lamps` switches lamps off and on."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from pydantic import BaseModel

from schemas.body import Model
from schemas.documents.pods import FaultDocument
from schemas.envelope import Envelope
from schemas.messages.failures import FaultBegan, FaultEnded, FaultRefused
from schemas.messages.operator import ClearFault, InjectFault
from shared.engine.service import DocumentKey, Output, Service, on
from shared.engine.state import State
from tests.support.toy_fabric.config import LampFieldConfig, LampLit, LampOut, lamp_field_plant


class LampDocument(Model):
    """Written by `lamps`, kind `lamps`; name `field-0/mast-1/lamp-0`."""

    name: str
    state: str
    changed_us: int


class FieldSummary(Model):
    """Kind `summaries`, names `field-0/lamps` and `field-0/failures`."""

    name: str
    commissioned_us: int
    count: int


@dataclass
class FieldState(State):
    """`since_us` is when each lamp that is out went out; `faults` are all, by name."""

    commissioned_us: int
    since_us: dict[str, int] = field(default_factory=dict)
    changed_us: dict[str, int] = field(default_factory=dict)
    faults: dict[str, FaultDocument] = field(default_factory=dict)


def _commission(fabric: str, config: LampFieldConfig, at_us: int) -> FieldState:
    return FieldState(fabric=fabric, seed=config.seed, now_us=at_us, commissioned_us=at_us)


# --- failures -----------------------------------------------------------------------------------------------


def _on_inject(state: FieldState, body: InjectFault, _message: Envelope) -> list[Output]:
    name = f"{state.fabric}/fault-{len(state.faults)}"
    state.faults[name] = FaultDocument(
        name=name,
        kind=body.kind,
        target=body.target,
        state="active",
        injected=True,
        severity=None,
        unit=None,
        onset_us=0,
        began_us=state.now_us,
        expires_us=None,
        ended_us=None,
        how=None,
    )
    _changed(state, "faults", name)
    return [
        FaultBegan(
            fault=name, kind=body.kind, target=body.target, injected=True, severity=None, expires_us=None
        )
    ]


def _on_clear(state: FieldState, body: ClearFault, _message: Envelope) -> list[Output]:
    fault = state.faults.get(body.fault)
    if fault is None or fault.state == "ended":
        return [FaultRefused(subject=body.fault, reason="not active")]
    ended = {"state": "ended", "ended_us": state.now_us, "how": "cleared"}
    state.faults[fault.name] = fault.model_copy(update=ended)
    _changed(state, "faults", fault.name)
    return [FaultEnded(fault=fault.name, kind=fault.kind, target=fault.target, how="cleared")]


def _changed(state: FieldState, kind: str, name: str) -> None:
    service = "failures" if kind == "faults" else "lamps"
    state.changed_documents |= {(kind, name), ("summaries", f"{state.fabric}/{service}")}


def _fault_keys(state: FieldState) -> Iterable[DocumentKey]:
    yield "summaries", f"{state.fabric}/failures"
    yield from (("faults", name) for name in state.faults)


def _fault_document(state: FieldState, key: DocumentKey) -> BaseModel | None:
    kind, name = key
    if kind == "faults":
        return state.faults.get(name)
    active = sum(fault.state == "active" for fault in state.faults.values())
    return FieldSummary(name=name, commissioned_us=state.commissioned_us, count=active)


# --- lamps --------------------------------------------------------------------------------------------------


def _on_fault_began(state: FieldState, body: FaultBegan, _message: Envelope) -> list[Output]:
    if body.target in state.since_us:
        return []
    state.since_us[body.target] = state.changed_us[body.target] = state.now_us
    _changed(state, "lamps", body.target)
    return [LampOut(lamp=body.target)]


def _on_fault_ended(state: FieldState, body: FaultEnded, _message: Envelope) -> list[Output]:
    if state.since_us.pop(body.target, None) is None:
        return []
    state.changed_us[body.target] = state.now_us
    _changed(state, "lamps", body.target)
    return [LampLit(lamp=body.target)]


def _lamp_keys(state: FieldState) -> Iterable[DocumentKey]:
    yield "summaries", f"{state.fabric}/lamps"
    yield from (("lamps", lamp.name) for lamp in lamp_field_plant().parts("end", state.fabric))


def _lamp_document(state: FieldState, key: DocumentKey) -> BaseModel:
    kind, name = key
    if kind == "summaries":
        return FieldSummary(name=name, commissioned_us=state.commissioned_us, count=len(state.since_us))
    return LampDocument(
        name=name,
        state="out" if name in state.since_us else "lit",
        changed_us=state.changed_us.get(name, state.commissioned_us),
    )


FAILURES: Service[FieldState] = Service(
    name="failures",
    state=FieldState,
    commission=_commission,
    rules=(on(InjectFault, _on_inject), on(ClearFault, _on_clear)),
    due=lambda _state: None,
    document_keys=_fault_keys,
    document=_fault_document,
)
LAMPS: Service[FieldState] = Service(
    name="lamps",
    state=FieldState,
    commission=_commission,
    rules=(on(FaultBegan, _on_fault_began), on(FaultEnded, _on_fault_ended)),
    due=lambda _state: None,
    document_keys=_lamp_keys,
    document=_lamp_document,
)
