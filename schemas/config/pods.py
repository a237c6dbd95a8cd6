"""The configuration of a fabric, as its first message carries it: every parameter with unit, default and
source.

Dotted names (`workload.offered_load`) are what `--set` takes and `lightwave lab config` prints.
"""

from typing import TYPE_CHECKING, ClassVar, Literal, Self

from pydantic import Field, model_validator

from schemas.body import Model, is_none
from schemas.config.cubes import CubesConfig, JobsConfig
from schemas.config.failures import FailureRates, FailuresConfig, StaticFailuresConfig
from schemas.config.network_hardware import NetworkConfig
from schemas.config.parameter import parameter
from schemas.config.planned_faults import PlannedFaults
from schemas.config.quotas import parse_quotas
from schemas.config.repairs import RepairsConfig, RepairShopConfig, StaticRepairsConfig
from schemas.config.scheduler import SchedulerConfig
from schemas.config.transceivers import TransceiversConfig
from schemas.config.workload import Trace, WorkloadConfig
from schemas.limits import COUNT_MAX


class PodConfig(Model):
    """Size of a pod."""

    cubes: int = parameter(
        64,
        "number of cubes of 4×4×4 chips; the radix of the OCSes grows with it",
        unit="cubes",
        source="[LF] A",
        ge=4,
        le=144,
    )


class StaticPodSizeConfig(PodConfig):
    """Size of a static pod, which is fixed."""

    cubes: int = parameter(
        64,
        "number of cubes of 4×4×4 chips, in a grid of 4×4×4 cubes",
        unit="cubes",
        source="[LF] 4.2",
        ge=64,
        le=64,
    )


class OcsConfig(Model):
    """Switching of OCSes."""

    switching_time_ms: float | None = parameter(
        None,
        "fixed switching time of every connection, none of which fails; none: the technology's own time",
        unit="ms",
        source="choice: none; mirrors take as long as their alignment ([LF] 3.2.2), some milliseconds",
        ge=0.001,
        le=600_000,
        allow_inf_nan=False,
    )
    camera_noise_urad: float = parameter(
        10.0,
        "standard deviation of a mirror's tilt as measured in one camera image",
        unit="µrad",
        source="assumption",
        ge=0,
        le=10_000,
        allow_inf_nan=False,
    )
    realign_s: float = parameter(
        60.0,
        "time until mirrors that failed to align are tried again, unless another move comes first",
        unit="seconds",
        source="choice",
        ge=0.001,
        le=86_400,
        allow_inf_nan=False,
    )


class PodOcsConfig(OcsConfig):
    """Technology and switching of the OCSes of a superpod."""

    technology: Literal["palomar", "mems", "robotic", "piezo", "guided-wave", "wavelength"] = parameter(
        "palomar", "technology of the OCSes", unit="-", source="[LF] 3.2, Table C.1"
    )
    restart_s: float = parameter(
        40.0,
        "duration of a restart of an OCS's software",
        unit="seconds",
        source="assumption",
        ge=0.001,
        le=86_400,
        allow_inf_nan=False,
    )
    restart_keeps: bool = parameter(
        True,
        "whether circuits stay up while the software of an OCS restarts, because its FPGA keeps the "
        "mirrors in place",
        unit="-",
        source="choice",
    )


class FabricConfig(Model):
    """Configuration that all kinds of fabrics share. Together with the operators' requests it determines
    everything that happens in the fabric. `kind` selects the services and the other sections."""

    repair_times_model: ClassVar[type[RepairShopConfig] | None] = None
    """The model of `repair_times`; None if such a fabric has no repair shop."""

    kind: str
    seed: int = parameter(0, "seed of all random draws", unit="-", source="choice", ge=0, le=COUNT_MAX)
    faults: PlannedFaults | None = Field(default=None, exclude_if=is_none)

    if TYPE_CHECKING:

        @property
        def failures(self) -> FailureRates: ...

    @property
    def hardware(self) -> Model:
        """The section that, with the kind, determines the plant: every hardware part."""
        raise NotImplementedError(f"a {self.kind} has no hardware")

    @property
    def failure_rates(self) -> FailureRates:
        """The section `failures`, with rate 0 for parts that this kind of fabric does not have."""
        return self.failures

    @property
    def repair_times(self) -> RepairShopConfig:
        """The section `repairs`, with default times for parts that this kind of fabric does not have."""
        raise NotImplementedError(f"a {self.kind} has no repairs")

    @property
    def network_hardware(self) -> NetworkConfig | None:
        """The blocks and racks of a fabric that joins pods; None for a fabric that is not a network."""
        return None

    @property
    def pod_ocs(self) -> PodOcsConfig | None:
        """The section about the OCSes of a pod; None for fabrics without OCSes and for networks."""
        return None

    def without_records(self) -> Self:
        """The configuration without recorded requests and faults, which may be many."""
        return self if self.faults is None else self.model_copy(update={"faults": None})


