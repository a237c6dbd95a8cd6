"""The configuration of a fabric, as its first message carries it: every parameter with unit, default and
source.

Dotted names (`workload.offered_load`) are what `--set` takes and `lightwave lab config` prints.
"""

from typing import TYPE_CHECKING, Literal, Self

from pydantic import (
    model_validator,
)

from schemas.body import Model
from schemas.config.cubes import CubesConfig, JobsConfig
from schemas.config.failures import FailuresConfig, StaticFailuresConfig
from schemas.config.network_hardware import NetworkConfig
from schemas.config.parameter import parameter
from schemas.config.quotas import parse_quotas
from schemas.config.repairs import RepairsConfig, StaticRepairsConfig
from schemas.config.scheduler import SchedulerConfig
from schemas.config.transceivers import TransceiversConfig
from schemas.config.workload import Trace, WorkloadConfig
from schemas.limits import COUNT_MAX


class PodConfig(Model):
    """How large the pod is."""

    cubes: int = parameter(
        64,
        "cubes of 4×4×4 chips in the pod; OCS radix grows with it",
        unit="cubes",
        source="[LF] A",
        ge=4,
        le=144,
    )


class StaticPodSizeConfig(PodConfig):
    """How large a static pod is: always as large as its fixed grid."""

    cubes: int = parameter(
        64, "cubes of 4×4×4 chips, in a grid of 4×4×4 cubes", unit="cubes", source="[LF] 4.2", ge=64, le=64
    )


class OcsConfig(Model):
    """How optical circuit switches switch."""

    switching_time_ms: float | None = parameter(
        None,
        "fixed time of every connection, none of which fails, in place of the technology's own time",
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
    """What the optical circuit switches of a superpod are, and how they switch."""

    technology: Literal["palomar", "mems", "robotic", "piezo", "guided-wave", "wavelength"] = parameter(
        "palomar", "technology of the OCSes", unit="-", source="[LF] 3.2, Table C.1"
    )
    restart_s: float = parameter(
        40.0,
        "time that a restart of an OCS's software takes",
        unit="seconds",
        source="assumption",
        ge=0.001,
        le=86_400,
        allow_inf_nan=False,
    )
    restart_keeps: bool = parameter(
        True,
        "whether circuits stay up while the software of an OCS restarts: its FPGA holds the mirrors",
        unit="-",
        source="choice",
    )


HardwareConfig = PodConfig | NetworkConfig
"""How much there is of what a kind of fabric is made of."""


class FabricConfig(Model):
    """What every kind of fabric has. With the operators' requests, a configuration decides all that happens
    in its fabric; its `kind` decides which services there are, and what the rest of it looks like."""

    kind: str
    seed: int = parameter(0, "the seed of every draw", unit="-", source="choice", ge=0, le=COUNT_MAX)

    @property
    def hardware(self) -> HardwareConfig:
        """The section from which, with the kind, the plant follows: every part that there is."""
        raise NotImplementedError(f"a {self.kind} has no hardware")

    @property
    def pod_ocs(self) -> PodOcsConfig | None:
        """The section about the OCSes of a pod; None for a fabric that is not a pod, or has no OCSes."""
        return None


class AnyPodConfig(FabricConfig):
    """A pod of cubes, however they are joined: what every kind of pod has. Each kind lists the sections in
    its own order, which is their order on a log."""

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
    """A superpod: cubes joined at will by optical circuit switches ([LF] 4.2, [T4] 2)."""

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


def pod_config(config: FabricConfig) -> PodConfig:
    """How large the pod is, of any kind of pod; ValueError for other fabrics."""
    if not isinstance(config, AnyPodConfig):
        raise ValueError(f"a {config.kind} is not a pod")
    return config.pod
