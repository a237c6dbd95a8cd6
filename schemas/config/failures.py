"""Failure rates: their values, variation and dependence on age, and faults that hit many parts at once."""

from typing import TYPE_CHECKING

from schemas.body import Model
from schemas.config.parameter import parameter, same_parameter_as
from schemas.limits import COUNT_MAX


def _per_day(default: float, text: str, source: str) -> float:
    found: float = parameter(default, text, unit="1/day", source=source, ge=0, le=100, allow_inf_nan=False)
    return found


def _variation(of: str) -> float:
    found: float = parameter(
        0.0,
        f"coefficient of variation of the hazard of {of}, which varies slowly with a log-normal "
        "distribution; the same factor for all parts and all fabrics with this seed; 0 for a constant hazard",
        unit="-",
        source="choice: constant, as the papers calculate",
        ge=0,
        le=3,
        allow_inf_nan=False,
    )
    return found


def _memory(of: str) -> float:
    found: float = parameter(
        30.0,
        f"days in which the autocorrelation of the logarithm of the hazard of {of} falls by a factor of e",
        unit="days",
        source="choice",
        ge=0.1,
        le=10_000,
        allow_inf_nan=False,
    )
    return found


def _hours(default: float, text: str) -> float:
    found: float = parameter(
        default, text, unit="hours", source="assumption", gt=0, le=10_000, allow_inf_nan=False
    )
    return found


class FailureRates(Model):
    """What the failure rates of every kind of fabric share. A rate is named by its kind of fault
    (`shared.models.faults.fault_kinds`); the kind of fabric lists its own rates."""

    if TYPE_CHECKING:

        @property
        def enabled(self) -> bool: ...
        @property
        def common_seed(self) -> int | None: ...
        @property
        def until_days(self) -> float | None: ...


class FailuresConfig(FailureRates):
    """Failure rates, their variation and dependence on age."""

    enabled: bool = parameter(True, "whether parts fail at random", unit="-", source="choice")
    host_per_day: float = _per_day(
        0.0008,
        "share of machines that fail in a day",
        "NSDI 2024: 0.08 %",
    )
    cable_per_day: float = _per_day(
        0.0,
        "share of the copper cables inside cubes that fail in a day",
        "choice: none, because the published rate of ICI cables is applied per link end",
    )
    link_per_day: float = _per_day(
        0.00005,
        "share of ICI cables (here: link ends) that fail in a day",
        "NSDI 2024: 0.005 %",
    )
    optics_per_day: float = _per_day(
        0.00002,
        "share of link ends where a gradual fault starts in a day: dirt, wear, bends, heat, sensors",
        "assumption: some 800 in 1e9 hours, as vendors give for modules",
    )
    ocs_per_day: float = _per_day(
        0.0004,
        "share of OCSes that fail in a day",
        "NSDI 2024: 0.04 %",
    )
    stray_per_day: float = _per_day(
        2.4e-8,
        "share of OCS mirrors that stop aligning in a day",
        "assumption: 1 in 1e9 hours each, because mirrors have no contact and no wear; some 0.1 a pod-year",
    )
    chip_per_day: float = _per_day(
        0.0,
        "share of chips that fail in a day while their host stays up",
        "choice: none, because the published rate of machines includes them",
    )
    power_per_day: float = _per_day(
        0.0, "share of power domains that fail in a day; all cubes of the domain lose power", "choice: none"
    )
    cooling_per_day: float = _per_day(
        0.0, "share of cooling loops that fail in a day; all cubes of the loop run hot", "choice: none"
    )
    batch_per_day: float = _per_day(
        0.0, "share of batches of modules whose lasers start to wear out in a day", "choice: none"
    )
    domain_cubes: int = parameter(
        8,
        "number of cubes on one power domain or cooling loop, in order of number",
        unit="cubes",
        source="assumption",
        ge=1,
        le=144,
    )
    power_outage_h: float = _hours(4.0, "mean of the log-normal duration of a power domain outage")
    cooling_outage_h: float = _hours(4.0, "mean of the log-normal duration of a cooling loop outage")
    host_variation: float = _variation("hosts and chips")
    host_memory_days: float = _memory("hosts and chips")
    link_variation: float = _variation("cables, modules and connectors")
    link_memory_days: float = _memory("cables, modules and connectors")
    ocs_variation: float = _variation("parts of OCSes")
    ocs_memory_days: float = _memory("parts of OCSes")
    common_seed: int | None = parameter(
        None,
        "seed of the variation of hazards, which is the same for all fabrics of a site; none: the "
        "seed of the fabric",
        unit="-",
        source="choice",
        ge=0,
        le=COUNT_MAX,
    )
    infant_factor: float = parameter(
        1.0,
        "factor of the hazard of a new part; 1 for none",
        unit="-",
        source="choice: none",
        ge=1,
        le=100,
        allow_inf_nan=False,
    )
    infant_days: float = parameter(
        30.0,
        "days in which the additional hazard of a new part falls by a factor of e",
        unit="days",
        source="assumption",
        ge=0.1,
        le=10_000,
        allow_inf_nan=False,
    )
    wear_out_days: float | None = parameter(
        None,
        "age at which wear has doubled a part's hazard, which grows with the cube of age; none: no wear",
        unit="days",
        source="choice: none",
        ge=1,
        le=100_000,
        allow_inf_nan=False,
    )
    age_days: float = parameter(
        0.0,
        "maximum age of parts at commissioning, uniform from 0; only matters for infant failures and wear",
        unit="days",
        source="choice: new",
        ge=0,
        le=100_000,
        allow_inf_nan=False,
    )
    until_days: float | None = parameter(
        None,
        "day after which no random fault occurs",
        unit="days",
        source="choice: for experiments that settle",
        ge=0,
        le=36_500,
        allow_inf_nan=False,
    )


