"""One site: fabrics that share a log, and the order of a root message and all its effects.

This is the sequencer's order if the services run in one process: messages are first in, first out, and each
is read in the order of (fabric, service). The emitted messages are ordered on the log by the position of
their cause, then by fabric, service and order of emission. A site with no messages left is quiet.
"""

from bisect import insort
from collections.abc import Callable, Collection, Sequence
from typing import Any

from schemas.envelope import Envelope
from schemas.messages.sequencer import FabricCommissioned, FabricRetired, Tick
from schemas.site_readings import SiteReading
from shared.basics.errors import ServiceFailed
from shared.engine.dispatch import ServiceInstance, deliver, skip_message
from shared.engine.message_order import Request, earliest_due, next_root, operator_source, tick_message
from shared.engine.service import AnyService

CASCADE_MAX = 100_000
"""Messages that may follow from one root; more means a message loop between services."""

ServicesOf = Callable[[str], Sequence[AnyService]]
"""The services of every fabric of a kind."""

Skip = tuple[str, str, str]
"""(fabric, service, message id): a message that an operator lets the service of a fabric skip."""


class Site:
    """The services of a site's fabrics, each with its state. A fabric exists from its commissioning on."""

    def __init__(
        self,
        name: str,
        services_of: ServicesOf,
        instances: Sequence[ServiceInstance] = (),
        skips: Collection[Skip] = (),
    ) -> None:
        self.name = name
        self.skips = skips
        self.instances = sorted(instances, key=_order)
        """The readers, in the order in which they read a message."""
        self.now_us = max((i.state.now_us for i in self.instances if i.state), default=0)
        """The site's simulated time: the time of the last message that a service read."""
        self.ticked_us = max((i.ticked_us for i in self.instances), default=0)
        """Time of its last Tick; 0 before the first."""
        self.remembered: dict[Any, Any] = {}
        """What a reader of this site keeps between two readings; it compares the versions of instances."""
        self._services_of = services_of
        self._index()

    @property
    def fabrics(self) -> list[str]:
        """The commissioned fabrics, in order, including retired ones."""
        return list(dict.fromkeys(instance.fabric for instance in self.instances))

    def has_retired(self, fabric: str) -> bool:
        """Whether a fabric of the site has read its last message."""
        return any(i.fabric == fabric and i.is_retired for i in self.instances)

    def is_too_late(self, request: Request) -> bool:
        """Whether a request can no longer be appended to the log: its fabric has retired, or the request
        would commission a fabric that already exists."""
        if isinstance(request.body, FabricCommissioned):
            return request.fabric in self.fabrics
        return self.has_retired(request.fabric)

    @property
    def last_request(self) -> int:
        """The highest number of a request that a service of the site has read; 0 before the first."""
        source = operator_source(self.name)
        return max([instance.seen.get(source, 0) for instance in self.instances], default=0)

    def instance(self, fabric: str, service: str) -> ServiceInstance:
        return self._at[fabric, service]

    def cascade(
        self, root: Envelope, on_delivery: Callable[[ServiceInstance, Envelope], None] | None = None
    ) -> list[Envelope]:
        """Return the root and all its effects, in the log's order; `on_delivery` is called after every
        delivery."""
        if isinstance(root.body, FabricCommissioned):
            self._join(root.fabric, root.body)
        log = [root]
        for message in log:  # it grows during the iteration: it is the queue, first in, first out
            for instance in self._readers_of(message):
                if self.skips and (instance.fabric, instance.name, message.id) in self.skips:
                    skip_message(instance, message)
                elif emitted := deliver(instance, message):
                    log.extend(emitted)
                if on_delivery is not None:
                    on_delivery(instance, message)
            if len(log) > CASCADE_MAX:
                raise ServiceFailed(
                    f"message loop between services of {self.name}: more than {CASCADE_MAX} messages "
                    f"follow from {root.id}, the last of them {message.type} by {message.source}"
                )
        if root.at_us > self.now_us and any(
            instance.state is not None and instance.state.now_us >= root.at_us
            for instance in self._readers_of(root)
        ):
            self.now_us = root.at_us
        if type(root.body) is Tick:
            for instance in self._readers_of(root):
                self.ticked_us = max(self.ticked_us, instance.ticked_us)
        elif type(root.body) is FabricRetired:
            self._index()  # the others continue
        return log

    def earliest(self) -> ServiceInstance | None:
        """The service that is due first; among equals the first in order. None if no service is due."""
        return earliest_due(self.instances)

    def next_root(self, request: Request | None, *, clock_us: int | None) -> Envelope | None:
        """Return the next root by the shared rule; None if there is nothing to do yet."""
        due, ticked_us = self.earliest(), self.ticked_us
        root = next_root(self.name, self.now_us, due, request, clock_us=clock_us, ticked_us=ticked_us)
        if due is None or root is None or type(root.body) is not Tick:
            return root
        readings = self.readings_for(due)
        return root if readings is None else tick_message(due, self.now_us, readings)

    def readings_for(self, instance: ServiceInstance) -> tuple[SiteReading, ...] | None:
        """Answer the queries that a service of this quiet site has now; None if it has none."""
        service = instance.service
        if service.queries is None or service.read_site is None or instance.state is None:
            return None
        queries = service.queries(instance.state)
        return service.read_site(self, queries) if queries else None

    def _join(self, fabric: str, body: FabricCommissioned) -> None:
        """Add the services of a new fabric. They create their states when they read the message."""
        if any(instance.fabric == fabric for instance in self.instances):
            return
        for service in self._services_of(body.kind):
            insort(self.instances, ServiceInstance(service, fabric), key=_order)
        self._index()

    def _index(self) -> None:
        self._at = {(instance.fabric, instance.name): instance for instance in self.instances}
        self._readers: dict[tuple[str, str, str | None], list[ServiceInstance]] = {}

    def _readers_of(self, message: Envelope) -> list[ServiceInstance]:
        body = message.body
        if type(body) is Tick:
            reader = self._at.get((message.fabric, body.service))
            return [reader] if reader else []
        key = (message.type, message.fabric, body.addressee)
        readers = self._readers.get(key)
        if readers is None:
            readers = self._readers[key] = [i for i in self.instances if i.reads(message)]
        return readers


def _order(instance: ServiceInstance) -> tuple[tuple[str, int], str]:
    return instance.order
