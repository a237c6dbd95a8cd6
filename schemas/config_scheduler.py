"""The parameters of the scheduler: who gets cubes before whom, and who makes room."""

from typing import Literal

from schemas.body import Model
from schemas.parameter import parameter


class SchedulerConfig(Model):
    """Who gets cubes before whom, who makes room, and how long the scheduler waits before it gives up."""

    queue_max: int = parameter(
        500,
        "slices of one owner that may wait; the next request of that owner is refused",
        unit="slices",
        source="choice",
        ge=0,
        le=1_000_000,
    )
    quotas: str = parameter(
        "",
        "chips or share of the pod for each owner, as team-1=1024,team-2=25%; who has more borrows, and "
        "comes after those who do not; owners that are not named share the rest equally",
        unit="-",
        source="choice",
        max_length=100_000,
    )
    backfill: Literal["easy", "conservative", "none"] = parameter(
        "easy",
        "who may pass: easy, who does not delay the promised start of the first in line; conservative, who "
        "delays none of the first 30; none, nobody",
        unit="-",
        source="Lifka 1995 (easy), Mu'alem and Feitelson 2001 (conservative)",
    )
    grace_s: int = parameter(
        120,
        "how long a slice that is pre-empted has to write a checkpoint",
        unit="seconds",
        source="GKE Spot: up to 120 s",
        ge=1,
        le=86_400,
    )
    production_waits_h: float = parameter(
        0.5,
        "how long production waits before it pre-empts research; filler makes room at once",
        unit="hours",
        source="calibrated: fewer pre-emptions, and large slices start in 8 h still",
        ge=0,
        le=10_000,
        allow_inf_nan=False,
    )
    research_waits_h: float = parameter(
        6.0,
        "how long research waits before it pre-empts research that was requested later",
        unit="hours",
        source="calibrated: all large slices start in 96 h",
        ge=0,
        le=10_000,
        allow_inf_nan=False,
    )
    research_runs_h: float = parameter(
        1.0,
        "how long research has its cubes before older research may pre-empt it",
        unit="hours",
        source="assumption; Meta's research clusters have 2 h (HPCA 2025)",
        ge=0,
        le=10_000,
        allow_inf_nan=False,
    )
    retries_max: int = parameter(
        100,
        "how often a slice goes back to the queue before it is evicted for good; filler may for ever",
        unit="times",
        source="choice",
        ge=0,
        le=1_000_000,
    )
    recovery_patience_s: int = parameter(
        3600,
        "how long a slice with a failed cube waits for a healthy idle one before it is evicted",
        unit="seconds",
        source="choice",
        ge=0,
        le=31_536_000,
    )