class StaticFailuresConfig(FailureRates):
    """The same for a pod without OCSes."""

    enabled: bool = same_parameter_as(FailuresConfig, "enabled")
    host_per_day: float = same_parameter_as(FailuresConfig, "host_per_day")
    cable_per_day: float = same_parameter_as(FailuresConfig, "cable_per_day")
    link_per_day: float = same_parameter_as(FailuresConfig, "link_per_day")
    optics_per_day: float = same_parameter_as(FailuresConfig, "optics_per_day")
    chip_per_day: float = same_parameter_as(FailuresConfig, "chip_per_day")
    power_per_day: float = same_parameter_as(FailuresConfig, "power_per_day")
    cooling_per_day: float = same_parameter_as(FailuresConfig, "cooling_per_day")
    batch_per_day: float = same_parameter_as(FailuresConfig, "batch_per_day")
    domain_cubes: int = same_parameter_as(FailuresConfig, "domain_cubes")
    power_outage_h: float = same_parameter_as(FailuresConfig, "power_outage_h")
    cooling_outage_h: float = same_parameter_as(FailuresConfig, "cooling_outage_h")
    host_variation: float = same_parameter_as(FailuresConfig, "host_variation")
    host_memory_days: float = same_parameter_as(FailuresConfig, "host_memory_days")
    link_variation: float = same_parameter_as(FailuresConfig, "link_variation")
    link_memory_days: float = same_parameter_as(FailuresConfig, "link_memory_days")
    common_seed: int | None = same_parameter_as(FailuresConfig, "common_seed")
    infant_factor: float = same_parameter_as(FailuresConfig, "infant_factor")
    infant_days: float = same_parameter_as(FailuresConfig, "infant_days")
    wear_out_days: float | None = same_parameter_as(FailuresConfig, "wear_out_days")
    age_days: float = same_parameter_as(FailuresConfig, "age_days")
    until_days: float | None = same_parameter_as(FailuresConfig, "until_days")
