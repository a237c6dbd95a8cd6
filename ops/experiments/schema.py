"""The schema of an experiment's document: the question, the fabrics, the variants, the seeds and the
measures.

`ops.experiments.loader` reads a document from a file.
"""

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

Scalar = bool | int | float | str | None
"""A value of a parameter."""
Values = dict[str, Scalar]
"""Parameter, by dotted name → value."""
Choices = Annotated[list[Scalar], Field(min_length=1)]
Listed = list[Values]
Finite = Annotated[float, Field(allow_inf_nan=False)]
Bounds = Annotated[list[Finite], Field(min_length=2, max_length=2)]
DAYS_MAX, PODS_MAX, SEEDS_MAX, VARIANTS_MAX = 36_500.0, 200, 1_000_000, 10_000
WINDOWS_MAX = 1_000_000
"""Maximum number of rows of a run's time series."""
SEEDS_MIN = 20
"""Minimum number of seeds before the precision is checked: earlier checks stop too early too often
(`shared.models.statistics.means`)."""
METHODS = ("grid", "list", "latin_hypercube")


class ExperimentPart(BaseModel):
    """A part of a document. Unknown fields are rejected."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class TimedChange(ExperimentPart):
    """Parameters that change during every run."""

    at: str = Field(description="time from the start of the run, including the warm-up, such as 5d or 12h")
    set: Values = Field(min_length=1, description="parameters that `lightwave set --list` lists")
    fabric: str | None = Field(None, description="the fabric; by default every one that has the parameter")


def _is_unset(value: object) -> bool:
    """Whether a field is unset, so that stored documents omit it."""
    return value is None or value == ()


class Fabric(ExperimentPart):
    """The fabrics of the runs and the simulated time: `pods` independent fabrics of one kind, or the site of
    a file."""

    pods: int = Field(1, ge=1, le=PODS_MAX, description="fabrics of one kind, a site each")
    kind: str = Field("superpod", description="their kind: superpod, static-pod or dcn")
    calibration: str | None = Field(
        None,
        description="related parameters as a base for `set`: field, strict, or a file in the same format",
    )
    site: str | None = Field(None, description="a site file in place of these, in the format of `--site`")
    days: float = Field(gt=0, le=DAYS_MAX, description="simulated days that count")
    warm_up_days: float = Field(
        0.0, ge=0, le=DAYS_MAX, description="simulated days before them that do not count"
    )
    set: Values = Field(default={}, description="parameters that differ from their defaults in all runs")
    changes: tuple[TimedChange, ...] = Field(
        default=(), exclude_if=_is_unset, description="parameters that change during every run"
    )
    faults: str | None = Field(
        None,
        exclude_if=_is_unset,
        description="a file of recorded faults, in the format of `lab run --faults`",
    )
    trace: str | None = Field(
        None,
        exclude_if=_is_unset,
        description="a file of recorded requests, in the format of `lab run --trace`",
    )
    trace_from: float | str | None = Field(
        None, exclude_if=_is_unset, description="time in the trace at which runs start"
    )
    trace_until: float | str | None = Field(
        None, exclude_if=_is_unset, description="time in the trace from which rows are ignored"
    )

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if self.trace is not None and self.site is not None:
            raise ValueError("trace: must not be given together with site, whose file describes the site")
        for name in ("trace_from", "trace_until"):
            if self.trace is None and getattr(self, name) is not None:
                raise ValueError(f"{name}: needs a trace; give trace too, or leave it out")
        given = {*self.model_fields_set} - ({"calibration"} if self.calibration is None else set())
        for name in ("pods", "kind", "calibration"):
            if self.site is not None and name in given:
                raise ValueError(
                    f"{name}: must not be given together with site, whose file defines the fabrics"
                )
        if "fabric.kind" in self.set:
            raise ValueError("set.fabric.kind: is not allowed in set; give fabric.kind, or vary it")
        return self


class LatinHypercube(ExperimentPart):
    """Points that are spread evenly over the range of every parameter."""

    points: int = Field(ge=2, le=VARIANTS_MAX)
    seed: int = Field(0, ge=0, description="seed that draws the points; the runs have their own")
    between: dict[str, Bounds] = Field(
        min_length=1, description="parameter → the bounds between which it varies"
    )


class Vary(ExperimentPart):
    """The differences between runs, in one of three ways. A mapping from names to lists of values is a
    grid."""

    grid: dict[str, Choices] = Field(
        default={}, description="parameter → its values; every combination is a variant"
    )
    list: Listed = Field(default=[], description="the values of each variant")
    latin_hypercube: LatinHypercube | None = None

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        given = [name for name in METHODS if getattr(self, name)]
        if len(given) > 1:
            raise ValueError(
                f"{given[1]}: must not be given together with {given[0]}; give one of {', '.join(METHODS)}"
            )
        return self


def _grid(value: Any) -> Any:
    """Convert `{name: [1, 2]}` to `{grid: {name: [1, 2]}}`. Raises ValueError if one way of varying has no
    values; stored documents have all three ways."""
    if isinstance(value, dict) and len(value) == 1 and not any(value.values()):
        raise ValueError(f"{next(iter(value))}: is empty; must have values, or leave vary out")
    return {"grid": value} if isinstance(value, dict) and value and not value.keys() & {*METHODS} else value


class SeedChoice(ExperimentPart):
    """The seeds, starting with `first`: either `count` seeds, or between `least` and `most`, until every
    measure has its required precision."""

    first: int = Field(0, ge=0, le=2**53)
    count: int | None = Field(None, ge=1, le=SEEDS_MAX)
    least: int = Field(SEEDS_MIN, ge=2, le=SEEDS_MAX)
    most: int | None = Field(None, ge=2, le=SEEDS_MAX)
    common: bool = Field(
        True, description="whether all variants have the same seeds, so that their differences are paired"
    )

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if (self.count is None) == (self.most is None):
            raise ValueError("count: exactly one of count and most must be given")
        if self.most is not None and self.most < self.least:
            raise ValueError(f"most: {self.most} is below least, {self.least}")
        return self


def _count(value: Any) -> Any:
    """Convert `20` to `{count: 20}`."""
    return {"count": value} if isinstance(value, int) and not isinstance(value, bool) else value


class TargetPrecision(ExperimentPart):
    """The required width of a measure's interval. Runs stop when every variant reaches it."""

    half_width: float | None = Field(None, gt=0, allow_inf_nan=False)
    relative_half_width: float | None = Field(None, gt=0, lt=1)

    @model_validator(mode="after")
    def _something(self) -> Self:
        if self.half_width is None and self.relative_half_width is None:
            raise ValueError("half_width: is missing; give half_width, relative_half_width or both")
        return self


