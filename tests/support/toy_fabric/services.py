"""The service `lamps` of a field of lamps, which switches lamps off and on. `failures` is the service of all
kinds."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from pydantic import BaseModel

from schemas.body import Model
from schemas.envelope import Envelope
from schemas.messages.failures import FaultBegan, FaultEnded
from shared.engine.service import DocumentKey, Output, Service, on
from shared.engine.state import State
from tests.support.plant_parts import joined, parts_of
from tests.support.toy_fabric.config import LampFieldConfig, LampLit, LampOut, lamp_field_plant


class LampDocument(Model):
    """Written by `lamps`, kind `lamps`; name `field-0/mast-1/lamp-0`."""

    name: str
    state: str
    changed_us: int


class FieldSummary(Model):
    """Kind `summaries`, name `field-0/lamps`: `count` lamps are out."""

    name: str
    commissioned_us: int
    count: int


@dataclass
class FieldState(State):
    """State of `lamps`. `since_us` is when each lamp that is out went out."""

    commissioned_us: int
    since_us: dict[str, int] = field(default_factory=dict)
    changed_us: dict[str, int] = field(default_factory=dict)


def _commission(fabric: str, config: LampFieldConfig, at_us: int) -> FieldState:
    return FieldState(fabric=fabric, seed=config.seed, now_us=at_us, commissioned_us=at_us)


def _changed(state: FieldState, name: str) -> None:
    state.changed_documents |= {("lamps", name), ("summaries", f"{state.fabric}/lamps")}


def _on_fault_began(state: FieldState, body: FaultBegan, _message: Envelope) -> list[Output]:
    if body.target in state.since_us:
        return []
    state.since_us[body.target] = state.changed_us[body.target] = state.now_us
    _changed(state, body.target)
    plant = lamp_field_plant()
    (far,) = joined(plant, plant.parse(body.target))
    return [LampOut(lamp=body.target, shines_at=far["mast"])]


def _on_fault_ended(state: FieldState, body: FaultEnded, _message: Envelope) -> list[Output]:
    if state.since_us.pop(body.target, None) is None:
        return []
    state.changed_us[body.target] = state.now_us
    _changed(state, body.target)
    return [LampLit(lamp=body.target)]


def _lamp_keys(state: FieldState) -> Iterable[DocumentKey]:
    yield "summaries", f"{state.fabric}/lamps"
    yield from (("lamps", lamp.name) for lamp in parts_of(lamp_field_plant(), "end", state.fabric))


def _lamp_document(state: FieldState, key: DocumentKey) -> BaseModel:
    kind, name = key
    if kind == "summaries":
        return FieldSummary(name=name, commissioned_us=state.commissioned_us, count=len(state.since_us))
    return LampDocument(
        name=name,
        state="out" if name in state.since_us else "lit",
        changed_us=state.changed_us.get(name, state.commissioned_us),
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