class AnyPodConfig(FabricConfig):
    """Configuration that all kinds of pods share. Each kind lists the sections in its own order, which is
    their order on a log."""

    repair_times_model = RepairsConfig

    if TYPE_CHECKING:

        @property
        def pod(self) -> PodConfig: ...
        @property
        def workload(self) -> WorkloadConfig: ...
        @property
        def scheduler(self) -> SchedulerConfig: ...
        @property
        def jobs(self) -> JobsConfig: ...
        @property
        def transceivers(self) -> TransceiversConfig: ...
        @property
        def cubes(self) -> CubesConfig: ...
        @property
        def repairs(self) -> RepairsConfig | StaticRepairsConfig: ...
        @property
        def failures(self) -> FailuresConfig | StaticFailuresConfig: ...
        @property
        def trace(self) -> Trace | None: ...

    def without_records(self) -> Self:
        return self.model_copy(update={"trace": None, "faults": None})

    @model_validator(mode="after")
    def _quotas_fit(self) -> Self:
        try:
            parse_quotas(self.scheduler.quotas, self.pod.cubes)
        except ValueError as error:
            raise ValueError(f"scheduler.quotas: {error}") from None
        return self

    @model_validator(mode="after")
    def _reserves_leave_something(self) -> Self:
        cubes, spares, held = self.pod.cubes, self.scheduler.hot_spares, self.scheduler.hold_back_cubes
        if self.scheduler.hold_back != "fixed":
            held = 0
        if spares + held >= cubes:
            raise ValueError(
                f"scheduler.hot_spares {spares} and scheduler.hold_back_cubes {held} leave none of {cubes} "
                f"cubes; together they must be at most {cubes - 1}"
            )
        return self


class SuperpodConfig(AnyPodConfig):
    """A superpod: cubes that optical circuit switches join in any way ([LF] 4.2, [T4] 2)."""

    kind: Literal["superpod"] = "superpod"
    pod: PodConfig = PodConfig()
    workload: WorkloadConfig = WorkloadConfig()
    scheduler: SchedulerConfig = SchedulerConfig()
    jobs: JobsConfig = JobsConfig()
    ocs: PodOcsConfig = PodOcsConfig()
    transceivers: TransceiversConfig = TransceiversConfig()
    cubes: CubesConfig = CubesConfig()
    repairs: RepairsConfig = RepairsConfig()
    failures: FailuresConfig = FailuresConfig()
    trace: Trace | None = None

    @property
    def hardware(self) -> PodConfig:
        return self.pod

    @property
    def repair_times(self) -> RepairsConfig:
        return self.repairs

    @property
    def pod_ocs(self) -> PodOcsConfig:
        return self.ocs


class StaticPodConfig(AnyPodConfig):
    """A static pod: the same cubes in a torus of fixed fibres, without OCSes ([LF] 4.2, Table 1)."""

    kind: Literal["static-pod"] = "static-pod"
    pod: StaticPodSizeConfig = StaticPodSizeConfig()
    workload: WorkloadConfig = WorkloadConfig()
    scheduler: SchedulerConfig = SchedulerConfig()
    jobs: JobsConfig = JobsConfig()
    transceivers: TransceiversConfig = TransceiversConfig()
    cubes: CubesConfig = CubesConfig()
    repairs: StaticRepairsConfig = StaticRepairsConfig()
    failures: StaticFailuresConfig = StaticFailuresConfig()
    trace: Trace | None = None

    @property
    def hardware(self) -> StaticPodSizeConfig:
        return self.pod

    @property
    def failure_rates(self) -> FailuresConfig:
        return FailuresConfig(**self.failures.model_dump(), ocs_per_day=0.0, stray_per_day=0.0)

    @property
    def repair_times(self) -> RepairsConfig:
        return RepairsConfig.model_validate(self.repairs.model_dump())


def pod_config(config: FabricConfig) -> PodConfig:
    """The size of a pod of any kind; ValueError for other fabrics."""
    if not isinstance(config, AnyPodConfig):
        raise ValueError(f"a {config.kind} is not a pod")
    return config.pod
