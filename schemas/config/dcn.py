"""The configuration of a datacenter network without a spine."""

from typing import Literal

from schemas.body import Model
from schemas.config.failures import FailureRates, FailuresConfig
from schemas.config.network_hardware import BLOCKS_MAX, NetworkConfig
from schemas.config.parameter import parameter, same_parameter_as
from schemas.config.pods import FabricConfig, OcsConfig
from schemas.config.repairs import RepairsConfig, RepairShopConfig
from schemas.limits import COUNT_MAX

JOBS_MAX = 1_000


class JobDemandConfig(Model):
    """A permanent job. Its traffic is added to the random demand."""

    pods: tuple[str, ...] = parameter(
        ...,
        "pods of the job, in ring order",
        unit="-",
        source="choice",
        allowed="names of pods that hang on blocks, such as [pod-0, pod-1]",
        min_length=1,
        max_length=64,
    )
    chips: int = parameter(
        ..., "chips of the job in each pod", unit="chips", source="choice", ge=1, le=COUNT_MAX
    )
    step_s: float = parameter(
        ..., "duration of a step", unit="seconds", source="choice", gt=0, le=1e6, allow_inf_nan=False
    )
    gradient_gb: float = parameter(
        0.0,
        "size of the gradients that the pods sum in each step",
        unit="GB",
        source="choice",
        ge=0,
        le=1e6,
        allow_inf_nan=False,
    )
    checkpoint_gb: float = parameter(
        0.0,
        "size of a checkpoint of the whole job",
        unit="GB",
        source="choice",
        ge=0,
        le=1e9,
        allow_inf_nan=False,
    )
    checkpoint_every_s: float = parameter(
        1_800.0,
        "time between checkpoints",
        unit="seconds",
        source="choice",
        gt=0,
        le=1e9,
        allow_inf_nan=False,
    )
    input_mbps: float = parameter(
        0.0, "input data rate of a chip", unit="Mb/s", source="choice", ge=0, le=1e6, allow_inf_nan=False
    )


class DemandConfig(Model):
    """Random demand between blocks, and the demand of jobs on the site's pods."""

    interval_s: int = parameter(
        3_600, "interval at which the demand changes", unit="seconds", source="choice", ge=60, le=31_536_000
    )
    load: float = parameter(
        0.25,
        "mean demand that a block sends over the capacity of its uplinks, without hot pairs",
        unit="fraction",
        source="choice",
        gt=0,
        le=10,
        allow_inf_nan=False,
    )
    block_sigma: float = parameter(
        0.4,
        "standard deviation of the logarithm of the demand of a block over its capacity",
        unit="-",
        source="choice",
        ge=0,
        le=4,
        allow_inf_nan=False,
    )
    noise_sigma: float = parameter(
        0.25,
        "standard deviation of the logarithm of the demand of a pair in one hour over its gravity model",
        unit="-",
        source="choice",
        ge=0,
        le=4,
        allow_inf_nan=False,
    )
    hot_pairs: int = parameter(
        8, "number of hot pairs of blocks at any time", unit="pairs", source="choice", ge=0, le=10_000
    )
    hot_share: float = parameter(
        0.1,
        "additional demand of a hot pair, one way, over the capacity of the smaller of its blocks",
        unit="fraction",
        source="choice",
        ge=0,
        le=10,
        allow_inf_nan=False,
    )
    hot_days: float = parameter(
        3.0,
        "mean lifetime of a hot pair",
        unit="days",
        source="choice",
        gt=0,
        le=10_000,
        allow_inf_nan=False,
    )
    swing: float = parameter(
        0.3,
        "half of the difference between the busiest and the quietest hour of a day, over the mean",
        unit="fraction",
        source="choice",
        ge=0,
        le=1,
        allow_inf_nan=False,
    )
    storage: tuple[str, ...] = parameter(
        (),
        "blocks that store the data of jobs",
        unit="-",
        source="choice",
        allowed="names of blocks, such as [block-0, block-1]",
        max_length=BLOCKS_MAX,
    )
    jobs: tuple[JobDemandConfig, ...] = parameter(
        (),
        "permanent jobs",
        unit="-",
        source="choice",
        allowed="rows of pods, chips, step_s, gradient_gb, checkpoint_gb, checkpoint_every_s and input_mbps",
        max_length=JOBS_MAX,
    )


