"""An experiment as a document: what is asked, of which fabrics, what varies, over which seeds, and what is
measured. `ops.experiments.loader` reads one from a file; this module is its form."""

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
"""Rows of a run's time series."""
SEEDS_MIN = 20
"""Fewer are not asked whether they are enough: stopping then comes too early too often
(`shared.models.statistics.means`)."""
METHODS = ("grid", "list", "latin_hypercube")


class ExperimentPart(BaseModel):
    """A part of a document: nothing but its fields may stand there."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class TimedChange(ExperimentPart):
    """Parameters that change during every run."""

    at: str = Field(description="time from the start of the run, including the warm-up, such as 5d or 12h")
    set: Values = Field(min_length=1, description="parameters that `lightwave set --list` lists")
    fabric: str | None = Field(None, description="the fabric; by default every one that has the parameter")


def _is_unset(value: object) -> bool:
    """Fields that are left out of a stored document when unset."""
    return value is None or value == ()


class Fabric(ExperimentPart):
    """What is run: so many pods that don't touch each other, or the site of a file; for how long."""

    pods: int = Field(1, ge=1, le=PODS_MAX, description="fabrics of one kind, a site each")
    kind: str = Field("superpod", description="their kind: superpod, static-pod or dcn")
    calibration: str | None = Field(
        None, description="parameters that belong together, under `set`: field, strict, or a file like those"
    )
    site: str | None = Field(None, description="a site file in place of these, as `--site` takes it")
    days: float = Field(gt=0, le=DAYS_MAX, description="simulated days that count")
    warm_up_days: float = Field(0.0, ge=0, le=DAYS_MAX, description="days before them that no figure counts")
    set: Values = Field(default={}, description="parameters that differ from their defaults in all runs")
    changes: tuple[TimedChange, ...] = Field(
        default=(), exclude_if=_is_unset, description="parameters that change during every run"
    )
    faults: str | None = Field(
        None, exclude_if=_is_unset, description="a file of recorded faults, as `lab run --faults` takes it"
    )
    trace: str | None = Field(
        None, exclude_if=_is_unset, description="a file of recorded requests, as `lab run --trace` takes it"
    )
    trace_from: float | str | None = Field(
        None, exclude_if=_is_unset, description="time in the trace at which runs start"
    )
    trace_until: float | str | None = Field(
        None, exclude_if=_is_unset, description="time in the trace from which on rows are left out"
    )

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if self.trace is not None and self.site is not None:
            raise ValueError("trace: must not be given together with site, whose file describes the site")
        for name in ("trace_from", "trace_until"):
            if self.trace is None and getattr(self, name) is not None:
                raise ValueError(f"{name}: is about a trace; give trace too, or leave it out")
        given = {*self.model_fields_set} - ({"calibration"} if self.calibration is None else set())
        for name in ("pods", "kind", "calibration"):
            if self.site is not None and name in given:
                raise ValueError(f"{name}: not together with site, whose file says what it is made of")
        if "fabric.kind" in self.set:
            raise ValueError("set.fabric.kind: stands as kind beside set, or varies")
        return self


class LatinHypercube(ExperimentPart):
    """Points that are spread evenly over every parameter by itself."""

    points: int = Field(ge=2, le=VARIANTS_MAX)
    seed: int = Field(0, ge=0, description="of the draw of the points, not of the runs")
    between: dict[str, Bounds] = Field(
        min_length=1, description="parameter → the bounds between which it varies"
    )


class Vary(ExperimentPart):
    """What differs between runs: one of three ways. Names with lists of values alone are a grid."""

    grid: dict[str, Choices] = Field(
        default={}, description="parameter → its values; every combination is a variant"
    )
    list: Listed = Field(default=[], description="each variant by itself")
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
    """`{name: [1, 2]}` for `{grid: {name: [1, 2]}}`. ValueError for one way of varying without any
    value; stored documents have all three ways."""
    if isinstance(value, dict) and len(value) == 1 and not any(value.values()):
        raise ValueError(f"{next(iter(value))}: is empty; must have values, or leave vary out")
    return {"grid": value} if isinstance(value, dict) and value and not value.keys() & {*METHODS} else value


