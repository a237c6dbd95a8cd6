"""Three small services with real names and messages, to test the runtimes without the real rules.

At every Tick, `cubes` reports a cube as unhealthy and healthy again. `ocs` answers the first message at once
and the second at its own Tick. `repairs` answers the messages of `ocs`.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from schemas.body import Model
from schemas.config.pods import FabricConfig
from schemas.envelope import Envelope
from schemas.messages.cubes import CubeDrained, CubeHealthy, CubeUnhealthy, DrainRefused
from schemas.messages.ocs import OcsDown, OcsUp
from schemas.messages.operator import DrainCube
from schemas.messages.repairs import RepairOpened
from schemas.messages.sequencer import Tick
from schemas.names import number_of
from shared.basics.units import US_PER_S
from shared.engine.service import After, AnyService, CausedBy, DocumentKey, Output, RuleRow, Service, on
from shared.engine.state import State

PERIOD_US = 10 * US_PER_S
ANSWER_US = 7
CUBES = 4


@dataclass(frozen=True, slots=True)
class Owed:
    """An answer that is due later. `cause` is the id of the message that it answers."""

    due_us: int
    cause: str


@dataclass
class ToyState(State):
    """State of a toy service. `handled` counts messages by type; `readings` are per cube; `owed` is keyed by
    cube."""

    service: str = ""
    next_us: int | None = None
    readings: npt.NDArray[np.float64] = field(default_factory=lambda: np.full(CUBES, np.nan))
    handled: dict[str, int] = field(default_factory=dict)
    owed: dict[int, Owed] = field(default_factory=dict)
    drained: dict[str, str] = field(default_factory=dict)


class ToyDocument(Model):
    name: str
    count: int


def count(state: ToyState, message: Envelope) -> int:
    """Count a message by its type, and move its row to the end of the table."""
    number = state.handled.pop(message.type, 0) + 1
    state.handled[message.type] = number
    state.changed_documents.add(("toys", f"{state.service}/{message.type}"))
    return number


def toy(
    name: str,
    rules: tuple[RuleRow[ToyState], ...],
    *,
    due: Callable[[ToyState], int | None] | None = None,
    after: After[ToyState] | None = None,
) -> Service[ToyState]:
    """Return a service with these rules. By default it is due at `next_us`, and nothing runs after a rule."""
    return Service(
        name=name,
        state=ToyState,
        commission=lambda fabric, config, at_us: commission(fabric, config, at_us, name),
        rules=rules,
        after=after,
        due=due or (lambda state: state.next_us),
        document_keys=lambda state: [("toys", f"{name}/{kind}") for kind in state.handled],
        document=document,
        telemetry=lambda state, tick: f"{name} {tick.at_us} {len(state.handled)}".encode(),
    )


def commission(fabric: str, config: FabricConfig, at_us: int, service: str) -> ToyState:
    next_us = at_us + PERIOD_US
    return ToyState(fabric=fabric, seed=config.seed, now_us=at_us, service=service, next_us=next_us)


def document(state: ToyState, key: DocumentKey) -> ToyDocument | None:
    kind, name = key
    handled = state.handled.get(name.rpartition("/")[2]) if kind == "toys" else None
    return None if handled is None else ToyDocument(name=name, count=handled)


# --- cubes --------------------------------------------------------------------------------------------------


def _on_cubes_tick(state: ToyState, _tick: Tick, message: Envelope) -> Iterable[Output]:
    number = count(state, message)
    assert state.next_us is not None
    state.next_us += PERIOD_US
    cube = number % CUBES
    state.readings[cube] = state.now_us / 3
    yield CubeUnhealthy(cube=cube, reasons=(f"Tick {number}",))
    yield CubeHealthy(cube=cube)


def _on_drain(state: ToyState, body: DrainCube, message: Envelope) -> list[Output]:
    count(state, message)
    if body.cube in state.drained:
        return [DrainRefused(target=body.cube, reason=f"drained by {state.drained[body.cube]}")]
    state.drained[body.cube] = message.id
    return [CubeDrained(cube=number_of(body.cube))]


# --- ocs ----------------------------------------------------------------------------------------------------


def _on_unhealthy(state: ToyState, body: CubeUnhealthy, message: Envelope) -> list[Output]:
    count(state, message)
    state.readings[body.cube] = -0.0
    return [OcsDown(ocs=body.cube)]


def _on_healthy(state: ToyState, body: CubeHealthy, message: Envelope) -> list[Output]:
    count(state, message)
    state.readings[body.cube] = 0.0
    state.owed[body.cube] = Owed(state.now_us + ANSWER_US, message.id)
    return []


def _on_ocs_tick(state: ToyState, _tick: Tick, message: Envelope) -> list[Output]:
    count(state, message)
    ready = [cube for cube, owed in state.owed.items() if owed.due_us <= state.now_us]
    return [CausedBy(state.owed.pop(cube).cause, OcsUp(ocs=cube)) for cube in ready]


def _ocs_due(state: ToyState) -> int | None:
    return min((owed.due_us for owed in state.owed.values()), default=None)


# --- repairs ------------------------------------------------------------------------------------------------


def _on_ocs_down(state: ToyState, body: OcsDown, message: Envelope) -> list[Output]:
    number = count(state, message)
    target = f"{state.fabric}/ocs-{body.ocs}"
    return [RepairOpened(repair=f"{state.fabric}/repair-{number}", kind="ocs", target=target)]


def _on_ocs_up(state: ToyState, _body: OcsUp, message: Envelope) -> list[Output]:
    count(state, message)
    return []


CUBES_TOY = toy("cubes", (on(Tick, _on_cubes_tick), on(DrainCube, _on_drain)))
OCS_TOY = toy(
    "ocs",
    (on(CubeUnhealthy, _on_unhealthy), on(CubeHealthy, _on_healthy), on(Tick, _on_ocs_tick)),
    due=_ocs_due,
)
REPAIRS_TOY = toy("repairs", (on(OcsDown, _on_ocs_down), on(OcsUp, _on_ocs_up)), due=lambda state: None)
TOYS: tuple[AnyService, ...] = (CUBES_TOY, OCS_TOY, REPAIRS_TOY)