class TrafficConfig(Model):
    """Traffic engineering: how demand is split over direct and one-transit paths."""

    telemetry_interval_s: int = parameter(
        900, "interval of telemetry frames; 0 for none", unit="seconds", source="choice", ge=0, le=31_536_000
    )
    hedge: float = parameter(
        0.0,
        "share of every demand that is always spread over all its paths by their capacity",
        unit="fraction",
        source="choice; Jupiter Evolving (second-hand) caps paths instead",
        ge=0,
        le=1,
        allow_inf_nan=False,
    )
    slack: float = parameter(
        0.05,
        "increase of the largest trunk use, relative to the bound of the blocks, above which weights "
        "are solved again",
        unit="fraction",
        source="choice",
        ge=0,
        le=10,
        allow_inf_nan=False,
    )
    react_s: int = parameter(
        30,
        "time from a change of demand or links until weights are solved again; for stages of a "
        "rewiring they are solved in advance",
        unit="seconds",
        source="choice; Jupiter Evolving (second-hand) measures demand over 30 s",
        ge=0,
        le=3_600,
    )


class TopologyConfig(Model):
    """Topology engineering: when new trunks are planned, and how a rewiring proceeds."""

    approval: Literal["automatic", "operator"] = parameter(
        "automatic", "who approves plans", unit="-", source="choice"
    )
    use_above: float = parameter(
        0.8,
        "largest use of a trunk above which a new topology is planned",
        unit="fraction",
        source="choice",
        gt=0,
        le=100,
        allow_inf_nan=False,
    )
    served_below: float = parameter(
        0.999,
        "served share of the demand below which a new topology is planned",
        unit="fraction",
        source="choice",
        ge=0,
        le=1,
        allow_inf_nan=False,
    )
    transit_above: float = parameter(
        0.15,
        "share of the demand on transit blocks above which a new topology is planned",
        unit="fraction",
        source="choice",
        ge=0,
        le=1,
        allow_inf_nan=False,
    )
    transit_gain_min: float = parameter(
        0.05,
        "minimum reduction of transit, as a share of the demand, that makes a plan worth carrying out",
        unit="fraction",
        source="choice",
        ge=0,
        le=1,
        allow_inf_nan=False,
    )
    gain_min: float = parameter(
        0.05,
        "minimum reduction of the largest use that makes a plan worth carrying out",
        unit="fraction",
        source="choice",
        ge=0,
        le=1,
        allow_inf_nan=False,
    )
    every_h: float = parameter(
        24.0,
        "minimum time between two automatic plans",
        unit="hours",
        source="choice",
        gt=0,
        le=876_000,
        allow_inf_nan=False,
    )
    history_h: int = parameter(
        24,
        "number of past hours that a plan considers; it is made for the most demanding one",
        unit="hours",
        source="choice",
        ge=0,
        le=168,
    )
    capacity_floor: float = parameter(
        0.75,
        "minimum share of every block's capacity that remains during a rewiring",
        unit="fraction",
        source="derived: one of four control domains at a time",
        ge=0,
        le=1,
        allow_inf_nan=False,
    )
    chain_max: int = parameter(
        2,
        "maximum number of existing circuits that move for one new link",
        unit="circuits",
        source="choice",
        ge=0,
        le=1_000,
    )
    drain_s: float = parameter(
        10.0,
        "time until new weights have reached all switches and packets on the way have arrived",
        unit="seconds",
        source="assumption",
        ge=0,
        le=86_400,
        allow_inf_nan=False,
    )
    qualify_s: float = parameter(
        30.0,
        "time for which a new circuit's bit errors are counted before it carries traffic",
        unit="seconds",
        source="assumption",
        ge=0,
        le=86_400,
        allow_inf_nan=False,
    )
    undrain_s: float = parameter(
        10.0,
        "time until the new weights have reached all switches",
        unit="seconds",
        source="assumption",
        ge=0,
        le=86_400,
        allow_inf_nan=False,
    )
    wait_h: float = parameter(
        24.0,
        "maximum time that a stage waits until it can keep the capacity floor; then the rewiring is aborted",
        unit="hours",
        source="choice",
        ge=0,
        le=8_760,
        allow_inf_nan=False,
    )


