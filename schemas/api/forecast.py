"""Forecasts: many random futures of a site, each with and without the requested changes."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from schemas.api.changes import CHANGES_MAX, ChangeField, TimedRequest
from schemas.body import Model

DAYS_MAX = 3_650
FUTURES_MIN, FUTURES_MAX = 2, 10_000
FUTURES_DEFAULT = 20
SIMULATED_DAYS_MAX = 100_000
"""Maximum of futures × days of one forecast."""
WORKERS_MAX = 1_024

ForecastStatus = Literal["queued", "running", "done", "refused", "failed", "cancelled"]
"""`refused`: every future refuses a change. `failed`: the forecast could not be computed."""
MeasureName = Literal[
    "goodput", "lost", "degraded", "displaced", "recovery", "healthy", "wait", "queued", "served"
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
                f"futures {self.count}: {self.count} futures of {self.days:g} days are too many; futures × "
                f"days must be at most {SIMULATED_DAYS_MAX:,}"
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
    """A forecast with its result, once it is done: `result` for many futures, `single` for one future."""

    result: ForecastResult | None
    single: FuturePair | None


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
