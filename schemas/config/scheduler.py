"""The parameters of the scheduler: who gets cubes before whom, and who makes room."""

from typing import Literal

from schemas.body import Model
from schemas.config.parameter import parameter
from schemas.config.quotas import QUOTAS_ALLOWED


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
        allowed=QUOTAS_ALLOWED,
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
        "how long a slice that is preempted has to write a checkpoint",
        unit="seconds",
        source="GKE Spot: up to 120 s",
        ge=1,
        le=86_400,
    )
    production_waits_h: float = parameter(
        0.5,
        "how long production waits before it preempts research; filler makes room at once",
        unit="hours",
        source="calibrated: fewer preemptions, and large slices start in 8 h still",
        ge=0,
        le=10_000,
        allow_inf_nan=False,
    )
    research_waits_h: float = parameter(
        6.0,
        "how long research waits before it preempts research that was requested later",
        unit="hours",
        source="calibrated: all large slices start in 96 h",
        ge=0,
        le=10_000,
        allow_inf_nan=False,
    )
    research_runs_h: float = parameter(
        1.0,
        "how long research has its cubes before older research may preempt it",
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
    pods_hold_s: int = parameter(
        600,
        "how long cubes are kept for a slice of a job over several pods until the other pods have theirs",
        unit="seconds",
        source="choice: five times the grace in which others leave cubes",
        ge=1,
        le=864_000,
    )
    pods_backoff_s: int = parameter(
        300,
        "after that in vain, how long the slice waits until it tries again, in the mean; twice as long each "
        "time after the first, up to 16 times pods_hold_s",
        unit="seconds",
        source="choice",
        ge=1,
        le=86_400,
    )
    hold_back: Literal["none", "fixed", "availability"] = parameter(
        "none",
        "healthy cubes that production and research leave for slices that lose one: none, hold_back_cubes, "
        "or what the promised availability asks for; filler may stand on them",
        unit="-",
        source="choice; [LF] 4.2.2 (availability)",
    )
    hold_back_cubes: int = parameter(
        2, "cubes held back where hold_back is fixed", unit="cubes", source="choice", ge=0, le=144
    )
    hold_back_slice_cubes: int = parameter(
        1,
        "size of the equal slices that are promised where hold_back is availability",
        unit="cubes",
        source="choice: [LF] Figure 15b has 1 to 32",
        ge=1,
        le=144,
    )
    hold_back_host_availability: float = parameter(
        0.999,
        "availability of a host where hold_back is availability",
        unit="fraction",
        source="[LF] 4.2.2",
        ge=0,
        le=1,
        allow_inf_nan=False,
    )
    hold_back_target: float = parameter(
        0.97,
        "probability with which the slices are to be had where hold_back is availability",
        unit="fraction",
        source="[LF] 4.2.2",
        ge=0,
        le=1,
        allow_inf_nan=False,
    )
    decision_s: int = parameter(
        30,
        "from a fault until it is decided what becomes of the slices that it hit: what fails together is "
        "planned together",
        unit="seconds",
        source="choice: as long as a heartbeat",
        ge=0,
        le=86_400,
    )
    preflight_s: int = parameter(
        120,
        "how long the links of a slice are checked after its circuits were made, before it starts",
        unit="seconds",
        source="assumption: minutes; NSDI 2024 has it run a small workload",
        ge=0,
        le=86_400,
    )
    preflight_tries: int = parameter(
        2,
        "failed preflights in a row after which cubes are still replaced at once, for a link has two ends",
        unit="times",
        source="choice: both ends of a link have had their turn",
        ge=0,
        le=1_000,
    )
    preflight_stay_s: int = parameter(
        300,
        "after that, how long a slice keeps its cubes for links that come up by themselves",
        unit="seconds",
        source="choice: mirrors that did not find their places have tried five times more",
        ge=0,
        le=86_400,
    )
    preflight_backoff_s: int = parameter(
        300,
        "when it has left its cubes after that, how long it wants none; twice as long each time",
        unit="seconds",
        source="choice: the longest wait of Kubernetes' CrashLoopBackOff, whose retries cost less",
        ge=1,
        le=86_400,
    )
    preflight_backoff_max_s: int = parameter(
        3_600,
        "the longest time for which it wants none, if that is not less than preflight_backoff_s",
        unit="seconds",
        source="Kueue: requeuingStrategy.backoffMaxSeconds is 3600",
        ge=1,
        le=864_000,
    )
    preflight_reset_s: int = parameter(
        600,
        "how long a slice must run until its failed preflights count no more",
        unit="seconds",
        source="Kubernetes: CrashLoopBackOff begins anew after 10 min without a problem",
        ge=0,
        le=864_000,
    )
    hot_spares: int = parameter(
        0,
        "healthy idle cubes that are kept warm: one takes the place of a failed cube without preflight",
        unit="cubes",
        source="choice",
        ge=0,
        le=144,
    )
    route_around_share: float = parameter(
        0.95,
        "share of slices whose traffic may go around links that are gone",
        unit="fraction",
        source="NSDI 2024: 95 % opt in",
        ge=0,
        le=1,
        allow_inf_nan=False,
    )
    communication_share: float = parameter(
        0.3,
        "share of a step at full speed that is communication; with it one OCS out costs a slice 0.6 to 2 %",
        unit="fraction",
        source="assumption: NSDI 2024 has 1.2 and 2.6 % for two models",
        ge=0,
        le=1,
        allow_inf_nan=False,
    )
