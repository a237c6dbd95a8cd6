"""The ports of the gateway; each runtime provides them."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Protocol

from schemas.api.descriptions import Description, FabricRelated
from schemas.api.explain import SliceExplanation, SlicePlan
from schemas.api.forecast import ForecastOrder, ForecastReport, ForecastSummary, InevitabilityOrder
from schemas.api.rows import FabricRow, RelatedT, RowT, TwinInfo
from schemas.api.whatif import LossReport, WhatIfResult
from schemas.body import Body, Model
from schemas.config.pods import FabricConfig
from schemas.files.backup_manifest import BackupPoint
from schemas.files.log_archive import ArchiveResult
from schemas.messages.operator import RequestSlice
from schemas.names import FaultKind
from schemas.request_metadata import RequestBody
from schemas.resource_kinds import ResourceKind
from shared.runtimes.dead_letter import DeadLetter
from shared.runtimes.operations_log import OperationsLog
from shared.runtimes.simulated_clock import Clock
from shared.storage.inbox.request_inbox import Inbox
from shared.storage.log.log_reader import LogReader
from shared.storage.snapshots.document_changes import DocumentWalk
from shared.storage.store.state_store import DocumentReader

if TYPE_CHECKING:
    from prometheus_client.core import Metric


class QueriesPort(Protocol):
    """Queries answered by the twin's own rules on copies of its states. `clock_us` is the simulated time of
    the query."""

    def plan(self, fabric: str, request: RequestSlice, clock_us: int) -> SlicePlan:
        """What the scheduler would do with this request."""

    def explain(
        self, fabric: str, name: str, clock_us: int, networks: Sequence[str]
    ) -> SliceExplanation | None:
        """Why a slice is in its state, without its history; None if the scheduler does not know it.
        `networks` are those of its site."""

    def predict(
        self, fabric: str, requested: Sequence[RequestBody], clock_us: int, for_us: int
    ) -> WhatIfResult:
        """The effects of these requests, made at once, within `for_us`."""

    def loss(self, fabric: str, kind: FaultKind, target: str, clock_us: int) -> LossReport:
        """The loss of a datacenter network if one of its parts fails."""

    def repairable(self, fabric: str, target: str) -> tuple[str, ...]:
        """The names of the active faults of a part and of what is in it, oldest first."""


class ForecastsPort(Protocol):
    """Forecasts that run in the background; they end with the gateway."""

    def start(self, order: ForecastOrder | InevitabilityOrder) -> ForecastReport:
        """Queue a forecast, unless one with the same idempotency key is kept: that one is returned. Raise
        InvalidInput if the key was used for another request, RateLimited if too many wait, and
        OperationFailed if the process is shutting down."""

    def list(self) -> Sequence[ForecastSummary]:
        """The forecasts that are kept, oldest first."""

    def report(self, name: str) -> ForecastReport:
        """A forecast with its result; raise NotFound if there is none of this name."""

    def remove(self, name: str) -> ForecastReport:
        """Cancel a forecast that has not finished, which keeps its report, or forget one that has; the report
        is the last one."""


class FrameReader(Protocol):
    """Reads the stored telemetry frames of a fabric, after `after_us` and up to `until_us`, oldest or newest
    first."""

    def __call__(
        self, fabric: str, after_us: int, until_us: int | None = None, *, newest_first: bool = False
    ) -> Iterator[tuple[int, bytes]]: ...


class PastSitePort(Protocol):
    """A site at a quiet time in the past: its committed documents, and its rules on copies of its states."""

    @property
    def position(self) -> int:
        """The number of messages of its log that it had read."""

    @property
    def fabrics(self) -> Mapping[str, bool]:
        """Commissioned fabric → whether it had retired, in order."""

    def documents(self, fabric: str, kind: str) -> Mapping[str, bytes]:
        """Name → document."""

    @property
    def queries(self) -> QueriesPort: ...

    def snapshot(self) -> bytes:
        """All its states as one file (`shared.storage.snapshots`)."""


class PastPort(Protocol):
    """The sites of a twin at any past time."""

    def site(self, name: str, position: int) -> PastSitePort:
        """A site after it had read `position` messages and everything that follows from the last one. Raise
        LogDamaged if its log does not match this version of its services."""

    def begins(self, name: str) -> tuple[int, int]:
        """(position, simulated time) of the earliest known past of a site."""

    def walk(self, name: str, position: int) -> DocumentWalk:
        """A walk through the past of a site that starts at this position; it belongs to the caller."""

    def leave(self, name: str, walk: DocumentWalk) -> None:
        """Keep a walk for the next caller that continues at its position; only the last one is kept."""

    def deadline(self) -> Callable[[], bool]:
        """A function that returns whether the time of the current query is over. Calling it lets other
        threads run."""


def no_frames(*_arguments: object, **_options: object) -> Iterator[tuple[int, bytes]]:
    """The frame reader of a twin that stores no frames."""
    return iter(())


RowsOfName = Callable[[str], Sequence[RowT]]
"""Name of documents → the rows that follow from them."""


@dataclass(frozen=True, slots=True)
class KindView(Generic[RowT, RelatedT]):
    """How resources of one kind are read. Each function takes the twin and a fabric; finding one resource
    reads only the documents that it needs."""

    kind: ResourceKind[RowT]
    row: type[RowT]
    description: type[Description[RowT, RelatedT]]
    listing: Callable[["TwinPorts", str], Sequence[RowT]]
    find: Callable[["TwinPorts", str, str], RowT | None]
    related_to: Callable[["TwinPorts", str, RowT], RelatedT]
    left_out: frozenset[str] = frozenset()
    """Fields that `short_listing` leaves empty, because they are long."""
    short_listing: Callable[["TwinPorts", str], Sequence[RowT]] | None = None
    """The listing for a reader who does not need these fields; None if it would save nothing."""
    rows_of_name: Callable[["TwinPorts", str, bool], RowsOfName[RowT] | None] | None = None
    """For a fabric, and whether the fields of `left_out` are not needed: makes the rows that follow from the
    documents of one name, of the kinds in `kind.documents`. None if a row follows from documents of several
    names."""


@dataclass(frozen=True, slots=True)
class FabricView:
    """How the gateway shows the fabrics of one kind: the gateway's part of the kind's row in the fleet.

    - `noun`: what such a fabric is called in sentences.
    - `resources`: the kinds of resources that such a fabric has, besides the fabric itself.
    - `row`: its summary. `related`: its resources that are not healthy.
    - `metrics`: the metrics of the given fabrics of this kind, in addition to those of every fabric.
    - `trace`: the path of the light from the resource of this name; raises NotFound if there is none.
    - `impact`: what depends on the part of this name.
    - `requests`: the operators' requests that a service of such a fabric handles.
    """

    noun: str
    resources: tuple[KindView[Any, Any], ...]
    row: Callable[["TwinPorts", str], FabricRow]
    related: Callable[["TwinPorts", str, FabricRow], FabricRelated]
    metrics: "Callable[[TwinPorts, Sequence[str]], Iterable[Metric]]"
    trace: Callable[["TwinPorts", str], Model]
    impact: Callable[["TwinPorts", str], Model]
    requests: frozenset[type[Body]] = frozenset()


KeptRows = dict[tuple[str, str, Callable[..., object]], dict[str, tuple[bytes, tuple[object, ...], Any]]]
"""(fabric, kind, function that makes a row) → name → (document, further arguments, row)."""


@dataclass(frozen=True, slots=True)
class TwinPorts:
    """A live twin as the gateway sees it."""

    about: TwinInfo
    documents: DocumentReader
    inbox: Inbox
    log: LogReader
    clock: Clock
    operations: OperationsLog
    config: Callable[[str], FabricConfig]
    """The commissioned configuration of a fabric; KeyError if its commissioning is not on the log yet."""
    site: Callable[[str], str]
    """The site whose log a fabric shares; KeyError as for `config`."""
    health: Callable[[], list[str]]
    """Problems, one sentence each; empty if all is well."""
    unready: Callable[[], list[str]]
    """Problems for which queries cannot be answered, or only from old data."""
    runtime_metrics: Callable[[], dict[str, float]]
    """Counters and gauges of the runtime itself."""
    telemetry: Callable[[str], bytes | None]
    """The newest frame of a fabric (Arrow IPC stream), or None."""
    dead_letters: Callable[[], Sequence[DeadLetter]]
    """The newest dead letters, oldest first."""
    claim: Callable[[str, str], str]
    """Reserves a fabric name for a site and returns the site that has it: the first that reserved it."""
    is_quiet: Callable[[str], bool]
    """Whether `log` and `documents` hold everything that follows from a fabric's last request or Tick."""
    queries: QueriesPort
    views: Mapping[str, FabricView]
    """Kind of fabric → how its fabrics are shown."""
    frames: FrameReader = no_frames
    """Earlier telemetry frames."""
    past: PastPort | None = None
    """None if the twin cannot look back."""
    forecasts: ForecastsPort | None = None
    """None if the twin makes no forecasts."""
    backup_point: Callable[[], BackupPoint] | None = None
    """The state of the twin at a quiet time; None if it is backed up differently."""
    archive: Callable[[str, int, str], ArchiveResult] | None = None
    """Lets the log file of a site start at a later byte, up to what its archive holds; None if logs are
    stored differently."""
    notes: Callable[[], list[str]] = list
    """Sentences about failures that do not affect the twin."""
    kept_rows: KeptRows = field(default_factory=dict)
    """Rows of the last listings, which are used again while their documents stay the same."""
    supervised: Callable[[], Collection[str]] | None = None
    """The processes that drills can pause and kill; None if the twin has no processes of its own."""
    end_process_orders: Callable[[str | None], None] | None = None
    """Lets processes continue that a drill has paused, or that all drills have; None if drills can pause
    none."""
