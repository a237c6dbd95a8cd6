"""The historian of a live twin: folds a copy of the log in parallel, and takes snapshots of the sites.

It continuously compares the log, and the states in Redis, with that fold. It only reads; the twin does not
depend on it.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from shared.basics.errors import LightwaveError, OperationFailed
from shared.basics.spelling import truncated
from shared.engine.site import ServicesOf
from shared.runtimes.live.kafka.log_mirror import LogMirror
from shared.runtimes.live.process.health import MetricSample, ProcessReport
from shared.runtimes.poll import poll_until
from shared.storage.snapshots.shadow_fold import ShadowFold, StateComparison, StateDifference, StateKey
from shared.storage.snapshots.site_snapshot import SiteSnapshot
from shared.storage.snapshots.snapshot_folder import SnapshotFolder
from shared.storage.snapshots.snapshot_interval import SNAPSHOT_INTERVAL_MESSAGES
from shared.storage.store.change_tracking import DocumentDifference
from shared.storage.store.fabric_registry import (
    FabricRegistration,
    registered_fabrics,
    services_in_partition,
)
from shared.storage.store.state_store import PartitionSnapshot, StateStore

CHECK_EVERY_S = 5.0
"""Wall time between two checks of all partitions; longer if a check takes long."""
REST_S_MAX = 15.0
REST_SHARE = 3.0
"""Pause between checks, as a multiple of the last check's duration: limits the load of a large twin on
Redis."""
COPIES_S_MAX = 5.0
"""How long a check waits until the copy of the log contains what Redis has read."""
UNCOMPARED_S_MAX = 300.0
"""Wall time after which a state that could not be compared is reported."""
DIFFERENCE_MAX = 2_000
"""Characters of two differing messages that are logged."""
SHOWN_BYTES = 60
"""Bytes of a stored field in an error text."""

log = logging.getLogger("lightwave.live")


@dataclass(slots=True)
class HistorianCounts:
    """Counters of a historian since its process started."""

    compared: int = 0
    snapshots: int = 0
    state_differences: int = 0
    document_differences: int = 0
    log_differences: int = 0


class Historian:
    """`folder_of` returns the snapshot folder of a site, to which only this process writes.
    `check_version` raises UpgradeNeeded if another version must do that."""

    def __init__(
        self,
        store: StateStore,
        mirror: LogMirror,
        services_of: ServicesOf,
        *,
        partitions: int,
        folder_of: Callable[[str], SnapshotFolder],
        every: int = SNAPSHOT_INTERVAL_MESSAGES,
        check_version: Callable[[], None] = lambda: None,
    ) -> None:
        self.counts = HistorianCounts()
        self._store = store
        self._check_version = check_version
        self._mirror = mirror
        self._services_of = services_of
        self._partitions = partitions
        self._folder_of = folder_of
        self._every = every
        self._ended = threading.Event()
        self._sites: dict[str, ShadowFold] = {}
        self._wrong_logs: dict[str, str] = {}
        """Site → the sentence about where its log differs from what its services emit."""
        self._wrong_states: dict[StateKey, str] = {}
        self._wrong_documents: dict[str, dict[StateKey, str]] = {}
        """Site → (service, fabric) → the sentence about its first document that differs."""
        self._compared_s: dict[StateKey, float] = {}
        """When each state was last compared, or first seen."""
        self._write_problem: str | None = None
        """Why the last snapshot could not be written."""
        self._check_problem: str | None = None
        """Why the last check failed."""

    def run(self) -> None:
        """Check repeatedly until `stop`."""
        while not self._ended.is_set():
            began_s = time.monotonic()
            self.check()
            checked_s = time.monotonic() - began_s
            self._ended.wait(max(CHECK_EVERY_S, min(REST_SHARE * checked_s, REST_S_MAX)))

    def stop(self) -> None:
        self._ended.set()

    def check(self) -> None:
        """Check every partition once."""
        check_problem = None
        for partition in range(self._partitions):
            if self._ended.is_set():
                return
            try:
                self._check_partition(partition)
            except LightwaveError as error:
                check_problem = str(error)
        if check_problem is not None and check_problem != self._check_problem:
            log.warning("%s", check_problem)
        self._check_problem = check_problem

    # --- one check ------------------------------------------------------------------------------------------

    def _check_partition(self, partition: int) -> None:
        if self._mirror.missing_records() is not None:
            return  # a snapshot may be ahead of the copy
        view, registered = self._view(partition)
        highest = max(view.positions.values(), default=0)
        if not poll_until(
            lambda: self._mirror.copied_offset(partition) >= highest or self._ended.is_set(), COPIES_S_MAX
        ):
            return  # the copy lags, and reports that itself
        for site in sorted({registration.site for registration in registered.values()}):
            own = {
                fabric: registration
                for fabric, registration in registered.items()
                if registration.site == site
            }
            if site in self._mirror.logs.sites() and not self._ended.is_set():
                self._compare(partition, site, own, view)

    def _view(self, partition: int) -> tuple[PartitionSnapshot, dict[str, FabricRegistration]]:
        """All states and documents of a partition at one point in time, and the fabrics registered then."""
        registered: dict[str, FabricRegistration] = {}
        while True:
            view = self._store.snapshot(partition, list(self._keys(registered)), whole=True)
            now = registered_fabrics(view.values)
            if now.keys() == registered.keys():
                return view, now
            registered = now

    def _keys(self, registered: Mapping[str, FabricRegistration]) -> Iterator[StateKey]:
        for fabric, registration in registered.items():
            for service in self._services_of(registration.kind):
                yield service.name, fabric

    def _compare(
        self, partition: int, site: str, registered: Mapping[str, FabricRegistration], view: PartitionSnapshot
    ) -> None:
        offsets = self._mirror.offsets
        if offsets is None:
            raise OperationFailed("the copy of the log was made without offsets")
        fold = self._fold_of(site)
        offsets_read = {
            name: view.positions.get(name, 0) for name in services_in_partition(registered, self._services_of)
        }
        positions = {name: offsets.of(site).below(offset) for name, offset in offsets_read.items()}
        stored = {key: view.states[key] for key in self._keys(registered)}
        compared = fold.compare(
            positions,
            stored,
            keep=self._keep,
            is_ended=self._ended.is_set,
            documents=view.documents,
        )
        if fold.difference is not None and site not in self._wrong_logs:
            at = fold.difference.position
            self._wrong_logs[site] = (
                f"{site}: the log differs from what its services emit, at offset {offsets.of(site).at(at)} "
                f"of partition {partition}: {str(fold.difference)[:DIFFERENCE_MAX]}; the historian stops "
                "folding it"
            )
            self.counts.log_differences += 1
            log.error("%s", self._wrong_logs[site])
        self._note(
            compared.states,
            compared.differences,
            lambda difference: (partition, offsets_read[difference.service]),
        )
        if compared.states:
            self._note_documents(site, compared, partition, offsets_read)

    def _note_documents(
        self, site: str, compared: StateComparison, partition: int, offsets_read: Mapping[str, int]
    ) -> None:
        """Log the first document of each state that newly differs, and each site whose documents are correct
        again."""
        before = self._wrong_documents.get(site, {})
        fabrics = {fabric for _, fabric in compared.states}
        wrong = {
            place: sentence
            for place, sentence in before.items()
            if (place[0], place[1]) not in compared.states and not (place[0] == "" and place[1] in fabrics)
        }
        for difference in compared.documents:
            key = (difference.service, difference.fabric)
            if key not in wrong:
                offset = offsets_read.get(difference.service, max(offsets_read.values()))
                wrong[key] = before.get(key) or document_text(difference, partition, offset)
        for key in [key for key in wrong if key not in before]:
            self.counts.document_differences += 1
            log.error("%s", wrong[key], extra={"service": key[0]})
        if before and not wrong:
            log.warning("the documents of %s match the log again", site)
        self._wrong_documents[site] = wrong

    def _note(
        self,
        compared: tuple[StateKey, ...],
        differences: tuple[StateDifference, ...],
        place_of: Callable[[StateDifference], tuple[int, int]],
    ) -> None:
        """Log the first field of each state that newly differs, and each state that is correct again."""
        wrong: dict[StateKey, str] = {}
        for difference in differences:
            key = (difference.service, difference.fabric)
            # Keep the first sentence: the state stays wrong while its service continues.
            wrong.setdefault(
                key, self._wrong_states.get(key) or difference_text(difference, *place_of(difference))
            )
        for key in compared:
            self.counts.compared += 1
            self._compared_s[key] = time.monotonic()
            if key in wrong and key not in self._wrong_states:
                self.counts.state_differences += 1
                log.error("%s", wrong[key], extra={"service": key[0]})
            elif key not in wrong and key in self._wrong_states:
                log.warning("the state of %s@%s matches the log again", *key)
        kept = {key: sentence for key, sentence in self._wrong_states.items() if key not in compared}
        self._wrong_states = {**kept, **wrong}

    def _fold_of(self, site: str) -> ShadowFold:
        if site not in self._sites:
            offsets = self._mirror.offsets
            copied = self._mirror.logs.open(site)
            folder = self._folder_of(site)
            folder.discard_after(copied.end)
            self._sites[site] = ShadowFold(
                copied,
                folder,
                self._services_of,
                offset_after=None if offsets is None else lambda n: offsets.of(site).at(n - 1) + 1,
                every=self._every,
            )
        return self._sites[site]

    def _keep(self, snapshot: SiteSnapshot) -> None:
        self._check_version()
        folder = self._folder_of(snapshot.site)
        try:
            folder.put(snapshot)
        except OperationFailed as error:
            write_problem = f"{error}; no snapshots until writes succeed"
            if write_problem != self._write_problem:
                log.warning("%s", write_problem)
            self._write_problem = write_problem
        else:
            self._write_problem = None
            self.counts.snapshots += 1

    # --- report ---------------------------------------------------------------------------------------------

    def report(self) -> ProcessReport:
        """Current problems, one sentence each, and metrics."""
        counts = self.counts
        uncompared_s = self._uncompared_s()
        samples = (
            MetricSample(
                "compared_total",
                counts.compared,
                "states in Redis that were compared with the fold of the log",
            ),
            MetricSample("snapshots_total", counts.snapshots, "snapshots written"),
            MetricSample(
                "state_differences_total",
                counts.state_differences,
                "states in Redis that differed from the fold",
            ),
            MetricSample(
                "document_differences_total",
                counts.document_differences,
                "states whose documents in Redis differed from the fold",
            ),
            MetricSample(
                "log_differences_total", counts.log_differences, "logs that differ from what services emit"
            ),
            MetricSample(
                "documents_wrong",
                sum(map(len, self._wrong_documents.copy().values())),
                "states whose documents in Redis differ now",
            ),
            MetricSample("states_wrong", len(self._wrong_states), "states in Redis that differ now"),
            MetricSample(
                "uncompared_seconds", uncompared_s, "seconds since the least recent comparison of a state"
            ),
            MetricSample(
                "mirror_behind_messages",
                self._mirror.lag_records(),
                "records of the log that are not copied yet",
            ),
        )
        late = (
            f"a state was last compared with the log {uncompared_s:.0f} s ago, must be at most "
            f"{UNCOMPARED_S_MAX:.0f} s: the historian does not keep up, or services have stopped"
        )
        documents = (text for by_state in self._wrong_documents.copy().values() for text in by_state.values())
        wrong = (*self._wrong_logs.values(), *self._wrong_states.values(), *documents)
        problems = (
            *wrong,
            *(
                text
                for text in (self._mirror.problem, self._check_problem, self._write_problem)
                if text is not None
            ),
            *((late,) if uncompared_s > UNCOMPARED_S_MAX else ()),
        )
        return ProcessReport((), problems, samples, {"wrong": wrong})

    def _uncompared_s(self) -> float:
        return time.monotonic() - min(self._compared_s.values()) if self._compared_s else 0.0


def difference_text(difference: StateDifference, partition: int, offset: int) -> str:
    """What differs, in which state, and what to do."""
    found, expected = _excerpts(difference.found, difference.expected)
    return (
        f"{difference.service}@{difference.fabric}: {truncated(difference.field)} in Redis differs from the "
        f"fold of the log at offset {offset} of partition {partition}: is {found}, must be {expected}; "
        "`lightwave audit --live` compares everything, `lightwave live rebuild` rebuilds the states from "
        "the log"
    )


def document_text(difference: DocumentDifference, partition: int, offset: int) -> str:
    """Which document differs, where, and what to do."""
    found, expected = _excerpts(difference.found, difference.expected)
    owner = difference.service or "no service"
    return (
        f"{owner}@{difference.fabric}: the document {truncated(difference.name)} of kind "
        f"{truncated(difference.kind)} in Redis differs from the fold of the log at offset {offset} of "
        f"partition {partition}: is {found}, must be {expected}; `lightwave audit --live` compares "
        "everything, `lightwave live rebuild` rebuilds the documents from the log"
    )


def _excerpts(found: bytes | None, expected: bytes | None) -> tuple[str, str]:
    """Both values as text, from shortly before their first difference."""
    pairs = zip(found or b"", expected or b"", strict=False)
    start_of_difference = next((n for n, (one, other) in enumerate(pairs) if one != other), None)
    if start_of_difference is None:
        start_of_difference = min(len(found or b""), len(expected or b""))
    start = max(0, start_of_difference - SHOWN_BYTES // 3)

    def shown(value: bytes | None) -> str:
        if value is None:
            return "nothing"
        text = repr(value[start : start + SHOWN_BYTES])[1:]
        return (
            f"{'…' if start else ''}{text}{'…' if len(value) > start + SHOWN_BYTES else ''} "
            f"({len(value)} bytes)"
        )

    return shown(found), shown(expected)
