"""The one path that a message takes through a service, in every runtime: skip if seen → handle → check.

Committing is the runtime's; how often it does so is its own choice.
"""

from dataclasses import dataclass, field
from typing import Any

from schemas.body import Body
from schemas.envelope import Envelope, enclose
from schemas.sequencer import FabricCommissioned, Tick
from shared.basics.errors import ServiceFailed
from shared.engine.service import AnyService, Because
from shared.engine.state import State


@dataclass(slots=True)
class Held:
    """One service's state for one fabric, with the reader's own book: what it has seen, said and is due for.

    `state` is None before the fabric was commissioned. `seen` maps a source to its last seq; a repeat is
    dropped.
    """

    service: AnyService
    fabric: str
    state: State | None = None
    seen: dict[str, int] = field(default_factory=dict)
    said: int = 0
    ticks: int = 0
    due_us: int | None = None
    source: str = ""
    rules: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.source = f"{self.service.name}@{self.fabric}"
        self.rules = {body.__name__: rule for body, rule in self.service.rules.items()}

    def reads(self, message: Envelope) -> bool:
        """Whether this service has a rule for the message: by its type alone, a Tick by its addressee."""
        if message.type == "Tick":
            body = message.body
            return isinstance(body, Tick) and body.service == self.service.name
        return message.type in self.rules or message.type == "FabricCommissioned"


def read(held: Held, message: Envelope) -> list[Envelope]:
    """Hand one message to a service; returns what it says, in order. Changes `held`.

    Nothing happens for a repeat, for a Tick that does not name the state's own due and next count, or before
    the fabric is commissioned. ServiceFailed if the rule raises or says what it may not: the caller must then
    throw
    `held` away and load what was last committed.
    """
    if message.seq <= held.seen.get(message.source, -1):
        return []
    state = held.state
    body = message.body
    if state is None:
        if not isinstance(body, FabricCommissioned):
            return []
        return _commission(held, message, body)
    if isinstance(body, Tick):
        if body.due_us != held.due_us or body.count != held.ticks + 1:
            return []
        held.ticks += 1
    elif isinstance(body, FabricCommissioned):
        return []
    held.seen[message.source] = message.seq
    if message.at_us > state.now_us:
        state.now_us = message.at_us
    try:
        sayings = list(held.rules[message.type](state, message))
        held.due_us = held.service.due(state)
    except Exception as error:
        raise ServiceFailed(_sentence(held, message, error)) from error
    if type(body) is Tick and held.due_us is not None and held.due_us <= state.now_us:
        raise ServiceFailed(
            _sentence(held, message, f"is due at {held.due_us}, not later than now {state.now_us}")
        )
    return [_say(held, message, saying, state.now_us) for saying in sayings] if sayings else []


def skip(held: Held, message: Envelope) -> None:
    """Let a service pass over a message on which it raises; a repeat of it is dropped. Changes `held`.

    If it is the service's own Tick, the service is due again only after the next message it reads.
    """
    held.seen[message.source] = message.seq
    if held.state is not None:
        held.state.now_us = max(held.state.now_us, message.at_us)
    if isinstance(message.body, Tick):
        held.ticks += 1
        held.due_us = None


def _commission(held: Held, message: Envelope, body: FabricCommissioned) -> list[Envelope]:
    try:
        held.state = held.service.commission(held.fabric, body)
        held.state.now_us = message.at_us
        held.due_us = held.service.due(held.state)
    except Exception as error:
        raise ServiceFailed(_sentence(held, message, error)) from error
    held.seen[message.source] = message.seq
    return []


def _say(held: Held, message: Envelope, saying: Body | Because, now_us: int) -> Envelope:
    cause = message.id
    if isinstance(saying, Because):
        cause, saying = saying.cause, saying.body
    if saying.writer != held.service.name:
        raise ServiceFailed(
            _sentence(held, message, f"said {type(saying).__name__}, which only {saying.writer} may write")
        )
    held.said += 1
    return enclose(saying, fabric=held.fabric, at_us=now_us, cause=cause, source=held.source, seq=held.said)


def _sentence(held: Held, message: Envelope, problem: object) -> str:
    text = problem if isinstance(problem, str) else f"raised {type(problem).__name__}: {problem}"
    return f"{held.service.name} of {held.fabric} {text}, on {message.id} ({message.type})"
