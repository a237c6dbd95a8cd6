"""Walks through a site's past, cascade by cascade, and reports changes of its status documents.

Builds only the documents that the caller has read, and rebuilds them only when they change. A walk costs
little more than the fold.
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
    """A document before and after a service read a message; None if it does not exist."""

    key: WalkedKey
    before: bytes | None
    after: bytes | None


@dataclass(frozen=True, slots=True)
class MessageEffect:
    """The effect of one service reading one message: changes of watched documents, and emitted messages."""

    message: Envelope
    emitted: tuple[Envelope, ...]
    changes: tuple[DocumentDiff, ...]


@dataclass(frozen=True, slots=True)
class CascadeStep:
    """One cascade: its messages, and the readings that changed watched documents, in order."""

    messages: list[Envelope]
    readings: list[MessageEffect]
    changes_fabrics: bool
    """Whether a fabric was commissioned or retired in it."""


class DocumentWalk:
    """Walks through one site. The caller alternates between reading documents and taking steps. `watched`
    contains the keys that were read, and (fabric, kind) if a whole kind was; clear it to start a new set."""

    def __init__(self, history: SiteHistory, replayed: ReplayedSite) -> None:
        self.watched: set[WalkedKey | tuple[str, str]] = set()
        self.version = 0
        """Rises when documents may have changed without a step that reports it: after the commissioning or
        retirement of a fabric, and if the site was rebuilt from another start."""
        self._history = history
        self._replayed = replayed
        self._owners: dict[WalkedKey, ServiceInstance] = {}
        self._texts: dict[WalkedKey, bytes | None] = {}
        """Current documents; missing ones are built when they are read."""
        self._names: dict[tuple[str, str], dict[str, None]] = {}
        self._emitted_counts: dict[str, int] = {}
        self._read: list[tuple[Envelope, str, int, int, list[DocumentDiff]]] = []
        """(message, source, seq of the source before, seq after, changes) of each reading."""
        self._index()

    @property
    def position(self) -> int:
        """The number of messages of the log that the site has read."""
        return self._replayed.position

    @property
    def at_us(self) -> int:
        return self._replayed.site.now_us

    @property
    def fabrics(self) -> dict[str, bool]:
        """The commissioned fabrics, in order, and whether each is retired."""
        site = self._replayed.site
        return {name: site.has_retired(name) for name in site.fabrics}

    def one(self, fabric: str, kind: str, name: str) -> bytes | None:
        key = (fabric, kind, name)
        self.watched.add(key)
        return self._text(key)

    def all(self, fabric: str, kind: str) -> dict[str, bytes]:
        self.watched.add((fabric, kind))
        texts = {name: self._text((fabric, kind, name)) for name in self._names.get((fabric, kind), ())}
        return {name: text for name, text in texts.items() if text is not None}

    def steps(self, position: int) -> Iterator[CascadeStep]:
        """Every cascade until the site has read `position` messages. A caller that stops early can continue
        with another call."""
        for messages in self._history.advance(self._replayed, position, self._on_read):
            if not messages:
                self._reload()
                continue
            changes_fabrics = any(
                isinstance(message.body, FabricCommissioned | FabricRetired) for message in messages
            )
            if changes_fabrics:
                self._index()
            readings, self._read = self._read, []
            yield CascadeStep(
                messages, [_message_effect(messages, *reading) for reading in readings], changes_fabrics
            )

    def _reload(self) -> None:
        """The replayed site was replaced: read the watched documents again."""
        self._read.clear()
        self._index()
        for key in [*self.watched]:
            self.one(*key) if len(key) == 3 else self.all(*key)

    def _index(self) -> None:
        """Forget the documents, and list their keys again."""
        self.version += 1
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
        walked_key = (instance.fabric, kind, name)
        self._owners[walked_key] = instance
        self._names.setdefault((instance.fabric, kind), {})[name] = None
        return walked_key

    def _text(self, key: WalkedKey) -> bytes | None:
        if key not in self._texts:
            self._texts[key] = self._build_text(key)
        return self._texts[key]

    def _build_text(self, key: WalkedKey) -> bytes | None:
        fabric, kind, name = key
        owner = self._owners.get(key)
        document = owner.service.document(owner.state, (kind, name)) if owner is not None else None
        if document is None:
            self._owners.pop(key, None)
            self._names.get((fabric, kind), {}).pop(name, None)
            return None
        return document.__pydantic_serializer__.to_json(document)

    def _on_read(self, instance: ServiceInstance, message: Envelope) -> None:
        """Record the changes of watched documents by one reading."""
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
                text = self._texts[key] = self._build_text(key)
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
    emitted = tuple(
        [message for message in messages if message.source == source and before < message.seq <= after]
    )
    return MessageEffect(read, emitted, tuple(changes))
