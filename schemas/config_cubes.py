"""How what breaks in a cube is noticed: by its jobs, and by monitoring."""

from schemas.body import Model
from schemas.parameter import parameter


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
    """How faults of hosts are noticed."""

    heartbeat_s: int = parameter(
        30,
        "interval of host heartbeats; a host fault is seen at the next one",
        unit="seconds",
        source="choice",
        ge=1,
        le=86_400,
    )
