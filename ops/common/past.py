"""The past of a living twin: its sites at the quiet moments that somebody asks about, folded from its log."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from functools import cached_property

from services.questions import Questions, never
from shared.engine.codec import decode_state
from shared.engine.service import Service
from shared.engine.site import ServicesOf, Site
from shared.engine.state import StateT
from shared.storage.snapshots.history import History, Moment
from shared.storage.snapshots.site_snapshot import SiteSnapshot, to_bytes
from shared.storage.snapshots.walk import Walk
from shared.storage.tracked import document_changes

KEPT = 8
"""Moments that are kept for the next question about them, some megabytes each."""

Deadline = Callable[[], Callable[[], bool]]


class PastSite:
    """One site at one moment. Its documents are made when they are first asked for."""

    def __init__(
        self, moment: Moment, services_of: ServicesOf, software: str, deadline: Deadline = never
    ) -> None:
        self.position = moment.position
        self.fabrics = {name: moment.site.has_retired(name) for name in moment.site.fabrics}
        self._held = moment.snapshot(software)
        self.questions = Questions(_Copies(self._held, services_of), deadline)
        self._site = moment.site
        self._making = threading.Lock()

    def documents(self, fabric: str, kind: str) -> Mapping[str, bytes]:
        with self._making:
            return self._made.get((fabric, kind), {})

    def snapshot(self) -> bytes:
        return to_bytes(self._held)

    @cached_property
    def _made(self) -> dict[tuple[str, str], dict[str, bytes]]:
        made: dict[tuple[str, str], dict[str, bytes]] = {}
        for instance in self._site.instances:
            for one in document_changes(instance, everything=True):
                if one.text is not None:
                    made.setdefault((one.fabric, one.kind), {})[one.name] = one.text
        return made


class Past:
    """Folds what is asked for, one moment after the other, and keeps the last few."""

    def __init__(
        self,
        history_of: Callable[[str], History],
        services_of: ServicesOf,
        software: str,
        deadline: Deadline = never,
    ) -> None:
        """`software` is the build that folds."""
        self._history_of = history_of
        self._services_of = services_of
        self._software = software
        self.deadline = deadline
        self._left: tuple[str, Walk] | None = None
        self._kept: OrderedDict[tuple[str, int], PastSite] = OrderedDict()
        self._folding = threading.Lock()

    def site(self, name: str, position: int) -> PastSite:
        """LogDamaged where the log is not what the fold gives."""
        with self._folding:
            found = self._kept.pop((name, position), None)
            if found is None:
                moment = self._history_of(name).at(position)
                found = PastSite(moment, self._services_of, self._software, self.deadline)
            self._kept[name, position] = found
            if len(self._kept) > KEPT:
                self._kept.popitem(last=False)
            return found

    def begins(self, name: str) -> tuple[int, int]:
        """(position, simulated time) of the last upgrade to other rules, or of the log's beginning."""
        base = self._history_of(name).base()
        return (0, 0) if base is None else (base.position, base.at_us)

    def walk(self, name: str, position: int) -> Walk:
        """From a moment on, one step after the other; LogDamaged as above."""
        with self._folding:
            left, self._left = self._left, None
            if left is not None and (left[0], left[1].position) == (name, position):
                return left[1]
            history = self._history_of(name)
            return Walk(history, history.at(position))

    def leave(self, name: str, walk: Walk) -> None:
        """Keep a walk for who goes on from where it has come to."""
        with self._folding:
            self._left = (name, walk)


class _Copies:
    """Private copies of what a site held."""

    def __init__(self, held: SiteSnapshot, services_of: ServicesOf) -> None:
        self._held = held
        self._services_of = services_of

    def state(self, fabric: str, service: Service[StateT]) -> StateT:
        return decode_state(service.state, self._held.states[service.name, fabric])

    def sites(self, fabric: str, count: int) -> list[Site]:  # noqa: ARG002 -- all fabrics of a site are of one moment
        return [self._held.restored(self._services_of) for _ in range(count)]
