"""The one path of a message through a service, in every runtime: skip if seen → handle → check.

The runtime commits; it chooses how often.
"""

from dataclasses import dataclass, field
from typing import Any

from schemas.body import Body
from schemas.envelope import Envelope, enclose
from schemas.message_writers import may_write
from schemas.messages.sequencer import FabricCommissioned, FabricRetired, Tick
from shared.basics.errors import ServiceFailed
from shared.engine.message_order import RETIREMENT_SEQ, ReaderOrder, reader_order, sequencer_source
from shared.engine.service import AnyService, CausedBy, RuleRow
from shared.engine.state import State


@dataclass(slots=True)
class ServiceInstance:
    """One service of one fabric: its state, and its own counters: messages read, messages emitted, next due
    time.

    `state` is None before the fabric was commissioned, at `begun_us`. `seen` maps a source to its last seq.
    """

    service: AnyService
    fabric: str
    state: State | None = None
    seen: dict[str, int] = field(default_factory=dict)
    emitted: int = 0
    ticks: int = 0
    ticked_us: int = 0
    """Simulated time of its last Tick; 0 before the first."""
    due_us: int | None = None
    begun_us: int = 0
    name: str = ""
    source: str = ""
    order: ReaderOrder = (("", 0), "")
    rules: dict[str, RuleRow[Any]] = field(default_factory=dict)
    is_retired: bool = False
    """Whether it has read the last message of its fabric, according to `seen`. It reads no more messages."""

    def __post_init__(self) -> None:
        self.name = self.service.name
        self.source = f"{self.name}@{self.fabric}"
        self.order = reader_order(self.fabric, self.name)
        self.rules = {row.body.__name__: row for row in self.service.rules}
        self.is_retired = self.seen.get(sequencer_source(self.fabric), 0) >= RETIREMENT_SEQ

    @property
    def version(self) -> int:
        """A number that rises with every message that it reads; its state stays the same in between."""
        return sum(self.seen.values())

    def reads(self, message: Envelope) -> bool:
        """Whether this service of this fabric reads a message. The type and the scope of the rule decide; for
        a Tick, the addressee. It always reads the start and the end of its own fabric, and nothing after."""
        if self.is_retired:
            return False
        body, is_own = message.body, message.fabric == self.fabric
        if isinstance(body, Tick):
            return is_own and body.service == self.name
        if is_own and type(body) in (FabricCommissioned, FabricRetired):
            return True
        row = self.rules.get(message.type)
        if row is None:
            return False
        if row.scope == "addressed":
            return (body.addressee or message.fabric) == self.fabric
        return is_own or row.scope == "site-wide"

    def has_read(self, message: Envelope) -> bool:
        """Whether a message is a repeat: this service has read it, or it was emitted before the fabric
        started. A fabric that joins a site starts after all earlier messages (`request_time_us`)."""
        return message.seq <= self.seen.get(message.source, -1) or message.at_us < self.begun_us


def deliver(instance: ServiceInstance, message: Envelope) -> list[Envelope]:
    """Hand one message to a service and return the messages it emits, in order. Changes `instance`.

    Nothing happens for a repeat, for a Tick that does not name the state's own due and next count, before
    the fabric is commissioned, or after it has retired. Otherwise the rule runs, then the service's `after`.
    ServiceFailed if one of them raises, or if the rule emits a type that it may not write: the caller must
    then discard `instance` and load the last committed state.
    """
    if instance.is_retired or instance.has_read(message):
        return []
    state = instance.state
    body = message.body
    if state is None:
        if not isinstance(body, FabricCommissioned) or message.fabric != instance.fabric:
            return []
        return _commission(instance, message, body)
    if isinstance(body, Tick):
        if body.due_us != instance.due_us or body.count != instance.ticks + 1:
            return []
        instance.ticks += 1
        instance.ticked_us = message.at_us
    elif isinstance(body, FabricCommissioned) and message.fabric == instance.fabric:
        return []
    instance.seen[message.source] = message.seq
    if message.at_us > state.now_us:
        state.now_us = message.at_us
    if type(body) is FabricRetired and message.fabric == instance.fabric:
        instance.is_retired, instance.due_us = True, None
        return []
    try:
        row = instance.rules[message.type]
        outputs = list(row.rule(state, body, message))
        if row.runs_after and instance.service.after is not None:
            instance.service.after(state, message)
        instance.due_us = instance.service.due(state)
    except Exception as error:
        raise ServiceFailed(_sentence(instance, message, error)) from error
    if type(body) is Tick and instance.due_us is not None and instance.due_us <= state.now_us:
        raise ServiceFailed(
            _sentence(instance, message, f"is due at {instance.due_us}, not later than now {state.now_us}")
        )
    return [_emit(instance, message, output, state.now_us) for output in outputs] if outputs else []


def skip_message(instance: ServiceInstance, message: Envelope) -> None:
    """Let a service skip a message on which it raises; a repeat of it is dropped. Changes `instance`.

    If it is the service's own Tick, the service is due again only after the next message that it reads.
    """
    instance.seen[message.source] = message.seq
    if instance.state is not None:
        instance.state.now_us = max(instance.state.now_us, message.at_us)
    if isinstance(message.body, Tick):
        instance.ticks += 1
        instance.ticked_us = message.at_us
        instance.due_us = None


def _commission(instance: ServiceInstance, message: Envelope, body: FabricCommissioned) -> list[Envelope]:
    try:
        instance.state = instance.service.commission(instance.fabric, body.config, message.at_us)
        instance.due_us = instance.service.due(instance.state)
    except Exception as error:
        raise ServiceFailed(_sentence(instance, message, error)) from error
    instance.seen[message.source] = message.seq
    instance.begun_us = message.at_us
    return []


def _emit(instance: ServiceInstance, message: Envelope, output: Body | CausedBy, now_us: int) -> Envelope:
    cause = message.id
    if isinstance(output, CausedBy):
        cause, output = output.cause, output.body
    if not may_write(instance.service.name, type(output)):
        raise ServiceFailed(
            _sentence(
                instance, message, f"emitted {type(output).__name__}, which only {output.writer} may write"
            )
        )
    instance.emitted += 1
    return enclose(
        output,
        fabric=instance.fabric,
        at_us=now_us,
        cause=cause,
        source=instance.source,
        seq=instance.emitted,
    )


def _sentence(instance: ServiceInstance, message: Envelope, problem: object) -> str:
    text = problem if isinstance(problem, str) else f"raised {type(problem).__name__}: {problem}"
    return f"{instance.service.name} of {instance.fabric} {text}, on {message.id} ({message.type})"
