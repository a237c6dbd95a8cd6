"""What the gateway stands on; each runtime brings its own."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from schemas.api.explain import SliceExplanation, SlicePlan
from schemas.api.rows import TwinInfo
from schemas.api.whatif import LossReport, WhatIfResult
from schemas.config.pods import FabricConfig
from schemas.files.backup_manifest import BackupPoint
from schemas.files.log_archive import ArchiveResult
from schemas.messages.operator import RequestSlice
from schemas.names import FaultKind
from schemas.request_metadata import RequestBody
from shared.runtimes.dead_letter import DeadLetter
from shared.runtimes.operations_log import OperationsLog
from shared.runtimes.simulated_clock import Clock
from shared.storage.inbox.request_inbox import Inbox
from shared.storage.log.log_reader import LogReader
from shared.storage.snapshots.document_walk import DocumentWalk
from shared.storage.store.state_store import DocumentReader


class QueriesPort(Protocol):
    """What the twin's own rules say on a copy of its states; nothing happens by asking. `clock_us` is the
    simulated time at which somebody asks."""

    def plan(self, fabric: str, wanted: RequestSlice, clock_us: int) -> SlicePlan:
        """What the scheduler would do with this request."""

    def explain(
        self, fabric: str, name: str, clock_us: int, networks: Sequence[str]
    ) -> SliceExplanation | None:
        """Why a slice is as it is, None if the scheduler knows nothing of it; without its history. `networks`
        are those of its site."""

    def foresee(self, fabric: str, asked: Sequence[RequestBody], clock_us: int, for_us: int) -> WhatIfResult:
        """What would follow from these requests, made at once, within so long."""

    def loss(self, fabric: str, kind: FaultKind, target: str, clock_us: int) -> LossReport:
        """What a datacenter network would lose with one of its parts."""

    def repairable(self, fabric: str, target: str) -> tuple[str, ...]:
        """The active faults of a part and of what is in it, by name, the oldest first."""


class FrameReader(Protocol):
    """The telemetry frames of a fabric that are kept, after one moment and up to another, the oldest first or
    the newest."""

    def __call__(
        self, fabric: str, after_us: int, until_us: int | None = None, *, newest_first: bool = False
    ) -> Iterator[tuple[int, bytes]]: ...


class PastSitePort(Protocol):
    """A site as it was at a quiet moment: what was committed then, and its rules on copies of it."""

    @property
    def position(self) -> int:
        """How many messages of its log it had read."""

    @property
    def fabrics(self) -> Mapping[str, bool]:
        """Those that were commissioned, in order, and whether each had retired."""

    def documents(self, fabric: str, kind: str) -> Mapping[str, bytes]:
        """Name → document."""

    @property
    def queries(self) -> QueriesPort: ...

    def snapshot(self) -> bytes:
        """All that it held, as one file (`shared.storage.snapshots`)."""


class PastPort(Protocol):
    """The sites of a twin at any moment that it has lived."""

    def site(self, name: str, position: int) -> PastSitePort:
        """A site when it had read so many messages and all that follows from the last of them. LogDamaged
        where its log is not what this version of its services says."""

    def begins(self, name: str) -> tuple[int, int]:
        """(position, simulated time) from which on a site's past can be told."""

    def walk(self, name: str, position: int) -> DocumentWalk:
        """A site of the caller's own, of then, to be taken on from moment to moment."""

    def leave(self, name: str, walk: DocumentWalk) -> None:
        """Keep it for who goes on from where it has come to: the last one is kept."""

    def deadline(self) -> Callable[[], bool]:
        """Whether the time of a question that is asked now is over, whenever that is looked at; who looks
        lets others work meanwhile."""


def no_frames(*_asked: object, **_how: object) -> Iterator[tuple[int, bytes]]:
    """Of a twin that keeps none."""
    return iter(())


@dataclass(frozen=True, slots=True)
class TwinPorts:
    """A living twin as the gateway sees it.

    `config` is what a fabric was commissioned with, `site` the site whose log it shares; both raise
    KeyError for a fabric whose beginning is not on the log yet. `health` lists problems in one sentence
    each, none when all is well; `notes` sentences on what fails and the twin does not need; `unready`
    those for which queries cannot be answered, or not as the twin stands. `runtime_metrics` are counts
    and gauges of the runtime itself. `telemetry` is a fabric's newest frame (Arrow IPC stream), or None,
    `frames` those of before; `dead_letters` are the newest, oldest first. `is_quiet` says whether `log`
    and `documents` hold all that follows from a fabric's last request or Tick. `claim` takes a name for a
    site and returns the site that has it, which took it first: of several that ask at once, those of one
    site go on. `past` is None where it cannot be looked back at, `backup_point`, where it stands at a quiet
    moment, where it is backed up otherwise. `archive` lets the log file of a site begin at a byte behind what
    its archive holds, as somebody asks for; None where logs are kept otherwise.
    """

    about: TwinInfo
    documents: DocumentReader
    inbox: Inbox
    log: LogReader
    clock: Clock
    operations: OperationsLog
    config: Callable[[str], FabricConfig]
    site: Callable[[str], str]
    health: Callable[[], list[str]]
    unready: Callable[[], list[str]]
    runtime_metrics: Callable[[], dict[str, float]]
    telemetry: Callable[[str], bytes | None]
    dead_letters: Callable[[], Sequence[DeadLetter]]
    claim: Callable[[str, str], str]
    is_quiet: Callable[[str], bool]
    queries: QueriesPort
    frames: FrameReader = no_frames
    past: PastPort | None = None
    backup_point: Callable[[], BackupPoint] | None = None
    archive: Callable[[str, int, str], ArchiveResult] | None = None
    notes: Callable[[], list[str]] = list
