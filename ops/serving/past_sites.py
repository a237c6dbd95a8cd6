"""The past of a running twin: its sites at requested quiet times, folded from its log."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from functools import cached_property

from services.what_if.queries import WhatIfQueries, no_deadline
from shared.engine.service import Service
from shared.engine.site import ServicesOf, Site
from shared.engine.state import StateT
from shared.engine.state_codec import decode_state
from shared.storage.snapshots.document_changes import DocumentWalk
from shared.storage.snapshots.site_history import ReplayedSite, SiteHistory
from shared.storage.snapshots.site_snapshot import SiteSnapshot, to_bytes
from shared.storage.store.change_tracking import document_changes

KEPT_SITES = 8
"""Maximum number of cached past states, of some megabytes each."""

Deadline = Callable[[], Callable[[], bool]]


class FoldedPastSite:
    """One site at one time. Its documents are created on first use."""

    def __init__(
        self, moment: ReplayedSite, services_of: ServicesOf, software: str, deadline: Deadline = no_deadline
    ) -> None:
        self.position = moment.position
        self.fabrics = {name: moment.site.has_retired(name) for name in moment.site.fabrics}
        self._snapshot = moment.snapshot(software)
        self.queries = WhatIfQueries(_SnapshotCopies(self._snapshot, services_of), deadline)
        self._site = moment.site
        self._documents_lock = threading.Lock()

    def documents(self, fabric: str, kind: str) -> Mapping[str, bytes]:
        with self._documents_lock:
            return self._documents.get((fabric, kind), {})

    def snapshot(self) -> bytes:
        return to_bytes(self._snapshot)

    @cached_property
    def _documents(self) -> dict[tuple[str, str], dict[str, bytes]]:
        made: dict[tuple[str, str], dict[str, bytes]] = {}
        for instance in self._site.instances:
            for one in document_changes(instance, everything=True):
                if one.text is not None:
                    made.setdefault((one.fabric, one.kind), {})[one.name] = one.text
        return made


class PastReader:
    """Folds requested past states one after the other, and caches the latest ones."""

    def __init__(
        self,
        history_of: Callable[[str], SiteHistory],
        services_of: ServicesOf,
        software: str,
        deadline: Deadline = no_deadline,
    ) -> None:
        """Create a reader; `software` is the build that folds."""
        self._history_of = history_of
        self._services_of = services_of
        self._software = software
        self.deadline = deadline
        self._left: tuple[str, DocumentWalk] | None = None
        self._kept: OrderedDict[tuple[str, int], FoldedPastSite] = OrderedDict()
        self._fold_lock = threading.Lock()

    def site(self, name: str, position: int) -> FoldedPastSite:
        """Return the site at a position. Raises LogDamaged if the log differs from the fold."""
        with self._fold_lock:
            found = self._kept.pop((name, position), None)
            if found is None:
                moment = self._history_of(name).at(position)
                found = FoldedPastSite(moment, self._services_of, self._software, self.deadline)
            self._kept[name, position] = found
            if len(self._kept) > KEPT_SITES:
                self._kept.popitem(last=False)
            return found

    def begins(self, name: str) -> tuple[int, int]:
        """Return (position, simulated time) of the last upgrade to other rules, or of the start of the
        log."""
        base = self._history_of(name).base()
        return (0, 0) if base is None else (base.position, base.at_us)

    def walk(self, name: str, position: int) -> DocumentWalk:
        """Return a walk from a position on, one step after the other. Raises LogDamaged if the log differs
        from the fold."""
        with self._fold_lock:
            left, self._left = self._left, None
            if left is not None and (left[0], left[1].position) == (name, position):
                return left[1]
            history = self._history_of(name)
            return DocumentWalk(history, history.at(position))

    def leave(self, name: str, walk: DocumentWalk) -> None:
        """Keep a walk for a later request that continues at its position."""
        with self._fold_lock:
            self._left = (name, walk)


class _SnapshotCopies:
    """Private copies of a site's states."""

    def __init__(self, site_snapshot: SiteSnapshot, services_of: ServicesOf) -> None:
        self._snapshot = site_snapshot
        self._services_of = services_of

    def state(self, fabric: str, service: Service[StateT]) -> StateT:
        return decode_state(service.state, self._snapshot.states[service.name, fabric])

    def sites(self, fabric: str, count: int) -> list[Site]:  # noqa: ARG002 -- all fabrics of a site are of one moment
        return [self._snapshot.restored(self._services_of) for _ in range(count)]
