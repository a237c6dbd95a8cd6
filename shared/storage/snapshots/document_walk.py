"""A walk through a site's past, from one quiet moment to the next, along its status documents.

Only what somebody reads of them is made, and made again only when it was touched: a walk costs little more
than the fold.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from schemas.envelope import Envelope
from schemas.messages.sequencer import FabricCommissioned, FabricRetired
from shared.engine.dispatch import ServiceInstance
from shared.engine.service import DocumentKey
from shared.storage.snapshots.site_history import ReplayedSite, SiteHistory

WalkedKey = tuple[str, str, str]
"""(fabric, kind, name) of a document."""


@dataclass(frozen=True, slots=True)
class DocumentDiff:
    """A document before and after a service read a message; None where there is none."""

    key: WalkedKey
    before: bytes | None
    after: bytes | None


@dataclass(frozen=True, slots=True)
class MessageEffect:
    """What a service did to documents that are watched, by reading one message, and what it said to it."""

    message: Envelope
    emitted: tuple[Envelope, ...]
    changes: tuple[DocumentDiff, ...]


@dataclass(frozen=True, slots=True)
class CascadeStep:
    """One cascade: its messages, and by which readings, in order, watched documents changed. `of_fabrics`
    where a fabric began or ended with it."""

    messages: list[Envelope]
    readings: list[MessageEffect]
    changes_fabrics: bool


class DocumentWalk:
    """One site, of which it is asked in turns what its documents are and what comes next. `watched` holds the
    keys of what was read so far, and (fabric, kind) of all that is of a kind; who reads anew clears it."""

    def __init__(self, history: SiteHistory, replayed: ReplayedSite) -> None:
        self.watched: set[WalkedKey | tuple[str, str]] = set()
        self._history = history
        self._replayed = replayed
        self._owners: dict[WalkedKey, ServiceInstance] = {}
        self._texts: dict[WalkedKey, bytes | None] = {}
        """Documents as they are now; those that are not here are made when they are asked for."""
        self._names: dict[tuple[str, str], dict[str, None]] = {}
        self._emitted_counts: dict[str, int] = {}
        self._read: list[tuple[Envelope, str, int, int, list[DocumentDiff]]] = []
        """Message, source, numbers of what it had said before and after, changes."""
        self._index()

    @property
    def position(self) -> int:
        """How many messages of the log the site has read."""
        return self._replayed.position

    @property
    def at_us(self) -> int:
        return self._replayed.site.now_us

    @property
    def fabrics(self) -> dict[str, bool]:
        """Those that are commissioned, in order, and whether each has retired."""
        site = self._replayed.site
        return {name: site.has_retired(name) for name in site.fabrics}

    def one(self, fabric: str, kind: str, name: str) -> bytes | None:
        key = (fabric, kind, name)
        self.watched.add(key)
        return self._text(key)

    def all(self, fabric: str, kind: str) -> dict[str, bytes]:
        self.watched.add((fabric, kind))
        found = {name: self._text((fabric, kind, name)) for name in self._names.get((fabric, kind), ())}
        return {name: text for name, text in found.items() if text is not None}

    def steps(self, position: int) -> Iterator[CascadeStep]:
        """Every cascade on the way until the site has read so many messages. Whoever goes no further than one
        of them may go on from there by another call."""
        for messages in self._history.advance(self._replayed, position, self._on_read):
            if not messages:
                self._reload()
                continue
            changes_fabrics = any(
                isinstance(one.body, FabricCommissioned | FabricRetired) for one in messages
            )
            if changes_fabrics:
                self._index()
            readings, self._read = self._read, []
            yield CascadeStep(
                messages, [_message_effect(messages, *one) for one in readings], changes_fabrics
            )

    def _reload(self) -> None:
        """The moment is another site's by now: what is watched is read again of that."""
        self._read.clear()
        self._index()
        for key in [*self.watched]:
            self.one(*key) if len(key) == 3 else self.all(*key)

    def _index(self) -> None:
        """Forget what documents are, and find out which there are."""
        self._texts.clear()
        for instance in self._replayed.site.instances:
            state = instance.state
            self._emitted_counts[instance.source] = instance.emitted
            if state is not None:
                state.changed_documents.clear()
                for key in instance.service.document_keys(state):
                    self._note(instance, key)

    def _note(self, instance: ServiceInstance, key: DocumentKey) -> WalkedKey:
        kind, name = key
        whole = (instance.fabric, kind, name)
        self._owners[whole] = instance
        self._names.setdefault((instance.fabric, kind), {})[name] = None
        return whole

    def _text(self, key: WalkedKey) -> bytes | None:
        if key not in self._texts:
            self._texts[key] = self._made(key)
        return self._texts[key]

    def _made(self, key: WalkedKey) -> bytes | None:
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
        before, self._emitted_counts[instance.source] = (
            self._emitted_counts.get(instance.source, 0),
            instance.emitted,
        )
        state = instance.state
        if state is None or not state.changed_documents:
            return
        changes = []
        for kind, name in sorted(state.changed_documents):
            key = self._note(instance, (kind, name))
            if key in self.watched or (instance.fabric, kind) in self.watched:
                was = self._texts.get(key)
                text = self._texts[key] = self._made(key)
                if text != was:
                    changes.append(DocumentDiff(key, was, text))
            else:
                self._texts.pop(key, None)
        state.changed_documents.clear()
        if changes:
            self._read.append((message, instance.source, before, instance.emitted, changes))


def _message_effect(
    messages: list[Envelope],
    read: Envelope,
    source: str,
    before: int,
    after: int,
    changes: list[DocumentDiff],
) -> MessageEffect:
    emitted = tuple([one for one in messages if one.source == source and before < one.seq <= after])
    return MessageEffect(read, emitted, tuple(changes))
