"""Repairs: technicians, shifts, spare parts and repair times."""

from typing import TYPE_CHECKING, Self, TypeVar

from pydantic import model_validator

from schemas.body import Model
from schemas.config.parameter import parameter, same_parameter_as

ValueT = TypeVar("ValueT")


def check_shift(begins_h: float, ends_h: float) -> None:
    """ValueError unless a shift ends after it begins."""
    if ends_h <= begins_h:
        raise ValueError(f"shift_ends_h: {ends_h:g} is not after shift_begins_h, {begins_h:g}")


class RepairShopConfig(Model):
    """What the repair shop of a fabric of any kind needs: technicians and repair times. Each kind lists the
    parameters in its own order, which is their order on a log."""

    if TYPE_CHECKING:

        @property
        def technicians(self) -> int: ...
        @property
        def repair_sigma(self) -> float: ...
        @property
        def queue_max(self) -> int: ...

    def value_or(self, name: str, default: ValueT) -> ValueT:
        """The value of a parameter; `default`, which is of its type, if the kind of fabric lacks it."""
        value: ValueT = getattr(self, name, default)
        return value


class RepairsConfig(RepairShopConfig):
    """Technicians, shifts, spare parts and repair times."""

    technicians: int = parameter(
        4,
        "number of repairs in progress at the same time; with 0, repairs wait",
        unit="people",
        source="assumption",
        ge=0,
        le=1_000,
    )
    fibre_technicians: int = parameter(
        2,
        "additional repairs in progress at the same time, of link ends only: cleaning, reseating and "
        "replacing modules",
        unit="people",
        source="assumption: another trade than opening chassis; one at work, one on the way",
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
        "mean of the log-normal time to arrive and clean a connector",
        unit="hours",
        source="assumption: access, ladder, log entry",
        gt=0,
        le=10_000,
        allow_inf_nan=False,
    )
    reseat_h: float = parameter(
        2.0,
        "mean of the log-normal time to reseat a module and lay its fibre again",
        unit="hours",
        source="assumption: as cleaning, and laying the fibre",
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
        "technicians who also work at night and at weekends; none: all of them",
        unit="people",
        source="choice: all, round the clock",
        ge=0,
        le=1_000,
    )
    off_hours_fibre_technicians: int | None = parameter(
        None,
        "fibre technicians who also work at night and at weekends; none: all of them",
        unit="people",
        source="choice: all, round the clock",
        ge=0,
        le=1_000,
    )
    shift_begins_h: float = parameter(
        8.0,
        "hour of a working day at which the day shift starts",
        unit="hours",
        source="choice",
        ge=0,
        le=23,
        allow_inf_nan=False,
    )
    shift_ends_h: float = parameter(
        18.0,
        "hour at which the day shift ends; unfinished work continues in the next shift",
        unit="hours",
        source="choice",
        ge=1,
        le=24,
        allow_inf_nan=False,
    )
    host_spares: int | None = parameter(
        None,
        "spare host trays, for hosts and chips; none: unlimited",
        unit="parts",
        source="choice: unlimited",
        ge=0,
        le=10_000,
    )
    link_spares: int | None = parameter(
        None,
        "spare modules; none: unlimited",
        unit="parts",
        source="choice: unlimited",
        ge=0,
        le=100_000,
    )
    ocs_spares: int | None = parameter(
        None,
        "spare OCSes, and spare parts of each kind of OCS part; none: unlimited",
        unit="parts",
        source="choice: unlimited",
        ge=0,
        le=1_000,
    )
    spares_lead_days: float = parameter(
        14.0,
        "time until an ordered spare part arrives",
        unit="days",
        source="assumption: two weeks",
        gt=0,
        le=1_000,
        allow_inf_nan=False,
    )
    misdiagnosed: float = parameter(
        0.0,
        "share of repairs of hosts, chips, copper cables and OCS parts that fix the wrong part; the "
        "test afterwards fails, and the repair is repeated",
        unit="fraction",
        source="choice: none",
        ge=0,
        le=0.9,
        allow_inf_nan=False,
    )
    burn_in_h: float = parameter(
        0.0,
        "duration of the burn-in of a host after a repair of it, its chips or its copper cables; it "
        "needs no technician",
        unit="hours",
        source="choice: none",
        ge=0,
        le=1_000,
        allow_inf_nan=False,
    )
    queue_max: int = parameter(
        100_000,
        "maximum number of waiting repairs",
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
    """The same for a pod without OCSes."""

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
