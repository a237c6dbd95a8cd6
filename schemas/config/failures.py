"""How often parts break by themselves: rates, how they vary, how they change with age, and what strikes many
parts at once."""

from schemas.body import Model
from schemas.config.parameter import parameter, same_parameter_as
from schemas.limits import COUNT_MAX


def _per_day(default: float, text: str, source: str) -> float:
    found: float = parameter(default, text, unit="1/day", source=source, ge=0, le=100, allow_inf_nan=False)
    return found


def _variation(of: str) -> float:
    found: float = parameter(
        0.0,
        f"coefficient of variation of the hazard of {of}, log-normal and slow; one for all parts, the same "
        "for all fabrics with this seed; 0 for a constant hazard",
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
        f"days in which the logarithm of the hazard of {of} forgets: its autocorrelation falls by e",
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


class FailuresConfig(Model):
    """How often parts break by themselves."""

    enabled: bool = parameter(True, "whether things break by themselves", unit="-", source="choice")
    host_per_day: float = _per_day(
        0.0008,
        "share of machines that fail in a day",
        "NSDI 2024: 0.08 %",
    )
    cable_per_day: float = _per_day(
        0.0,
        "share of the copper cables inside cubes that fail in a day",
        "choice: none of their own; the published rate of ICI cables is taken per link end",
    )
    link_per_day: float = _per_day(
        0.00005,
        "share of ICI cables (here: link ends) that fail in a day",
        "NSDI 2024: 0.005 %",
    )
    optics_per_day: float = _per_day(
        0.00002,
        "share of link ends of which something begins to fail in a day: dirt, wear, bends, heat, readings",
        "assumption: some 800 in 1e9 hours, as vendors give for modules",
    )
    ocs_per_day: float = _per_day(
        0.0004,
        "share of OCSes that fail in a day",
        "NSDI 2024: 0.04 %",
    )
    stray_per_day: float = _per_day(
        2.4e-8,
        "share of the mirrors of OCSes that stop finding their places in a day",
        "assumption: 1 in 1e9 hours each, for nothing in them touches or wears; some 0.1 a pod-year",
    )
    chip_per_day: float = _per_day(
        0.0,
        "share of chips that fail in a day and leave their host",
        "choice: none of their own; the published rate of machines counts them",
    )
    power_per_day: float = _per_day(
        0.0, "share of power domains that fail in a day: every cube of one goes dark", "choice: none"
    )
    cooling_per_day: float = _per_day(
        0.0, "share of cooling loops that fail in a day: every cube of one runs hot", "choice: none"
    )
    batch_per_day: float = _per_day(
        0.0, "share of batches of modules whose lasers begin to wear out in a day", "choice: none"
    )
    domain_cubes: int = parameter(
        8,
        "cubes of a power domain or cooling loop, in order",
        unit="cubes",
        source="assumption",
        ge=1,
        le=144,
    )
    power_outage_h: float = _hours(4.0, "mean of the log-normal time until a power domain is back")
    cooling_outage_h: float = _hours(4.0, "mean of the log-normal time until a cooling loop is back")
    host_variation: float = _variation("hosts and chips")
    host_memory_days: float = _memory("hosts and chips")
    link_variation: float = _variation("cables, modules and connectors")
    link_memory_days: float = _memory("cables, modules and connectors")
    ocs_variation: float = _variation("parts of OCSes")
    ocs_memory_days: float = _memory("parts of OCSes")
    common_seed: int | None = parameter(
        None,
        "the seed of what varies for all fabrics of a site alike, the hazards; none: that of the fabric",
        unit="-",
        source="choice",
        ge=0,
        le=COUNT_MAX,
    )
    infant_factor: float = parameter(
        1.0,
        "times the hazard of a part that has just come into use; 1 for none",
        unit="-",
        source="choice: none",
        ge=1,
        le=100,
        allow_inf_nan=False,
    )
    infant_days: float = parameter(
        30.0,
        "days in which what is more of a new part's hazard falls by e",
        unit="days",
        source="assumption",
        ge=0.1,
        le=10_000,
        allow_inf_nan=False,
    )
    wear_out_days: float | None = parameter(
        None,
        "age at which wear has doubled a part's hazard, which grows by the cube of age; none: nothing wears",
        unit="days",
        source="choice: none",
        ge=1,
        le=100_000,
        allow_inf_nan=False,
    )
    age_days: float = parameter(
        0.0,
        "age of parts at the commissioning, evenly from new to this; counts with infancy and wear only",
        unit="days",
        source="choice: new",
        ge=0,
        le=100_000,
        allow_inf_nan=False,
    )
    until_days: float | None = parameter(
        None,
        "no fault begins by itself after this day",
        unit="days",
        source="choice: for experiments that settle",
        ge=0,
        le=36_500,
        allow_inf_nan=False,
    )


class StaticFailuresConfig(Model):
    """How often parts break by themselves, where there are no OCSes."""

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