class TrunksConfig(Model):
    """Optics of the circuits, and the threshold for carrying traffic."""

    fibre_loss_db: float = parameter(
        1.0,
        "loss of the fibre and connectors of one strand, both ends together, without the OCS",
        unit="dB",
        source="assumption, as in a pod",
        ge=0,
        le=20,
        allow_inf_nan=False,
    )
    fit_below_ber: float = parameter(
        2e-4,
        "bit error rate before the outer code above which a new circuit does not qualify",
        unit="errors/bit",
        source="[LF] 4.1.2: KP4 threshold",
        ge=1e-15,
        le=0.5,
        allow_inf_nan=False,
    )


def _per_day(default: float, text: str, source: str = "assumption") -> float:
    found: float = parameter(default, text, unit="1/day", source=source, ge=0, le=100, allow_inf_nan=False)
    return found


class NetworkFailuresConfig(FailureRates):
    """Failure rates of the parts of a network."""

    enabled: bool = same_parameter_as(FailuresConfig, "enabled")
    ocs_per_day: float = same_parameter_as(FailuresConfig, "ocs_per_day")
    block_per_day: float = _per_day(0.0001, "share of blocks that fail in a day")
    bundle_per_day: float = _per_day(0.00001, "share of fibre bundles that are cut in a day")
    rack_per_day: float = _per_day(0.0001, "share of OCS racks that fail in a day")
    control_per_day: float = _per_day(0.0005, "share of control domains that lose control in a day")
    power_per_day: float = _per_day(0.0001, "share of power domains that lose power in a day")
    ocs_variation: float = same_parameter_as(FailuresConfig, "ocs_variation")
    ocs_memory_days: float = same_parameter_as(FailuresConfig, "ocs_memory_days")
    common_seed: int | None = same_parameter_as(FailuresConfig, "common_seed")
    until_days: float | None = same_parameter_as(FailuresConfig, "until_days")


def _hours(default: float, text: str) -> float:
    found: float = parameter(
        default,
        f"mean of the log-normal repair time of {text}",
        unit="hours",
        source="assumption",
        gt=0,
        le=10_000,
        allow_inf_nan=False,
    )
    return found


class NetworkRepairsConfig(RepairShopConfig):
    """Technicians and repair times of a network."""

    technicians: int = same_parameter_as(RepairsConfig, "technicians")
    ocs_repair_h: float = same_parameter_as(RepairsConfig, "ocs_repair_h")
    block_repair_h: float = _hours(8.0, "a block")
    bundle_repair_h: float = _hours(12.0, "a fibre bundle")
    rack_repair_h: float = _hours(12.0, "an OCS rack")
    control_repair_h: float = _hours(1.0, "the control of a domain")
    power_repair_h: float = _hours(4.0, "the power of a domain")
    repair_sigma: float = same_parameter_as(RepairsConfig, "repair_sigma")
    queue_max: int = same_parameter_as(RepairsConfig, "queue_max")


class DcnConfig(FabricConfig):
    """A datacenter network: aggregation blocks joined by OCSes, without a spine ([LF] 2.1, Fig. 1b)."""

    repair_times_model = NetworkRepairsConfig

    kind: Literal["dcn"] = "dcn"
    network: NetworkConfig = NetworkConfig()
    demand: DemandConfig = DemandConfig()
    traffic: TrafficConfig = TrafficConfig()
    topology: TopologyConfig = TopologyConfig()
    trunks: TrunksConfig = TrunksConfig()
    ocs: OcsConfig = OcsConfig()
    failures: NetworkFailuresConfig = NetworkFailuresConfig()
    repairs: NetworkRepairsConfig = NetworkRepairsConfig()

    @property
    def hardware(self) -> NetworkConfig:
        return self.network

    @property
    def repair_times(self) -> NetworkRepairsConfig:
        return self.repairs

    @property
    def network_hardware(self) -> NetworkConfig:
        return self.network
