"""One fabric with all its services: how a root message and everything that follows from it unfold.

This is the sequencer's order, wherever the services run in one process: messages first in, first out, so what
services say is appended by position of the cause, then service name, then order of saying. When nothing is
left the log is quiet.
"""

from collections.abc import Callable, Collection, Sequence

from schemas.body import Body
from schemas.envelope import Envelope, enclose
from schemas.sequencer import Tick
from shared.basics.errors import ServiceFailed
from shared.engine.dispatch import ServiceInstance, read, skip
from shared.engine.service import AnyService

CASCADE_MAX = 100_000
"""Messages that may follow from one root; more means that services answer each other for ever."""


class Fabric:
    """The services of one fabric and what they hold."""

    def __init__(
        self,
        name: str,
        services: Sequence[AnyService],
        instances: Sequence[ServiceInstance] | None = None,
        skips: Collection[tuple[str, str]] = (),
    ) -> None:
        self.name = name
        self.skips = skips
        """(service, message id): what a person let a service pass over."""
        self.instances = sorted(
            instances or [ServiceInstance(s, name) for s in services], key=lambda h: h.service.name
        )
        self._by_service = {h.service.name: h for h in self.instances}
        self._readers: dict[str, list[ServiceInstance]] = {}
        self.now_us = max((h.state.now_us for h in self.instances if h.state), default=0)

    def holder(self, service: str) -> ServiceInstance:
        return self._by_service[service]

    def cascade(
        self, root: Envelope, on_read: Callable[[ServiceInstance, Envelope], None] | None = None
    ) -> list[Envelope]:
        """The root and all that follows from it, in the log's order; `on_read` is told of every reading."""
        if root.at_us > self.now_us:
            self.now_us = root.at_us
        log = [root]
        for message in log:
            for instance in self._readers_of(message):
                if self.skips and (instance.service.name, message.id) in self.skips:
                    skip(instance, message)
                elif said := read(instance, message):
                    log.extend(said)
                if on_read is not None:
                    on_read(instance, message)
            if len(log) > CASCADE_MAX:
                raise ServiceFailed(
                    f"services of {self.name} answer each other for ever: more than {CASCADE_MAX} messages "
                    f"follow from {root.id}, the last of them {message.type} by {message.source}"
                )
        return log

    def _readers_of(self, message: Envelope) -> list[ServiceInstance]:
        body = message.body
        if type(body) is Tick:
            holder = self._by_service.get(body.service)
            return [holder] if holder else []
        readers = self._readers.get(message.type)
        if readers is None:
            readers = self._readers[message.type] = [h for h in self.instances if h.reads(message)]
        return readers

    def next_due(self) -> ServiceInstance | None:
        """Who is due first, ties broken by service name; None if nobody is."""
        first: ServiceInstance | None = None
        first_us = 0
        for instance in self.instances:
            due_us = instance.due_us
            if due_us is not None and (first is None or due_us < first_us):
                first, first_us = instance, due_us
        return first

    def tick(self, instance: ServiceInstance) -> Envelope:
        """The Tick that `instance` is due for."""
        if instance.due_us is None:
            raise ValueError(f"{instance.source} is not due")
        count = instance.ticks + 1
        body = Tick(service=instance.service.name, due_us=instance.due_us, count=count)
        at_us = max(instance.due_us, self.now_us)
        source = f"tick.{instance.source}"
        return enclose(body, fabric=self.name, at_us=at_us, cause=None, source=source, seq=count)

    def request(self, body: Body, *, source: str, seq: int, clock_us: int | None) -> Envelope:
        """An operator's request as a root, at max(last now + 1, min(simulated clock, earliest due))."""
        first = self.next_due()
        bounds = [t for t in (clock_us, first.due_us if first else None) if t is not None]
        at_us = max(self.now_us + 1, min(bounds, default=0))
        return enclose(body, fabric=self.name, at_us=at_us, cause=None, source=source, seq=seq)
