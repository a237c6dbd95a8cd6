"""Parameters of the scheduler: queue, preemption, recovery, holdback."""

from typing import Literal

from schemas.body import Model
from schemas.config.parameter import parameter
from schemas.config.quotas import QUOTAS_ALLOWED


class SchedulerConfig(Model):
    """Queue order, preemption, multislice jobs, recovery, preflight and holdback."""

    queue_max: int = parameter(
        500,
        "maximum number of waiting slices of one owner; further requests of that owner are refused",
        unit="slices",
        source="choice",
        ge=0,
        le=1_000_000,
    )
    quotas: str = parameter(
        "",
        "chips, or share of the pod, for each owner, as team-1=1024,team-2=25%; owners above their "
        "quota borrow, and come after those who do not; owners without an entry share the rest "
        "equally",
        unit="-",
        source="choice",
        allowed=QUOTAS_ALLOWED,
        max_length=100_000,
    )
    backfill: Literal["easy", "conservative", "none"] = parameter(
        "easy",
        "which requests may pass others in the queue: easy, those that do not delay the reservation "
        "of the first one; conservative, those that delay none of the first 30; none, no request",
        unit="-",
        source="Lifka 1995 (easy), Mu'alem and Feitelson 2001 (conservative)",
    )
    grace_s: int = parameter(
        120,
        "time that a preempted slice has to write a checkpoint",
        unit="seconds",
        source="GKE Spot: up to 120 s",
        ge=1,
        le=86_400,
    )
    production_waits_h: float = parameter(
        0.5,
        "time that production waits before it preempts research; filler is preempted at once",
        unit="hours",
        source="calibrated: fewer preemptions, while large slices still start within 8 h",
        ge=0,
        le=10_000,
        allow_inf_nan=False,
    )
    research_waits_h: float = parameter(
        6.0,
        "time that research waits before it preempts younger research",
        unit="hours",
        source="calibrated: all large slices start within 96 h",
        ge=0,
        le=10_000,
        allow_inf_nan=False,
    )
    research_runs_h: float = parameter(
        1.0,
        "minimum time that research keeps its cubes before older research may preempt it",
        unit="hours",
        source="assumption; Meta's research clusters have 2 h (HPCA 2025)",
        ge=0,
        le=10_000,
        allow_inf_nan=False,
    )
    retries_max: int = parameter(
        100,
        "number of returns to the queue after which a slice is evicted for good; unlimited for filler",
        unit="times",
        source="choice",
        ge=0,
        le=1_000_000,
    )
    pods_hold_s: int = parameter(
        600,
        "time that a slice of a multislice job keeps its cubes while the other pods find theirs",
        unit="seconds",
        source="choice: five times the grace period of preemption",
        ge=1,
        le=864_000,
    )
    pods_backoff_s: int = parameter(
        300,
        "mean wait before the slice tries again after such a failed attempt; doubles with each "
        "failure, up to 16 times pods_hold_s",
        unit="seconds",
        source="choice",
        ge=1,
        le=86_400,
    )
    hold_back: Literal["none", "fixed", "availability"] = parameter(
        "none",
        "healthy cubes that production and research leave free for slices that lose a cube: none, "
        "hold_back_cubes, or the number that the target availability requires; filler may use them",
        unit="-",
        source="choice; [LF] 4.2.2 (availability)",
    )
    hold_back_cubes: int = parameter(
        2, "number of cubes held back if hold_back is fixed", unit="cubes", source="choice", ge=0, le=144
    )
    hold_back_slice_cubes: int = parameter(
        1,
        "size of the equal slices whose availability is the target, if hold_back is availability",
        unit="cubes",
        source="choice: [LF] Figure 15b has 1 to 32",
        ge=1,
        le=144,
    )
    hold_back_host_availability: float = parameter(
        0.999,
        "assumed availability of a host, if hold_back is availability",
        unit="fraction",
        source="[LF] 4.2.2",
        ge=0,
        le=1,
        allow_inf_nan=False,
    )
    hold_back_target: float = parameter(
        0.97,
        "probability that all these slices are available, if hold_back is availability",
        unit="fraction",
        source="[LF] 4.2.2",
        ge=0,
        le=1,
        allow_inf_nan=False,
    )
    decision_s: int = parameter(
        30,
        "time from a fault until the recovery of the slices that it hit is decided; faults within "
        "this time are planned together",
        unit="seconds",
        source="choice: as long as a heartbeat",
        ge=0,
        le=86_400,
    )
    preflight_s: int = parameter(
        120,
        "duration of the check of the links of a slice between its circuits being made and its start",
        unit="seconds",
        source="assumption: minutes; NSDI 2024 has it run a small workload",
        ge=0,
        le=86_400,
    )
    preflight_tries: int = parameter(
        2,
        "number of failed preflights in a row after which cubes are still replaced at once; more than"
        " one, because a link has two ends",
        unit="times",
        source="choice: both ends of a link are tried",
        ge=0,
        le=1_000,
    )
    preflight_stay_s: int = parameter(
        300,
        "after these, time that a slice keeps its cubes in case its links come up",
        unit="seconds",
        source="choice: failed mirrors have tried to align five more times by then",
        ge=0,
        le=86_400,
    )
    preflight_backoff_s: int = parameter(
        300,
        "after that, time that a slice without cubes waits before it tries again; doubles with each failure",
        unit="seconds",
        source="choice: the longest wait of Kubernetes' CrashLoopBackOff, whose retries cost less",
        ge=1,
        le=86_400,
    )
    preflight_backoff_max_s: int = parameter(
        3_600,
        "maximum of this wait, unless preflight_backoff_s is longer",
        unit="seconds",
        source="Kueue: requeuingStrategy.backoffMaxSeconds is 3600",
        ge=1,
        le=864_000,
    )
    preflight_reset_s: int = parameter(
        600,
        "run time after which earlier failed preflights no longer count",
        unit="seconds",
        source="Kubernetes: CrashLoopBackOff resets after 10 min without a failure",
        ge=0,
        le=864_000,
    )
    hot_spares: int = parameter(
        0,
        "number of healthy idle cubes that are kept warm; a warm cube replaces a failed one without a"
        " preflight",
        unit="cubes",
        source="choice",
        ge=0,
        le=144,
    )
    route_around_share: float = parameter(
        0.95,
        "share of slices whose traffic may be routed around failed links",
        unit="fraction",
        source="NSDI 2024: 95 % opt in",
        ge=0,
        le=1,
        allow_inf_nan=False,
    )
    communication_share: float = parameter(
        0.3,
        "share of a full-speed step that is communication; with the default, one failed OCS slows a "
        "slice by 0.6 to 2 %",
        unit="fraction",
        source="assumption: NSDI 2024 has 1.2 and 2.6 % for two models",
        ge=0,
        le=1,
        allow_inf_nan=False,
    )