class SeedChoice(ExperimentPart):
    """From `first` on: so many (`count`), or between `least` and `most` until all precision asked for is
    there."""

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
            raise ValueError("count: a number of seeds is given by count, or else by most, not by both")
        if self.most is not None and self.most < self.least:
            raise ValueError(f"most: {self.most} is below least, {self.least}")
        return self


def _count(value: Any) -> Any:
    """`20` for `{count: 20}`."""
    return {"count": value} if isinstance(value, int) and not isinstance(value, bool) else value


class TargetPrecision(ExperimentPart):
    """How narrow the interval of a measure has to be, in every variant, for runs to end."""

    half_width: float | None = Field(None, gt=0, allow_inf_nan=False)
    relative_half_width: float | None = Field(None, gt=0, lt=1)

    @model_validator(mode="after")
    def _something(self) -> Self:
        if self.half_width is None and self.relative_half_width is None:
            raise ValueError("half_width: is missing; give half_width, relative_half_width or both")
        return self


class ExperimentClaim(ExperimentPart):
    """What is claimed of a measure in one variant (`of`), or of how much it is more there than in another
    (`over`)."""

    measure: str
    of: Values = Field(default={}, description="the variant, by what tells it from the others")
    over: Values | None = None
    more_than: Finite | None = None
    less_than: Finite | None = None
    equals: Finite | None = None
    within: Finite | None = Field(None, ge=0, description="how far from `equals` it may be")

    @model_validator(mode="after")
    def _one_claim(self) -> Self:
        given = [name for name in ("more_than", "less_than", "equals") if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError("more_than: exactly one of more_than, less_than and equals must be given")
        if (self.equals is None) != (self.within is None):
            raise ValueError("within: stands together with equals")
        return self


class Control(ExperimentPart):
    """Another measure whose mean is known exactly, in all variants: what it differs by tells the first one
    more closely."""

    by: str
    mean: Finite = Field(description="in the measure's unit; shares from 0 to 1")


class Compare(ExperimentPart):
    """Differences of all variants from one."""

    against: Values


class Store(ExperimentPart):
    """What is kept of the course of a run."""

    window_h: float = Field(1.0, gt=0, le=24 * DAYS_MAX, description="hours of a row of the time series")
    series: bool = True


class Experiment(ExperimentPart):
    """A question to the lab, and all that it takes to answer it again."""

    title: str = Field(min_length=1, max_length=200)
    question: str = Field(min_length=1, max_length=1_000)
    fabric: Fabric
    vary: Annotated[Vary, BeforeValidator(_grid)] = Vary()
    seeds: Annotated[SeedChoice, BeforeValidator(_count)] = SeedChoice(count=SEEDS_MIN)
    measure: tuple[str, ...] = Field(
        min_length=1, description="names as `lightwave experiment measures` has them"
    )
    confidence: float = Field(0.95, ge=0.5, le=0.9999)
    stop_when: dict[str, TargetPrecision] = Field(
        default={}, description="measure → the precision that is enough"
    )
    controls: dict[str, Control] = Field(
        default={}, description="measure → another one, whose mean is known exactly"
    )
    compare: Compare | None = None
    claim: ExperimentClaim | None = None
    store: Store = Store()
    method: Literal["auto", "exact", "kernel", "services"] = Field(
        "auto",
        description="closed forms, the kernel of failures and repairs, or the services; auto: the cheapest "
        "that can answer all that is asked",
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
                raise ValueError(f"controls.{name}.by: {name} tells nothing of itself")
        windows = self.fabric.days * 24.0 / self.store.window_h
        if self.store.series and windows > WINDOWS_MAX:
            raise ValueError(
                f"store.window_h: {self.store.window_h:g} makes {windows:,.0f} windows per run; must be "
                f"at most "
                f"{WINDOWS_MAX:,}: from {self.fabric.days * 24.0 / WINDOWS_MAX:g} h on"
            )
        if self.claim is not None and self.claim.measure not in self.measure:
            raise ValueError(
                f"claim.measure: {self.claim.measure!r} is not measured; must be one of "
                f"{', '.join(self.measure)}"
            )
        if self.seeds.most is not None and not self.stop_when:
            raise ValueError(
                "stop_when: is missing, where seeds.most says that it ends runs; or give seeds.count"
            )
        if self.seeds.most is None and self.stop_when:
            raise ValueError("seeds.most: is missing: how many seeds to run at most for what stop_when asks")
        return self
