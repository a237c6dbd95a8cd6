"""Detection of faults in cubes by jobs and monitoring, and planned maintenance."""

from schemas.body import Model
from schemas.config.parameter import parameter


class JobsConfig(Model):
    """How jobs detect that one of their hosts or chips has failed."""

    hang_share: float = parameter(
        0.3,
        "share of failed hosts and chips that make the job hang; the others stop it with an error",
        unit="fraction",
        source="assumption",
        ge=0,
        le=1,
        allow_inf_nan=False,
    )
    error_s: int = parameter(
        5,
        "mean of the exponential time until such an error is detected",
        unit="seconds",
        source="assumption: seconds",
        ge=0,
        le=86_400,
    )
    hang_s: int = parameter(
        300,
        "time that a job hangs until it stops",
        unit="seconds",
        source="assumption: minutes, as watchdogs of collective operations",
        ge=0,
        le=86_400,
    )


class CubesConfig(Model):
    """Heartbeats of hosts, and planned drains of cubes."""

    heartbeat_s: int = parameter(
        30,
        "interval of host heartbeats; a host fault is detected at the next one",
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
        "mean of the log-normal duration of such a drain",
        unit="hours",
        source="assumption: a day",
        gt=0,
        le=10_000,
        allow_inf_nan=False,
    )
    rollout_every_days: float | None = parameter(
        None,
        "time from the start of one software roll-out over all cubes to the start of the next; none: "
        "no roll-outs",
        unit="days",
        source="choice: none",
        ge=0.1,
        le=10_000,
        allow_inf_nan=False,
    )
    rollout_cubes: int = parameter(
        2,
        "number of cubes that a roll-out drains at the same time",
        unit="cubes",
        source="assumption",
        ge=1,
        le=144,
    )
    rollout_h: float = parameter(
        2.0,
        "time for which a roll-out drains each cube",
        unit="hours",
        source="assumption: restarts, and a test",
        gt=0,
        le=1_000,
        allow_inf_nan=False,
    )
