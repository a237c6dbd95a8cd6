"""A test bench with some services of one fabric: the test sends the messages of all others, and time passes.

The bench also keeps the status documents as a runtime does, to compare them with the state.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar, overload

from schemas.body import Body
from schemas.config.pods import FabricConfig
from schemas.envelope import Envelope, enclose
from shared.engine.dispatch import ServiceInstance
from shared.engine.service import AnyService, DocumentKey
from shared.engine.state import State, stored_fields
from tests.support.fresh_documents import fresh_documents
from tests.support.pods import POD, empty_site, first_message, next_tick

BodyT = TypeVar("BodyT", bound=Body)


class Bench:
    """Some services of one fabric. `log` has all messages, roots included. The fabric is commissioned at
    `at_us`."""

    def __init__(
        self, services: Sequence[AnyService], config: FabricConfig | None = None, at_us: int = 0
    ) -> None:
        self.site = empty_site(services)
        self.log: list[Envelope] = []
        self.documents: dict[DocumentKey, Any] = {}
        self._seq: dict[str, int] = {}
        self._take(first_message(config, at_us=at_us))
        for instance in self.site.instances:
            for key in instance.service.document_keys(instance.state):
                self.documents[key] = instance.service.document(instance.state, key)

    @property
    def now_us(self) -> int:
        return self.site.now_us

    def state(self, service: str) -> Any:
        return self.site.instance(POD, service).state

    def due_us(self) -> int | None:
        due = self.site.earliest()
        return None if due is None else due.due_us

    def say(
        self, body: Body, at_us: int | None = None, cause: str | None = None, fabric: str = POD
    ) -> list[Envelope]:
        """Advance to just before `at_us` (default: now), send the message as a service of `fabric`, and
        return all messages that follow."""
        at_us = self.now_us if at_us is None else at_us
        self.run(at_us - 1)
        source = f"{body.writer}@{fabric}"
        seq = self._seq[source] = self._seq.get(source, 0) + 1
        return self._take(enclose(body, fabric=fabric, at_us=at_us, cause=cause, source=source, seq=seq))[1:]

    def run(self, until_us: int) -> list[Envelope]:
        """Run every Tick up to and including `until_us`; return them with all messages that follow."""
        start = len(self.log)
        while (due_us := self.due_us()) is not None and due_us <= until_us:
            self._take(next_tick(self.site))
        return self.log[start:]

    def step(self) -> list[Envelope]:
        """Run the next Tick, whenever it is due; return the messages that follow."""
        return self._take(next_tick(self.site))[1:]

    def _take(self, root: Envelope) -> list[Envelope]:
        log = self.site.cascade(root)
        self.log += log
        for instance in self.site.instances:
            state = state_of(instance)
            for key in sorted(state.changed_documents):
                self.documents[key] = instance.service.document(state, key)
            state.changed_documents.clear()
        return log

    def assert_documents_hold(self) -> None:
        """Check that the documents kept along the way equal those of the current states."""
        kept = {key: document for key, document in self.documents.items() if document is not None}
        fresh = {key: text for one in self.site.instances for key, text in fresh_documents(one).items()}
        assert kept == fresh

    def reload(self) -> None:
        """Replace every state by a new one made from its stored fields, with tables in another order."""
        for instance in self.site.instances:
            state = state_of(instance)
            stored: dict[str, Any] = {name: getattr(state, name) for name in stored_fields(state)}
            made: Callable[..., State] = type(state)
            instance.state = made(
                **{
                    name: dict(reversed(value.items())) if isinstance(value, dict) else value
                    for name, value in stored.items()
                }
            )


def state_of(instance: ServiceInstance) -> State:
    assert instance.state is not None, f"{instance.source} was not commissioned"
    return instance.state


@overload
def bodies(log: Sequence[Envelope]) -> list[Body]: ...


@overload
def bodies(log: Sequence[Envelope], kind: type[BodyT]) -> list[BodyT]: ...


def bodies(log: Sequence[Envelope], kind: type[Body] | None = None) -> Sequence[Body]:
    """Return the bodies of messages, of one type or of all."""
    return [message.body for message in log if kind is None or type(message.body) is kind]
