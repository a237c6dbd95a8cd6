"""Hides the ground truth from callers who may not see it: which faults there are, and what drills do.

One mechanism for all routes: they read a twin through `TwinPorts`, and `with_hidden_truth` takes out of its
documents and its log what such a caller must not see. The guard says for each request whether it applies
(`HIDES_TRUTH`). What remains is what an operator in the field sees: telemetry, alarms, states of parts,
verdicts, repairs, and what the scheduler does.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace

from schemas.documents.pods import ParametersDocument
from schemas.envelope import Envelope
from schemas.messages.sequencer import Tick
from schemas.registry import TYPES
from services.gateway.runtime_ports import TwinPorts
from shared.storage.log.log_reader import LineFilter, LogQuery, LogReader
from shared.storage.store.state_store import DocumentReader, FabricPlace

HIDES_TRUTH: ContextVar[bool] = ContextVar("hides_truth", default=False)
"""Whether the caller of the current request may not see the truth."""

TRUTH_WRITERS = frozenset({"failures", "drills"})
"""Services that know the truth: their messages, their Ticks, and causes among them are hidden."""
SHOWN_TYPES = frozenset(
    {
        # What the twin is set to is no secret: operators see it in its configuration.
        *("ParametersChanged", "ParametersRefused"),
        *("DeskOpened", "AlertsAcknowledged", "CulpritNamed", "HintGiven", "DeskClosed", "DeskRefused"),
    }
)
"""Types of messages of these services that all callers see."""
TRUTH_REQUESTS = frozenset(
    {
        *("InjectFault", "ClearFault", "RekeyDraws"),
        *("RunDrill", "StopDrill", "StopAllDrills", "ReleaseDrills", "ScheduleDrill", "UnscheduleDrill"),
    }
)
"""Requests of operators that tell of faults or drills."""
TRUTH_TYPES = TRUTH_REQUESTS | {
    name for name, body in TYPES.items() if body.writer in TRUTH_WRITERS and name not in SHOWN_TYPES
}
"""Types of messages that are hidden."""
TRUTH_DOCUMENTS = frozenset({"faults", "drills", "schedules"})
"""Kinds of status documents that are hidden."""
TRUTH_SUMMARIES = ("failures", "drills")
"""Services whose `summaries` are hidden."""


def hides_type(name: str) -> bool:
    """Whether messages of this type are hidden from the caller of the current request."""
    return HIDES_TRUTH.get() and name in TRUTH_TYPES


@contextmanager
def truth_shown() -> Iterator[None]:
    """Read the truth for a caller who may not see all of it."""
    token = HIDES_TRUTH.set(False)
    try:
        yield
    finally:
        HIDES_TRUTH.reset(token)


def with_hidden_truth(twin: TwinPorts) -> TwinPorts:
    """The same twin, but without the truth while `HIDES_TRUTH` is set."""
    return replace(twin, documents=_HidingDocuments(twin.documents), log=_HidingLog(twin.log))


class _HidingDocuments:
    """A `DocumentReader` without the documents of faults and drills."""

    def __init__(self, documents: DocumentReader) -> None:
        self._documents = documents

    def fabrics(self) -> dict[str, FabricPlace]:
        return self._documents.fabrics()

    def all(self, fabric: str, kind: str) -> dict[str, bytes]:
        if not HIDES_TRUTH.get():
            return self._documents.all(fabric, kind)
        if kind in TRUTH_DOCUMENTS:
            return {}
        found = self._documents.all(fabric, kind)
        if kind == "parameters":
            return {name: _without_drills(text) for name, text in found.items()}
        return _without_summaries(fabric, found) if kind == "summaries" else found

    def one(self, fabric: str, kind: str, name: str) -> bytes | None:
        if HIDES_TRUTH.get() and (kind in TRUTH_DOCUMENTS or _is_truth_summary(fabric, kind, name)):
            return None
        found = self._documents.one(fabric, kind, name)
        return _without_drills(found) if found is not None and self._hides_parts(kind) else found

    @staticmethod
    def _hides_parts(kind: str) -> bool:
        return HIDES_TRUTH.get() and kind == "parameters"


def _without_drills(text: bytes) -> bytes:
    """The changed parameters without the drills that changed them, and when these end."""
    document = ParametersDocument.model_validate_json(text)
    rows = tuple(
        row.model_copy(update={"changed_by": None, "drill": None, "expires_us": None})
        if row.changed_by is not None and _knows_truth(row.changed_by)
        else row
        for row in document.changed
    )
    return document.model_copy(update={"changed": rows}).model_dump_json().encode()


def _without_summaries(fabric: str, found: Mapping[str, bytes]) -> dict[str, bytes]:
    return {name: text for name, text in found.items() if not _is_truth_summary(fabric, "summaries", name)}


def _is_truth_summary(fabric: str, kind: str, name: str) -> bool:
    return kind == "summaries" and name in [f"{fabric}/{service}" for service in TRUTH_SUMMARIES]


class _HidingLog:
    """A `LogReader` without the messages that tell the truth. Positions stay as they are."""

    def __init__(self, log: LogReader) -> None:
        self._log = log

    def end(self, site: str) -> int:
        return self._log.end(site)

    def position_at(self, site: str, at_us: int) -> int:
        return self._log.position_at(site, at_us)

    def position_of(self, site: str, message_id: str) -> int | None:
        position = self._log.position_of(site, message_id)
        if position is None or not HIDES_TRUTH.get():
            return position
        return position if any(self.read(site, position, 1)) else None

    def read(
        self, site: str, start: int, most: int | None = None, line_filter: LineFilter | None = None
    ) -> Iterator[tuple[int, Envelope]]:
        rows = self._log.read(site, start, most, line_filter)
        return _shown(rows) if HIDES_TRUTH.get() else rows

    def find(
        self, site: str, query: LogQuery, most: int, *, newest: bool = False
    ) -> list[tuple[int, Envelope]]:
        if not HIDES_TRUTH.get():
            return self._log.find(site, query, most, newest=newest)
        part = _without_truth(query)
        found: list[tuple[int, Envelope]] = []
        while part is not None and len(found) < most:
            wanted = most - len(found)
            rows = self._log.find(site, part, wanted, newest=newest)
            shown = list(_shown(iter(rows)))
            found = [*shown, *found] if newest else [*found, *shown]
            if len(rows) < wanted:
                break
            part = replace(part, end=rows[0][0]) if newest else replace(part, start=rows[-1][0] + 1)
        return found

    def count(self, site: str, query: LogQuery) -> int:
        if not HIDES_TRUTH.get():
            return self._log.count(site, query)
        part = _without_truth(query)
        # Counts leave out Ticks, of which only those of some services are hidden.
        return 0 if part is None else self._log.count(site, part)


def _without_truth(query: LogQuery) -> LogQuery | None:
    """The query without hidden types; None if it asks only for them."""
    if not query.types:
        return replace(query, without=(*query.without, *sorted(TRUTH_TYPES - set(query.without))))
    types = tuple(one for one in query.types if one not in TRUTH_TYPES)
    return replace(query, types=types) if types else None


def _shown(rows: Iterator[tuple[int, Envelope]]) -> Iterator[tuple[int, Envelope]]:
    for position, message in rows:
        shown = shown_message(message)
        if shown is not None:
            yield position, shown


def shown_message(message: Envelope) -> Envelope | None:
    """A message without what tells the truth; None if all of it does.

    Its cause is left out if that is hidden: a message of a service that knows the truth, or the request of a
    drill. What drills read of the site stands in their Ticks, which are hidden.
    """
    body = message.body
    if message.type in TRUTH_TYPES or (isinstance(body, Tick) and body.service in TRUTH_WRITERS):
        return None
    if message.cause is None or not (message.type == "DeskOpened" or _knows_truth(message.cause)):
        return message
    return message.model_copy(update={"cause": None})


def _knows_truth(message_id: str) -> bool:
    """Whether a message with this id is of a service that knows the truth, or its Tick: `failures@pod-0/3`,
    `tick.failures@pod-0/3`."""
    return message_id.partition("@")[0].rpartition(".")[2] in TRUTH_WRITERS
