"""Who repairs what is broken: technicians, their hours, spares, and how long their work takes."""

from typing import Self

from pydantic import model_validator

from schemas.body import Model
from schemas.config.parameter import parameter, same_parameter_as


def check_shift(begins_h: float, ends_h: float) -> None:
    """ValueError unless a shift ends after it begins."""
    if ends_h <= begins_h:
        raise ValueError(f"shift_ends_h: {ends_h:g} is not after shift_begins_h, {begins_h:g}")


class RepairsConfig(Model):
    """Technicians, and how long their work takes."""

    technicians: int = parameter(
        4, "repairs in work at a time", unit="people", source="assumption", ge=1, le=1_000
    )
    fibre_technicians: int = parameter(
        2,
        "more repairs in work at a time, of link ends only: who cleans, reseats and replaces modules",
        unit="people",
        source="assumption: another trade than who opens chassis; one is at work, one on the way",
        ge=0,
        le=1_000,
    )
    ocs_repair_h: float = parameter(
        72.0,
        "mean of the log-normal repair time of an OCS or one of its ports",
        unit="hours",
        source="derived from NSDI 2024: 3 days",
        gt=0,
        le=10_000,
        allow_inf_nan=False,
    )
    host_repair_h: float = parameter(
        24.0,
        "mean of the log-normal repair time of a host or chip",
        unit="hours",
        source="assumption: about 1 day",
        gt=0,
        le=10_000,
        allow_inf_nan=False,
    )
    link_repair_h: float = parameter(
        24.0,
        "mean of the log-normal repair time of a link end (module, cable, connector)",
        unit="hours",
        source="assumption: as a host",
        gt=0,
        le=10_000,
        allow_inf_nan=False,
    )
    clean_h: float = parameter(
        1.0,
        "mean of the log-normal time in which a technician has come and cleaned a connector",
        unit="hours",
        source="assumption: the way, the ladder, the log entry",
        gt=0,
        le=10_000,
        allow_inf_nan=False,
    )
    reseat_h: float = parameter(
        2.0,
        "mean of the log-normal time in which a module is plugged in again and its fibre laid anew",
        unit="hours",
        source="assumption: as cleaning, and the way of the fibre",
        gt=0,
        le=10_000,
        allow_inf_nan=False,
    )
    cable_repair_h: float = parameter(
        24.0,
        "mean of the log-normal repair time of a copper cable inside a cube",
        unit="hours",
        source="assumption: as a host",
        gt=0,
        le=10_000,
        allow_inf_nan=False,
    )
    cube_repair_h: float = parameter(
        24.0,
        "mean of the log-normal repair time of a cube's power or cooling",
        unit="hours",
        source="assumption: as a host",
        gt=0,
        le=10_000,
        allow_inf_nan=False,
    )
    repair_sigma: float = parameter(
        0.5,
        "standard deviation of the logarithm of the repair time",
        unit="-",
        source="assumption",
        ge=0,
        le=4,
        allow_inf_nan=False,
    )
    off_hours_technicians: int | None = parameter(
        None,
        "of the technicians, those who work at night and at weekends as well; none: all",
        unit="people",
        source="choice: all, round the clock",
        ge=0,
        le=1_000,
    )
    off_hours_fibre_technicians: int | None = parameter(
        None,
        "the same of the fibre technicians",
        unit="people",
        source="choice: all, round the clock",
        ge=0,
        le=1_000,
    )
    shift_begins_h: float = parameter(
        8.0,
        "hour of a working day at which the others begin",
        unit="hours",
        source="choice",
        ge=0,
        le=23,
        allow_inf_nan=False,
    )
    shift_ends_h: float = parameter(
        18.0,
        "hour at which they end; what is not done is gone on with in their next shift",
        unit="hours",
        source="choice",
        ge=1,
        le=24,
        allow_inf_nan=False,
    )
    host_spares: int | None = parameter(
        None,
        "host trays on the shelf, for hosts and chips; none: always one more",
        unit="parts",
        source="choice: never lacking",
        ge=1,
        le=10_000,
    )
    link_spares: int | None = parameter(
        None,
        "modules on the shelf; none: always one more",
        unit="parts",
        source="choice: never lacking",
        ge=1,
        le=100_000,
    )
    ocs_spares: int | None = parameter(
        None,
        "of each kind of part of an OCS, and of OCSes, on the shelf; none: always one more",
        unit="parts",
        source="choice: never lacking",
        ge=1,
        le=1_000,
    )
    spares_lead_days: float = parameter(
        14.0,
        "until a part comes that is ordered for one that was used up",
        unit="days",
        source="assumption: two weeks",
        gt=0,
        le=1_000,
        allow_inf_nan=False,
    )
    misdiagnosed: float = parameter(
        0.0,
        "share of works on hosts, chips, copper cables and parts of OCSes that mend the wrong thing; the "
        "test after it shows, and it is done again",
        unit="fraction",
        source="choice: none",
        ge=0,
        le=0.9,
        allow_inf_nan=False,
    )
    burn_in_h: float = parameter(
        0.0,
        "hours for which hosts are tested after work on them, or on their chips or copper cables, before "
        "they are of use again; no technician is with them",
        unit="hours",
        source="choice: none",
        ge=0,
        le=1_000,
        allow_inf_nan=False,
    )
    queue_max: int = parameter(
        100_000,
        "repairs that may wait",
        unit="repairs",
        source="choice: above the number of parts",
        ge=1,
        le=1_000_000,
    )

    @model_validator(mode="after")
    def _shift_has_hours(self) -> Self:
        check_shift(self.shift_begins_h, self.shift_ends_h)
        return self


class StaticRepairsConfig(Model):
    """Technicians, and how long their work takes, where there are no OCSes."""

    technicians: int = same_parameter_as(RepairsConfig, "technicians")
    fibre_technicians: int = same_parameter_as(RepairsConfig, "fibre_technicians")
    host_repair_h: float = same_parameter_as(RepairsConfig, "host_repair_h")
    link_repair_h: float = same_parameter_as(RepairsConfig, "link_repair_h")
    clean_h: float = same_parameter_as(RepairsConfig, "clean_h")
    reseat_h: float = same_parameter_as(RepairsConfig, "reseat_h")
    cable_repair_h: float = same_parameter_as(RepairsConfig, "cable_repair_h")
    cube_repair_h: float = same_parameter_as(RepairsConfig, "cube_repair_h")
    repair_sigma: float = same_parameter_as(RepairsConfig, "repair_sigma")
    off_hours_technicians: int | None = same_parameter_as(RepairsConfig, "off_hours_technicians")
    off_hours_fibre_technicians: int | None = same_parameter_as(RepairsConfig, "off_hours_fibre_technicians")
    shift_begins_h: float = same_parameter_as(RepairsConfig, "shift_begins_h")
    shift_ends_h: float = same_parameter_as(RepairsConfig, "shift_ends_h")
    host_spares: int | None = same_parameter_as(RepairsConfig, "host_spares")
    link_spares: int | None = same_parameter_as(RepairsConfig, "link_spares")
    spares_lead_days: float = same_parameter_as(RepairsConfig, "spares_lead_days")
    misdiagnosed: float = same_parameter_as(RepairsConfig, "misdiagnosed")
    burn_in_h: float = same_parameter_as(RepairsConfig, "burn_in_h")
    queue_max: int = same_parameter_as(RepairsConfig, "queue_max")

    @model_validator(mode="after")
    def _shift_has_hours(self) -> Self:
        check_shift(self.shift_begins_h, self.shift_ends_h)
        return self
