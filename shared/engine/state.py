"""The shape of a service's state: a dataclass of numpy arrays, plain values, and tables of frozen records.

Frozen records are what makes a commit cheap: a record that is still the same object has not changed, so only
the fields and table rows that did change are written.
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
    """In the place of `touched` where nobody reads status documents: notes nothing, and costs nothing."""

    def add(self, _key: tuple[str, str]) -> None:
        """Nothing."""

    def update(self, *_keys: Iterable[tuple[str, str]]) -> None:
        """Nothing."""


StateT = TypeVar("StateT", bound=State)


def stored_fields(state: State | type[State]) -> tuple[str, ...]:
    """Names of the fields that belong to the state, in order of declaration."""
    return tuple(f.name for f in fields(state) if not f.metadata.get("transient"))
