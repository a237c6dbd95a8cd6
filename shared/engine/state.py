"""The form of a service's state: a dataclass of numpy arrays, plain values, and tables of frozen records.

Frozen records make a commit cheap: a record that is still the same object has not changed, so only the
changed fields and table rows are written.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from typing import TypeVar

TRANSIENT = {"transient": True}
"""Field metadata: not part of the state; never stored, hashed or compared."""


@dataclass
class State:
    """Base of every service's state.

    `now_us` is the time of the message being handled. `touched` collects the (kind, name) of every status
    document that the handled messages changed; the runtime empties it.
    """

    fabric: str
    seed: int
    now_us: int
    changed_documents: set[tuple[str, str]] = field(default_factory=set, metadata=TRANSIENT, kw_only=True)


class IgnoredDocumentKeys(set[tuple[str, str]]):
    """Replaces `touched` if no caller reads status documents: records nothing, and costs nothing."""

    def add(self, _key: tuple[str, str]) -> None:
        """Do nothing."""

    def update(self, *_keys: Iterable[tuple[str, str]]) -> None:
        """Do nothing."""


class WatchedDocumentKeys(set[tuple[str, str]]):
    """Replaces the keys of a state for a second reader of its changes: `unread` collects them too, until that
    reader empties it. It stays `UNREAD_MAX` or smaller: `missed` tells that there were more, and the reader
    must then read every document."""

    UNREAD_MAX = 10_000

    def __init__(self, keys: set[tuple[str, str]]) -> None:
        super().__init__(keys)
        self.unread: set[tuple[str, str]] = set()
        self.missed = False
        self._ignores = isinstance(keys, IgnoredDocumentKeys)

    def add(self, key: tuple[str, str]) -> None:
        """Add a key for both readers."""
        self.update((key,))

    def update(self, *keys: Iterable[tuple[str, str]]) -> None:
        """Add keys for both readers."""
        found = set().union(*keys)
        if not self._ignores:
            super().update(found)
        if not self.missed:
            self.unread |= found
            if len(self.unread) > self.UNREAD_MAX:
                self.missed = True
                self.unread.clear()


StateT = TypeVar("StateT", bound=State)


def stored_fields(state: State | type[State]) -> tuple[str, ...]:
    """Names of the fields that belong to the state, in order of declaration."""
    return tuple(f.name for f in fields(state) if not f.metadata.get("transient"))
