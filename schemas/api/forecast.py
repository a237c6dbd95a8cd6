"""Forecasts: many random futures of a site, with and without the requested changes, or to find out from when
on a past event was likely."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from schemas.api.changes import CHANGES_MAX, Change, ChangeField, TimedRequest
from schemas.body import Model
from schemas.limits import DURATION_S_MAX

DAYS_MAX = 3_650
FUTURES_MIN, FUTURES_MAX = 2, 10_000
FUTURES_DEFAULT = 20
SIMULATED_DAYS_MAX = 100_000
"""Maximum of futures × days of one forecast."""
WORKERS_MAX = 1_024
MOMENTS_MAX, MOMENTS_DEFAULT = 64, 8
"""Number of times before an event from which futures start."""
BACK_S_DEFAULT, WITHIN_S_DEFAULT = 3 * 86_400, 3_600

ForecastStatus = Literal["queued", "running", "done", "refused", "failed", "cancelled"]
"""`refused`: every future refuses a change. `failed`: the forecast could not be computed. `cancelled`: a
client cancelled it before it finished."""
MeasureName = Literal[
    "goodput",
    "lost",
    "degraded",
    "displaced",
    "recovery",
    "recoveries",
    "recovering",
    "healthy",
    "wait",
    "queued",
    "served",
]
"""Names of measures; `services.totals.measures` has their units and meanings."""
MeasureValues = dict[MeasureName, float | None]
"""Value by measure; None if the time has no such event, or the site no such fabric."""

EXAMPLE = {
    "days": 2,
    "futures": 20,
    "changes": [{"change": "drain", "target": "pod-0/cube-12", "after_s": 10_800}],
}


class ForecastRequest(Model):
    """Compare `futures` random futures of a site, `days` long, with and without the `changes`. Both sides of
    a future have the same random draws. Without changes, the futures run as they are.

    Instead of many futures, `future` shows the events of one of them, and `own_draws` those of the twin's own
    future, which comes true if no other request arrives. `site` may be left out if the changes name it, or if
    there is only one. `at` is the time from which the futures run: `now`, or a past time as in `?at=`.
    `workers` is the maximum number of processes; the default is the number of cores."""

    changes: Annotated[tuple[ChangeField, ...], Field(strict=False, max_length=CHANGES_MAX)] = ()
    days: Annotated[float, Field(gt=0, le=DAYS_MAX, allow_inf_nan=False)] = 7.0
    futures: Annotated[int, Field(ge=FUTURES_MIN, le=FUTURES_MAX)] | None = None
    future: Annotated[int, Field(ge=1, le=FUTURES_MAX)] | None = None
    own_draws: bool = False
    site: str | None = Field(None, examples=["pod-0"])
    at: str = Field("now", examples=["now", "-2h"])
    workers: Annotated[int, Field(ge=1, le=WORKERS_MAX)] | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.own_draws and self.future is not None:
            raise ValueError("own_draws: must not be combined with future, which has its own draws")
        if self.futures is not None and self.is_single:
            alone = "own_draws" if self.own_draws else "future"
            raise ValueError(f"futures {self.futures}: must not be combined with {alone}: that is one future")
        if self.count * self.days > SIMULATED_DAYS_MAX:
            raise ValueError(
                f"futures {self.count}: is too many for {self.days:g} days each; futures × days must be at "
                f"most {SIMULATED_DAYS_MAX:,}"
            )
        return self

    @property
    def is_single(self) -> bool:
        """Whether a single future is requested."""
        return self.own_draws or self.future is not None

    @property
    def count(self) -> int:
        """The number of futures."""
        return 1 if self.is_single else self.futures or FUTURES_DEFAULT


class InevitabilityRequest(Model):
    """Find out from when on a past event was more likely than not: run `futures` random futures from each of
    `moments` times before it, the earliest `back_s` before, and count those in which it happens again, at
    most `within_s` after its time. Operators' requests of that time are repeated.

    `event` is the id of a message, or the name of a resource for the last message about its state. `workers`
    is as in a forecast."""

    event: str = Field(examples=["scheduler@pod-0/42", "pod-0/slice-7"])
    back_s: Annotated[int, Field(ge=1, le=DURATION_S_MAX)] = BACK_S_DEFAULT
    moments: Annotated[int, Field(ge=1, le=MOMENTS_MAX)] = MOMENTS_DEFAULT
    futures: Annotated[int, Field(ge=1, le=FUTURES_MAX)] = FUTURES_DEFAULT
    within_s: Annotated[int, Field(ge=1, le=DURATION_S_MAX)] = WITHIN_S_DEFAULT
    workers: Annotated[int, Field(ge=1, le=WORKERS_MAX)] | None = None


class IntervalReport(Model):
    """A mean over `runs` futures, with the bounds of its 95 % interval. Bounds and deviation are null for a
    single run."""

    value: float
    low: float | None
    high: float | None
    deviation: float | None
    runs: int


class MeasureRow(Model):
    """One measure: `without` the changes, with the `requested` changes, and the `difference` within the same
    futures. Null if nothing is requested, or if no future has a value. `digits` is the number of decimals to
    show."""

    name: MeasureName
    unit: str
    meaning: str
    digits: int
    without: IntervalReport | None
    requested: IntervalReport | None
    difference: IntervalReport | None


class NotableMessage(Model):
    """A message of a future, in words."""

    at_us: int
    fabric: str
    type: str
    text: str


class FutureReport(Model):
    """One side of a future: its measures (`figures`), the reasons why changes were refused, and the number of
    its messages. `log_sha256` and `notable` are there only for a single future."""

    figures: MeasureValues
    refused: tuple[str, ...]
    messages: int
    log_sha256: str | None = None
    notable: tuple[NotableMessage, ...] = ()


class FuturePair(Model):
    """A future `without` the changes and, if there are any, with the `requested` changes."""

    without: FutureReport
    requested: FutureReport | None


class FutureMeasures(Model):
    """The measures of one future: without the changes and, if there are any, with the requested changes."""

    future: int
    without: MeasureValues
    requested: MeasureValues | None


class RefusedFutures(Model):
    """The number of `futures` that refused a change for a reason."""

    reason: str
    futures: int


class ForecastResult(Model):
    """`worst` is the number of the future that loses most of the measure `worst_by` by the changes; without
    changes, the future with the lowest value. `refused` counts the futures that refused a change,
    by reason. `messages` is the total number of simulated messages."""

    rows: tuple[MeasureRow, ...]
    futures: int
    worst: int | None
    worst_by: MeasureName | None
    worst_value: float | None
    refused: tuple[RefusedFutures, ...]
    messages: int
    each: tuple[FutureMeasures, ...]


class ShareReport(Model):
    """A share of `runs` futures, with the bounds of its Wilson interval of this `confidence`."""

    value: float
    low: float
    high: float
    confidence: float
    runs: int


class StartPointReport(Model):
    """The number of `futures` from a time `before_us` before an event; the number in which the `same` event
    happened again in time; the number in which one of its type did (`any`); and both shares."""

    before_us: int
    futures: int
    same: int
    any: int
    recurred_share: ShareReport
    type_share: ShareReport


class InevitabilityResult(Model):
    """How likely an event was: the message of this `id` and `type`, about the resource `about`. From
    `since_us` before it on, it was surely more likely than not; null if it never was, or if there are too few
    futures to tell. `moments` are the times before it, the earliest first."""

    id: str
    type: str
    about: str
    at_us: int
    since_us: int | None
    moments: tuple[StartPointReport, ...]


class ForecastSummary(Model):
    """A forecast and its progress: `futures_done` of `futures`. `error` is a sentence if it was refused or
    has failed. `at_us` is the simulated time from which its futures run."""

    id: str
    status: ForecastStatus
    requested_by: str | None
    site: str
    at_us: int
    days: float
    changes: tuple[ChangeField, ...]
    futures: int
    futures_done: int
    error: str | None


class ForecastReport(ForecastSummary):
    """A forecast with its result, once it is done: `result` for many futures, `single` for one future, and
    `inevitability` for one that was started with `POST /v1/forecasts/inevitable`."""

    result: ForecastResult | None
    single: FuturePair | None
    inevitability: InevitabilityResult | None = None


@dataclass(frozen=True, slots=True)
class ForecastOrder:
    """A checked forecast request: the site's snapshot, read when the forecast starts, and what to drive."""

    request: ForecastRequest
    requested_by: str | None
    site: str
    from_us: int
    snapshot: Callable[[], bytes]
    requests: tuple[TimedRequest, ...]
    key: str | None = None
    """The idempotency key: a forecast of the same key is not started twice."""

    @property
    def days(self) -> float:
        """The length of its futures in days."""
        return self.request.days

    @property
    def changes(self) -> tuple[Change, ...]:
        """The changes that its futures are compared with."""
        return self.request.changes

    @property
    def futures(self) -> int:
        """The number of its futures."""
        return self.request.count


@dataclass(frozen=True, slots=True)
class PastEvent:
    """A message that is on the log, about this resource of a fabric."""

    id: str
    at_us: int
    fabric: str
    type: str
    about: str


@dataclass(frozen=True, slots=True)
class StartPoint:
    """A time before an event from which futures start, and the operators' requests from then on."""

    before_us: int
    snapshot_bytes: bytes
    from_us: int
    requests: tuple[TimedRequest, ...]


@dataclass(frozen=True, slots=True)
class InevitabilityOrder:
    """A checked request to find out from when on an event was likely. The snapshots of the start points are
    read when its futures start."""

    request: InevitabilityRequest
    requested_by: str | None
    site: str
    from_us: int
    """The earliest start of its futures."""
    until_us: int
    """The end of its futures."""
    days: float
    """The length of its longest futures."""
    event: PastEvent
    moments: int
    starts: Callable[[], Sequence[StartPoint]]
    key: str | None = None

    @property
    def changes(self) -> tuple[Change, ...]:
        """No changes: its futures are not compared with others."""
        return ()

    @property
    def futures(self) -> int:
        """The number of its futures."""
        return self.moments * self.request.futures
