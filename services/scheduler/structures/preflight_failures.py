"""What is remembered of a slice whose preflights fail, and how long it is left alone for that.

Nothing that it is given anew helps where the hardware is bad: so it is wired again at once only a few times,
then ever more rarely, and as at first once it has run for a while (as CrashLoopBackOff has it for the
containers of Kubernetes).
"""

from dataclasses import dataclass, replace

from schemas.config.scheduler import SchedulerConfig
from shared.basics.units import US_PER_S

OCSES_REPORTED_MAX = 8
"""Of so many OCSes is told how many links over them failed, those with most first."""


@dataclass(frozen=True, slots=True)
class PreflightFailures:
    """A slice whose last preflight failed, since which it has not run for long enough to forget that.

    It was preflight `failed` in a row, by `links` links, of which `ocses` tells (OCS, links). Once it is not
    wired again at once, it keeps its cubes until `stays_until_us`, for links that come up by themselves, and
    then wants none until `again_us`. It `runs_since_us`, if it does.
    """

    failed: int = 0
    links: int = 0
    ocses: tuple[tuple[int, int], ...] = ()
    keeps_cubes_until_us: int | None = None
    again_us: int | None = None
    runs_since_us: int | None = None


def after_failure(
    failures: PreflightFailures, config: SchedulerConfig, now_us: int, links: dict[int, int]
) -> PreflightFailures:
    """One more preflight failed, by so many links over each of these OCSes."""
    failed = failures.failed + 1
    keeps_cubes_until_us = failures.keeps_cubes_until_us
    if failed > config.preflight_tries and keeps_cubes_until_us is None:
        keeps_cubes_until_us = now_us + config.preflight_stay_s * US_PER_S
    worst = sorted(links.items(), key=lambda found: (-found[1], found[0]))
    return PreflightFailures(
        failed, sum(links.values()), tuple(worst[:OCSES_REPORTED_MAX]), keeps_cubes_until_us
    )


def after_placement(failures: PreflightFailures) -> PreflightFailures:
    """It was given cubes: what is said of those that it had before says nothing of them."""
    return replace(failures, keeps_cubes_until_us=None, runs_since_us=None)


def after_start(failures: PreflightFailures, now_us: int) -> PreflightFailures:
    """It runs, for the first time since its last preflight failed or still."""
    return failures if failures.runs_since_us is not None else replace(failures, runs_since_us=now_us)


def after_stop(failures: PreflightFailures, config: SchedulerConfig, now_us: int) -> PreflightFailures | None:
    """It runs no more; None if it has run for long enough to begin as at first."""
    if failures.runs_since_us is None:
        return failures
    if now_us - failures.runs_since_us >= config.preflight_reset_s * US_PER_S:
        return None
    return replace(failures, runs_since_us=None)


def after_backoff(failures: PreflightFailures, config: SchedulerConfig, now_us: int) -> PreflightFailures:
    """It has left its cubes, and wants none for a while."""
    again_us = now_us + backoff_us(failures.failed, config)
    return replace(failures, again_us=again_us, runs_since_us=None)


def backoff_us(failed: int, config: SchedulerConfig) -> int:
    """For how long a slice backs off after so many failed preflights in a row: twice as long each time, up to
    a most."""
    doublings = max(failed - config.preflight_tries - 1, 0)
    most_s = max(config.preflight_backoff_max_s, config.preflight_backoff_s)
    return min(config.preflight_backoff_s << min(doublings, most_s.bit_length()), most_s) * US_PER_S
