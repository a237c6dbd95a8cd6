"""A toy site of several fabrics: pods and a network of another kind that interact, small enough to follow by
hand.

The network's `router` announces a number to all pods at each of its Ticks. On request it announces one at
once, or offers one to a single pod. In every pod, `agent` answers an announcement twice and an offer once,
and `clerk` notes its own agent's answers a little later. The network's `clerk` counts the answers of all
agents, and confirms every third.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Literal, TypeVar

from schemas import registry
from schemas.body import Body
from schemas.config.fabric_configs import CONFIGS
from schemas.config.pods import FabricConfig, SuperpodConfig
from schemas.envelope import Envelope
from schemas.messages.sequencer import Tick
from schemas.names import FabricName
from services import fabric_kinds, service_names
from shared.engine.service import AnyService, CausedBy, Output, on
from shared.models.fabric_plants import CONFIG_CHECKS
from tests.support.toy_services import PERIOD_US, Owed, ToyState, count, toy

SITE = "campus"
NET, POD_2, POD_10 = "dcn-0", "pod-2", "pod-10"
NOTED_LATER_US = 11
ANNOUNCED_EVERY_US = PERIOD_US // 4
T = TypeVar("T")
FOR_ALL = ""
"""The addressee of a request to all pods."""


class ToynetConfig(FabricConfig):
    kind: Literal["toynet"] = "toynet"


class ToyAsked(Body):
    """Requests the network to announce something, or to offer it to one pod."""

    writer = "operator"
    to: str


class ToyAnnounced(Body):
    writer = "router"
    number: int


class ToyOffered(Body):
    """An offer to one fabric."""

    writer = "router"
    to: FabricName
    number: int

    @property
    def addressee(self) -> str:
        return self.to


class ToyAnswered(Body):
    writer = "agent"
    number: int


class ToyNoted(Body):
    writer = "clerk"
    number: int


BODIES = (ToyAsked, ToyAnnounced, ToyOffered, ToyAnswered, ToyNoted)


@contextmanager
def toys_registered() -> Iterator[None]:
    """Register the toys' messages and configurations for the duration of the block."""
    registry.TYPES.update({body.__name__: body for body in BODIES})
    CONFIGS["toynet"] = ToynetConfig
    CONFIG_CHECKS["toynet"] = lambda _config: None
    try:
        yield
    finally:
        del CONFIGS["toynet"]
        del CONFIG_CHECKS["toynet"]
        for body in BODIES:
            del registry.TYPES[body.__name__]


@contextmanager
def toys_alone() -> Iterator[None]:
    """Make the toys the whole fleet for the duration of the block. Commands of this process know no other
    kinds and services."""
    kept = dict(fabric_kinds.FLEET), dict(service_names.SERVICE_NAMES)
    _replace(fabric_kinds.FLEET, FLEET)
    _replace(
        service_names.SERVICE_NAMES,
        {kind: tuple(s.name for s in services) for kind, services in FLEET.items()},
    )
    try:
        with toys_registered():
            yield
    finally:
        _replace(fabric_kinds.FLEET, kept[0])
        _replace(service_names.SERVICE_NAMES, kept[1])


def _replace(table: dict[str, T], rows: Mapping[str, T]) -> None:
    table.clear()
    table.update(rows)


# --- the network --------------------------------------------------------------------------------------------


def _on_asked(state: ToyState, body: ToyAsked, message: Envelope) -> list[Output]:
    number = count(state, message)
    return [ToyAnnounced(number=number) if body.to == FOR_ALL else ToyOffered(to=body.to, number=number)]


def _on_router_tick(state: ToyState, _tick: Tick, message: Envelope) -> list[Output]:
    assert state.next_us is not None
    state.next_us += ANNOUNCED_EVERY_US
    return [ToyAnnounced(number=100 + count(state, message))]


def _on_any_answer(state: ToyState, body: ToyAnswered, message: Envelope) -> list[Output]:
    number = count(state, message)
    state.readings[number % len(state.readings)] = body.number
    return [] if number % 3 else [ToyNoted(number=number)]


# --- a pod --------------------------------------------------------------------------------------------------


def _on_announced(state: ToyState, body: ToyAnnounced, message: Envelope) -> list[Output]:
    count(state, message)
    return [ToyAnswered(number=body.number), ToyAnswered(number=-body.number)]


def _on_offered(state: ToyState, body: ToyOffered, message: Envelope) -> list[Output]:
    count(state, message)
    return [ToyAnswered(number=body.number)]


def _on_own_answer(state: ToyState, body: ToyAnswered, message: Envelope) -> list[Output]:
    count(state, message)
    state.owed[body.number] = Owed(state.now_us + NOTED_LATER_US, message.id)
    return []


def _on_clerk_tick(state: ToyState, _tick: Tick, message: Envelope) -> Iterable[Output]:
    count(state, message)
    for number in [number for number, owed in state.owed.items() if owed.due_us <= state.now_us]:
        yield CausedBy(state.owed.pop(number).cause, ToyNoted(number=number))


def _owed_us(state: ToyState) -> int | None:
    return min((owed.due_us for owed in state.owed.values()), default=None)


AGENT = toy(
    "agent",
    (on(ToyAnnounced, _on_announced, scope="site-wide"), on(ToyOffered, _on_offered, scope="addressed")),
    due=lambda state: None,
)
CLERK = toy("clerk", (on(ToyAnswered, _on_own_answer), on(Tick, _on_clerk_tick)), due=_owed_us)
NET_CLERK = toy("clerk", (on(ToyAnswered, _on_any_answer, scope="site-wide"),), due=lambda state: None)
ROUTER = toy("router", (on(ToyAsked, _on_asked), on(Tick, _on_router_tick)))
FLEET: Mapping[str, tuple[AnyService, ...]] = {"superpod": (AGENT, CLERK), "toynet": (NET_CLERK, ROUTER)}
FABRICS: Mapping[str, FabricConfig] = {
    POD_10: SuperpodConfig(seed=1),
    NET: ToynetConfig(seed=2),
    POD_2: SuperpodConfig(seed=3),
}
"""Not in order; a site sorts them."""


def services_of(kind: str) -> tuple[AnyService, ...]:
    return FLEET[kind]
