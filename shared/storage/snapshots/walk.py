"""A walk through a site's past, from one quiet moment to the next, along its status documents.

Only what somebody reads of them is made, and made again only when it was touched: a walk costs little more
than the fold.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from schemas.envelope import Envelope
from schemas.sequencer import FabricCommissioned, FabricRetired
from shared.engine.dispatch import ServiceInstance
from shared.engine.service import DocumentKey
from shared.storage.snapshots.history import History, Moment

Key = tuple[str, str, str]
"""(fabric, kind, name) of a document."""


@dataclass(frozen=True, slots=True)
class Change:
    """A document before and after a service read a message; None where there is none."""

    key: Key
    before: bytes | None
    after: bytes | None


@dataclass(frozen=True, slots=True)
class Reading:
    """What a service did to documents that are watched, by reading one message, and what it said to it."""

    message: Envelope
    said: tuple[Envelope, ...]
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """One cascade: its messages, and by which readings, in order, watched documents changed. `of_fabrics`
    where a fabric began or ended with it."""

    messages: list[Envelope]
    readings: list[Reading]
    of_fabrics: bool


class Walk:
    """One site, of which it is asked in turns what its documents are and what comes next. `watched` holds the
    keys of what was read so far, and (fabric, kind) of all that is of a kind; who reads anew clears it."""

    def __init__(self, history: History, moment: Moment) -> None:
        self.watched: set[Key | tuple[str, str]] = set()
        self._history = history
        self._moment = moment
        self._owners: dict[Key, ServiceInstance] = {}
        self._texts: dict[Key, bytes | None] = {}
        """Documents as they are now; those that are not here are made when they are asked for."""
        self._names: dict[tuple[str, str], dict[str, None]] = {}
        self._said: dict[str, int] = {}
        self._read: list[tuple[Envelope, str, int, int, list[Change]]] = []
        """Message, source, numbers of what it had said before and after, changes."""
        self._index()

    @property
    def position(self) -> int:
        """How many messages of the log the site has read."""
        return self._moment.position

    @property
    def at_us(self) -> int:
        return self._moment.site.now_us

    @property
    def fabrics(self) -> dict[str, bool]:
        """Those that are commissioned, in order, and whether each has retired."""
        site = self._moment.site
        return {name: site.has_retired(name) for name in site.fabrics}

    def one(self, fabric: str, kind: str, name: str) -> bytes | None:
        key = (fabric, kind, name)
        self.watched.add(key)
        return self._text(key)

    def all(self, fabric: str, kind: str) -> dict[str, bytes]:
        self.watched.add((fabric, kind))
        found = {name: self._text((fabric, kind, name)) for name in self._names.get((fabric, kind), ())}
        return {name: text for name, text in found.items() if text is not None}

    def steps(self, position: int) -> Iterator[Step]:
        """Every cascade on the way until the site has read so many messages. Whoever goes no further than one
        of them may go on from there by another call."""
        for messages in self._history.onward(self._moment, position, self._on_read):
            if not messages:
                self._begin_anew()
                continue
            of_fabrics = any(isinstance(one.body, FabricCommissioned | FabricRetired) for one in messages)
            if of_fabrics:
                self._index()
            readings, self._read = self._read, []
            yield Step(messages, [_reading(messages, *one) for one in readings], of_fabrics)

    def _begin_anew(self) -> None:
        """The moment is another site's by now: what is watched is read again of that."""
        self._read.clear()
        self._index()
        for key in [*self.watched]:
            self.one(*key) if len(key) == 3 else self.all(*key)

    def _index(self) -> None:
        """Forget what documents are, and find out which there are."""
        self._texts.clear()
        for instance in self._moment.site.instances:
            state = instance.state
            self._said[instance.source] = instance.said
            if state is not None:
                state.touched.clear()
                for key in instance.service.document_keys(state):
                    self._note(instance, key)

    def _note(self, instance: ServiceInstance, key: DocumentKey) -> Key:
        kind, name = key
        whole = (instance.fabric, kind, name)
        self._owners[whole] = instance
        self._names.setdefault((instance.fabric, kind), {})[name] = None
        return whole

    def _text(self, key: Key) -> bytes | None:
        if key not in self._texts:
            self._texts[key] = self._made(key)
        return self._texts[key]

    def _made(self, key: Key) -> bytes | None:
        fabric, kind, name = key
        owner = self._owners.get(key)
        document = owner.service.document(owner.state, (kind, name)) if owner is not None else None
        if document is None:
            self._owners.pop(key, None)
            self._names.get((fabric, kind), {}).pop(name, None)
            return None
        return document.__pydantic_serializer__.to_json(document)

    def _on_read(self, instance: ServiceInstance, message: Envelope) -> None:
        """Note what a service touched of what is watched, as it is after this message."""
        before, self._said[instance.source] = self._said.get(instance.source, 0), instance.said
        state = instance.state
        if state is None or not state.touched:
            return
        changes = []
        for kind, name in sorted(state.touched):
            key = self._note(instance, (kind, name))
            if key in self.watched or (instance.fabric, kind) in self.watched:
                was = self._texts.get(key)
                text = self._texts[key] = self._made(key)
                if text != was:
                    changes.append(Change(key, was, text))
            else:
                self._texts.pop(key, None)
        state.touched.clear()
        if changes:
            self._read.append((message, instance.source, before, instance.said, changes))


def _reading(
    messages: list[Envelope], read: Envelope, source: str, before: int, after: int, changes: list[Change]
) -> Reading:
    said = tuple([one for one in messages if one.source == source and before < one.seq <= after])
    return Reading(read, said, tuple(changes))
