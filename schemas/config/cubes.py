"""How what breaks in a cube is noticed: by its jobs, and by monitoring."""

from schemas.body import Model
from schemas.config.parameter import parameter


class JobsConfig(Model):
    """How jobs notice that a host or chip under them is dead."""

    hang_share: float = parameter(
        0.3,
        "share of dead hosts and chips that make the job hang; the others make it stop with an error",
        unit="fraction",
        source="assumption",
        ge=0,
        le=1,
        allow_inf_nan=False,
    )
    error_s: int = parameter(
        5,
        "mean time until an error is noticed; exponential",
        unit="seconds",
        source="assumption: seconds",
        ge=0,
        le=86_400,
    )
    hang_s: int = parameter(
        300,
        "how long a job hangs until it gives up",
        unit="seconds",
        source="assumption: minutes, as watchdogs of collective operations",
        ge=0,
        le=86_400,
    )


class CubesConfig(Model):
    """How faults of hosts are noticed, and when cubes are taken out of use by plan."""

    heartbeat_s: int = parameter(
        30,
        "interval of host heartbeats; a host fault is seen at the next one",
        unit="seconds",
        source="choice",
        ge=1,
        le=86_400,
    )
    maintenance_per_day: float = parameter(
        0.0,
        "share of cubes that are drained in a day for planned work",
        unit="1/day",
        source="choice: none",
        ge=0,
        le=10,
        allow_inf_nan=False,
    )
    maintenance_h: float = parameter(
        24.0,
        "mean of the log-normal time for which they are",
        unit="hours",
        source="assumption: a day",
        gt=0,
        le=10_000,
        allow_inf_nan=False,
    )
    rollout_every_days: float | None = parameter(
        None,
        "from the beginning of one roll-out of software over all cubes to that of the next; none: there are "
        "none",
        unit="days",
        source="choice: none",
        ge=0.1,
        le=10_000,
        allow_inf_nan=False,
    )
    rollout_cubes: int = parameter(
        2, "cubes that a roll-out drains at a time", unit="cubes", source="assumption", ge=1, le=144
    )
    rollout_h: float = parameter(
        2.0,
        "for how long it drains each",
        unit="hours",
        source="assumption: restarts, and a test",
        gt=0,
        le=1_000,
        allow_inf_nan=False,
    )