class ExperimentClaim(ExperimentPart):
    """A claim about a measure in one variant (`of`), or about its difference from another variant
    (`over`)."""

    measure: str
    of: Values = Field(default={}, description="the variant, by parameters that identify it")
    over: Values | None = None
    more_than: Finite | None = None
    less_than: Finite | None = None
    equals: Finite | None = None
    within: Finite | None = Field(None, ge=0, description="allowed distance from `equals`")

    @model_validator(mode="after")
    def _one_claim(self) -> Self:
        given = [name for name in ("more_than", "less_than", "equals") if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError("more_than: exactly one of more_than, less_than and equals must be given")
        if (self.equals is None) != (self.within is None):
            raise ValueError("within: must be given together with equals")
        return self


class Control(ExperimentPart):
    """A control variate: another measure whose mean is known exactly in all variants. Its deviation from that
    mean narrows the interval of the first measure."""

    by: str
    mean: Finite = Field(description="in the measure's unit; shares from 0 to 1")


class Compare(ExperimentPart):
    """A comparison of all variants with one."""

    against: Values


class Store(ExperimentPart):
    """What is stored of a run's time series."""

    window_h: float = Field(
        1.0, gt=0, le=24 * DAYS_MAX, description="length of a row of the time series in hours"
    )
    series: bool = True


class Experiment(ExperimentPart):
    """The document of an experiment. It defines everything that is needed to repeat it."""

    title: str = Field(min_length=1, max_length=200)
    question: str = Field(min_length=1, max_length=1_000)
    fabric: Fabric
    vary: Annotated[Vary, BeforeValidator(_grid)] = Vary()
    seeds: Annotated[SeedChoice, BeforeValidator(_count)] = SeedChoice(count=SEEDS_MIN)
    measure: tuple[str, ...] = Field(min_length=1, description="names from `lightwave experiment measures`")
    confidence: float = Field(0.95, ge=0.5, le=0.9999)
    stop_when: dict[str, TargetPrecision] = Field(default={}, description="measure → the required precision")
    controls: dict[str, Control] = Field(
        default={}, description="measure → another measure whose mean is known exactly"
    )
    compare: Compare | None = None
    claim: ExperimentClaim | None = None
    steady: bool = Field(
        True,
        description="whether figures are of a steady state; false for a study of overload, whose claim is of "
        "its days alone",
    )
    store: Store = Store()
    method: Literal["auto", "exact", "kernel", "services"] = Field(
        "auto",
        description="closed forms, the kernel of failures and repairs, or the services; auto: the cheapest "
        "that can answer the whole question",
    )

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        for name in self.stop_when:
            if name not in self.measure:
                raise ValueError(
                    f"stop_when.{name}: is not measured; must be one of {', '.join(self.measure)}"
                )
        for name, control in self.controls.items():
            for field, word in ((name, name), (f"{name}.by", control.by)):
                if word not in self.measure:
                    raise ValueError(
                        f"controls.{field}: {word!r} is not measured; must be one of "
                        f"{', '.join(self.measure)}"
                    )
            if control.by == name:
                raise ValueError(f"controls.{name}.by: must be another measure than {name}")
        windows = self.fabric.days * 24.0 / self.store.window_h
        if self.store.series and windows > WINDOWS_MAX:
            raise ValueError(
                f"store.window_h: {self.store.window_h:g} makes {windows:,.0f} windows per run; must be "
                f"at most "
                f"{WINDOWS_MAX:,}, with a window of at least {self.fabric.days * 24.0 / WINDOWS_MAX:g} h"
            )
        if self.claim is not None and self.claim.measure not in self.measure:
            raise ValueError(
                f"claim.measure: {self.claim.measure!r} is not measured; must be one of "
                f"{', '.join(self.measure)}"
            )
        if self.seeds.most is not None and not self.stop_when:
            raise ValueError("stop_when: is missing, but seeds.most needs it; or give seeds.count")
        if self.seeds.most is None and self.stop_when:
            raise ValueError("seeds.most: is missing; stop_when needs the maximum number of seeds")
        return self
