"""The rows of a condition's resources along a walk through the past.

A walk takes thousands of steps, and each changes few documents. So a row is made again only if one of its
documents has changed, and the number of rows that pass a test is corrected by those rows alone.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from schemas.name_parts import fabric_part
from services.gateway.explain.condition_language import Condition
from services.gateway.explain.condition_logic import NamedResource, Row, RowTest, count_rows
from services.gateway.resources.kind_views import views_of
from services.gateway.runtime_ports import TwinPorts
from shared.basics.errors import OperationFailed
from shared.runtimes.simulated_clock import Clock, ClockChange, ClockState, Epoch
from shared.storage.snapshots.document_changes import DocumentWalk, WalkedKey
from shared.storage.store.state_store import FabricPlace

ReadPlace = WalkedKey | tuple[str, str]
"""The key of a document, or (fabric, kind) of all documents of a kind."""


@dataclass(slots=True)
class _KeptRows:
    """The rows of one resource or of a listing."""

    rows: dict[str, Sequence[Row]]
    """Name of the documents → the rows that follow from them."""
    read: frozenset[ReadPlace]
    """What was read to make the rows."""
    rows_of: Callable[[str], Sequence[Row]] | None = None
    """Makes the rows of one name; None if all must be made together."""
    passing: dict[RowTest | None, dict[str, int]] = field(default_factory=dict)
    """Test → name of the documents → the number of its rows that pass."""
    totals: dict[RowTest | None, int] = field(default_factory=dict)
    """Test → the number of all rows that pass."""

    def count(self, test: RowTest | None) -> int:
        """The number of rows that pass a test; without one, of all rows."""
        if test not in self.totals:
            numbers = {name: count_rows(rows, test) for name, rows in self.rows.items()}
            self.passing[test], self.totals[test] = numbers, sum(numbers.values())
        return self.totals[test]

    def replace(self, name: str, rows: Sequence[Row]) -> None:
        """Replace the rows of a name, and correct the counts."""
        self.rows[name] = rows
        for test, numbers in self.passing.items():
            number = count_rows(rows, test)
            self.totals[test] += number - numbers.get(name, 0)
            numbers[name] = number


class WalkedRows:
    """A `ConditionSource` at a walk's position. For a time within the walk's last cascade, the caller puts
    the documents of that time into `over`. Fields that change with time alone are not current."""

    def __init__(self, twin: TwinPorts, walk: DocumentWalk, condition: Condition) -> None:
        self.over: dict[WalkedKey, bytes | None] = {}
        self._documents = _WalkDocuments(walk, twin, self.over)
        self._twin = replace(twin, documents=self._documents, clock=_WalkClock(walk), kept_rows={})
        self._walk = walk
        self._condition = condition
        self._views = views_of(twin)
        self._kept: dict[NamedResource, _KeptRows] = {}
        """A resource, or (word of a kind, "") for its listing → its rows."""
        self._version = walk.version

    def advance(self, changed: Iterable[WalkedKey]) -> None:
        """Replace the rows that follow from changed documents. Callers report every change here, and only
        here are rows forgotten."""
        if self._version != self._walk.version:
            self._version = self._walk.version
            self._kept.clear()
            return
        keys = frozenset(changed)
        for resource, kept in [*self._kept.items()]:
            names = {key[2] for key in keys if key in kept.read or key[:2] in kept.read}
            if names and kept.rows_of is None:
                del self._kept[resource]
            elif kept.rows_of is not None:
                for name in names:
                    kept.replace(name, kept.rows_of(name))

    def row(self, word: str, name: str) -> Row | None:
        """One resource of a kind; None if it does not exist."""
        fabric = fabric_part(name)
        if fabric not in self._walk.fabrics:
            return None
        found = self._keep((word, name), lambda: self._found(word, fabric, name)).rows[name]
        return found[0] if found else None

    def count(self, word: str, test: RowTest | None) -> int:
        """The number of resources of a kind in the fabric of the condition that pass a test."""
        if self._condition.fabric not in self._walk.fabrics:
            return 0
        return self._keep((word, ""), lambda: self._listed(word, self._condition.fabric)).count(test)

    def _keep(self, resource: NamedResource, make: Callable[[], _KeptRows]) -> _KeptRows:
        kept = self._kept.get(resource)
        if kept is None:
            self._documents.read.clear()
            kept = self._kept[resource] = make()
        self._walk.watched |= kept.read
        return kept

    def _found(self, word: str, fabric: str, name: str) -> _KeptRows:
        row = self._views[word].find(self._twin, fabric, name)
        return _KeptRows({name: () if row is None else (row,)}, frozenset(self._documents.read))

    def _listed(self, word: str, fabric: str) -> _KeptRows:
        view = self._views[word]
        is_short = word not in self._condition.long_fields
        rows_of = view.rows_of_name(self._twin, fabric, is_short) if view.rows_of_name is not None else None
        if rows_of is None:
            listing = view.short_listing if is_short and view.short_listing is not None else view.listing
            rows = {"": listing(self._twin, fabric)}
            return _KeptRows(rows, frozenset(self._documents.read))
        places = [(fabric, kind) for kind in view.kind.documents]
        names = {name for place in places for name in self._documents.all(*place)}
        return _KeptRows({name: rows_of(name) for name in names}, frozenset(places), rows_of)


class _WalkDocuments:
    """A `DocumentReader` at a walk's position, with the documents in `over` replaced. `read` collects what
    was read."""

    def __init__(self, walk: DocumentWalk, twin: TwinPorts, over: dict[WalkedKey, bytes | None]) -> None:
        self.read: set[ReadPlace] = set()
        self._over = over
        self._walk = walk
        self._present = twin.documents
        self._fabrics: tuple[int, dict[str, FabricPlace]] | None = None
        """The version of the walk, and its fabrics."""

    def fabrics(self) -> dict[str, FabricPlace]:
        if self._fabrics is None or self._fabrics[0] != self._walk.version:
            self._fabrics = self._walk.version, self._read_fabrics()
        return self._fabrics[1]

    def _read_fabrics(self) -> dict[str, FabricPlace]:
        present, places = self._present.fabrics(), dict[str, FabricPlace]()
        for name, is_retired in self._walk.fabrics.items():
            if name not in present:
                continue  # commissioned on the log, but not yet read by its services
            places[name] = present[name] if is_retired else replace(present[name], retired_us=None)
        return places

    def all(self, fabric: str, kind: str) -> dict[str, bytes]:
        self.read.add((fabric, kind))
        documents: dict[str, bytes | None] = {**self._walk.all(fabric, kind)}
        documents |= {key[2]: text for key, text in self._over.items() if key[:2] == (fabric, kind)}
        return {name: text for name, text in documents.items() if text is not None}

    def one(self, fabric: str, kind: str, name: str) -> bytes | None:
        key = (fabric, kind, name)
        self.read.add(key)
        return self._over[key] if key in self._over else self._walk.one(*key)


class _WalkClock(Clock):
    """A clock at the time of a walk."""

    def __init__(self, walk: DocumentWalk) -> None:
        self._walk = walk

    def show(self) -> ClockState:
        return ClockState(self._walk.at_us, 0.0, paused=True, achieved_speed=0.0, lag_us=0)

    def change(self, request: ClockChange, who: str) -> Epoch:
        raise OperationFailed(f"clock: {who} cannot change it in the past ({request})")
