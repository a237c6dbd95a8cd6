"""Failed preflights of a slice, and how long the slice backs off.

New cubes do not help where the hardware is bad. So the slice is rewired at once only a few times, and then
ever more rarely. Once it has run for a while, its failures are forgotten (as in CrashLoopBackOff of
Kubernetes).
"""

from dataclasses import dataclass, replace

from schemas.config.scheduler import SchedulerConfig
from shared.basics.units import US_PER_S

OCSES_REPORTED_MAX = 8
"""Maximum number of OCSes reported with failed links, those with most failures first."""


@dataclass(frozen=True, slots=True)
class PreflightFailures:
    """The preflight failures of a slice since it last ran for long enough."""

    failed: int = 0
    """Preflights that failed in a row."""
    links: int = 0
    """Links that failed the last preflight."""
    ocses: tuple[tuple[int, int], ...] = ()
    """(OCS, failed links), most links first."""
    keeps_cubes_until_us: int | None = None
    """Until when the slice keeps its cubes once it is no longer rewired, in case its links come up by
    themselves."""
    again_us: int | None = None
    """When its backoff ends; None if it is not in backoff."""
    runs_since_us: int | None = None
    """Since when it runs; None if it does not."""


def after_failure(
    failures: PreflightFailures, config: SchedulerConfig, now_us: int, links: dict[int, int]
) -> PreflightFailures:
    """One more failed preflight. `links`: OCS → links over it that failed."""
    failed = failures.failed + 1
    keeps_cubes_until_us = failures.keeps_cubes_until_us
    if failed > config.preflight_tries and keeps_cubes_until_us is None:
        keeps_cubes_until_us = now_us + config.preflight_stay_s * US_PER_S
    worst = sorted(links.items(), key=lambda item: (-item[1], item[0]))
    return PreflightFailures(
        failed, sum(links.values()), tuple(worst[:OCSES_REPORTED_MAX]), keeps_cubes_until_us
    )


def after_placement(failures: PreflightFailures) -> PreflightFailures:
    """The slice got new cubes, so the deadline for the old ones no longer applies."""
    return replace(failures, keeps_cubes_until_us=None, runs_since_us=None)


def after_start(failures: PreflightFailures, now_us: int) -> PreflightFailures:
    """The slice runs, perhaps again."""
    return failures if failures.runs_since_us is not None else replace(failures, runs_since_us=now_us)


def after_stop(failures: PreflightFailures, config: SchedulerConfig, now_us: int) -> PreflightFailures | None:
    """The slice stopped; None if it ran long enough to forget its failures."""
    if failures.runs_since_us is None:
        return failures
    if now_us - failures.runs_since_us >= config.preflight_reset_s * US_PER_S:
        return None
    return replace(failures, runs_since_us=None)


def after_backoff(failures: PreflightFailures, config: SchedulerConfig, now_us: int) -> PreflightFailures:
    """The slice left its cubes and starts its backoff."""
    again_us = now_us + backoff_us(failures.failed, config)
    return replace(failures, again_us=again_us, runs_since_us=None)


def backoff_us(failed: int, config: SchedulerConfig) -> int:
    """The backoff after this many failed preflights in a row: it doubles each time, up to
    `preflight_backoff_max_s`."""
    doublings = max(failed - config.preflight_tries - 1, 0)
    max_s = max(config.preflight_backoff_max_s, config.preflight_backoff_s)
    return min(config.preflight_backoff_s << min(doublings, max_s.bit_length()), max_s) * US_PER_S
