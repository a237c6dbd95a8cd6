"""Preflight backoff: when a slice whose preflights fail is rewired at once, and how long it backs off.

New cubes do not help where the hardware is bad. So the slice is rewired at once only a few times, and then
ever more rarely. Once it has run for a while, its failures are forgotten (as in CrashLoopBackOff of
Kubernetes).
"""

from collections import Counter
from dataclasses import replace as replace_fields

from schemas.config.scheduler import SchedulerConfig
from services.scheduler.state import (
    SchedulerState,
    enqueue,
    faults_of,
    put_slice,
    queue_of,
    slices_in,
    starts_pause,
)
from services.scheduler.structures.slice_record import PreflightFailures, Slice, as_waiting
from services.scheduler.structures.start_pause import pause_us
from shared.basics.fast_replace import replace
from shared.basics.units import US_PER_S
from shared.models.superpod.wiring import is_plus, ocs_of

OCSES_REPORTED_MAX = 8
"""Maximum number of OCSes reported with failed links, those with most failures first."""
NO_FAILURES = PreflightFailures()
"""The value for a slice without failed preflights."""


def preflight_failures_of(row: Slice) -> PreflightFailures:
    return row.preflight_failures or NO_FAILURES


def after_failed_preflight(state: SchedulerState, row: Slice) -> Slice:
    """The slice on cubes after one more failed preflight."""
    row = after_stop(row, state.config, state.now_us)
    down = faults_of(state, row).down
    links = Counter([ocs_of(end) for end in down if is_plus(end)])  # either end of a link is down, or both
    links |= Counter([ocs_of(end) for end in down if not is_plus(end)])
    failures = failures_after_failure(
        preflight_failures_of(row), state.config, state.now_us, links, rewires=not starts_pause(state)
    )
    return replace(row, preflight_failures=failures)


def may_rewire(state: SchedulerState, row: Slice) -> bool:
    """Whether cubes of a slice may still be replaced for links that are down: only up to `preflight_tries`
    failures in a row, and not after one if the preflights of the whole pod fail."""
    failed = preflight_failures_of(row).failed
    return failed <= state.config.preflight_tries and not (failed and starts_pause(state))


def keeps_cubes_until_us(state: SchedulerState, row: Slice) -> int | None:
    """Until when a slice that is no longer rewired keeps its cubes, in case its links come up by themselves;
    None if it does not keep them."""
    until_us = preflight_failures_of(row).keeps_cubes_until_us
    return until_us if until_us is not None and until_us > state.now_us else None


def after_placement(row: Slice) -> Slice:
    """The slice after it got cubes."""
    if row.preflight_failures is None:
        return row
    return replace(row, preflight_failures=failures_after_placement(row.preflight_failures))


def after_start(row: Slice, now_us: int) -> Slice:
    """The slice when it runs, perhaps again."""
    if row.preflight_failures is None:
        return row
    return replace(row, preflight_failures=failures_after_start(row.preflight_failures, now_us))


def after_stop(row: Slice, config: SchedulerConfig, now_us: int) -> Slice:
    """The slice after it stopped. If it ran long enough, its failures are forgotten."""
    if row.preflight_failures is None:
        return row
    remaining = failures_after_stop(row.preflight_failures, config, now_us)
    return replace(row, preflight_failures=remaining)


def with_backoff(state: SchedulerState, row: Slice) -> Slice:
    """The slice with a backoff that starts now, because it leaves its cubes after failed preflights."""
    failures = failures_after_backoff(preflight_failures_of(row), state.config, state.now_us)
    return replace(row, preflight_failures=failures)


def preflight_backoffs_end_us(state: SchedulerState) -> int | None:
    """When the next backoff ends."""
    times = [preflight_failures_of(row).again_us for row in slices_in(state, "backing-off")]
    return min([again_us for again_us in times if again_us is not None], default=None)


def end_preflight_backoffs(state: SchedulerState) -> None:
    """Put slices whose backoff is over back at their old place in line."""
    for row in slices_in(state, "backing-off"):
        failures = preflight_failures_of(row)
        if failures.again_us is not None and failures.again_us <= state.now_us:
            queue_of(state)  # build the queue while the slice is still outside it
            back = as_waiting(replace(row, preflight_failures=replace_fields(failures, again_us=None)))
            put_slice(state, back)
            enqueue(state, back)


def failures_text(state: SchedulerState, row: Slice) -> str:
    """How many preflights of a slice failed in a row, and the links that failed in the last one."""
    failures = preflight_failures_of(row)
    links = f"{failures.links} link{'' if failures.links == 1 else 's'} down"
    worst = ", ".join([f"{state.fabric}/ocs-{ocs} ({count})" for ocs, count in failures.ocses])
    listed = sum([count for _, count in failures.ocses])
    others = f" and others ({failures.links - listed})" if listed < failures.links else ""
    return f"preflight {failures.failed} in a row found {links}: {worst}{others}"


# --- the failures of one slice ------------------------------------------------------------------------------


def failures_after_failure(
    failures: PreflightFailures,
    config: SchedulerConfig,
    now_us: int,
    links: dict[int, int],
    *,
    rewires: bool = True,
) -> PreflightFailures:
    """One more failed preflight. `links`: OCS → links over it that failed. `rewires`: whether the first
    failures lead to other cubes at once."""
    failed = failures.failed + 1
    keeps_cubes_until_us = failures.keeps_cubes_until_us
    if (failed > config.preflight_tries or not rewires) and keeps_cubes_until_us is None:
        keeps_cubes_until_us = now_us + config.preflight_stay_s * US_PER_S
    worst = sorted(links.items(), key=lambda item: (-item[1], item[0]))
    return PreflightFailures(
        failed, sum(links.values()), tuple(worst[:OCSES_REPORTED_MAX]), keeps_cubes_until_us
    )


def failures_after_placement(failures: PreflightFailures) -> PreflightFailures:
    """The slice got new cubes, so the deadline for the old ones no longer applies."""
    return replace_fields(failures, keeps_cubes_until_us=None, runs_since_us=None)


def failures_after_start(failures: PreflightFailures, now_us: int) -> PreflightFailures:
    """The slice runs, perhaps again."""
    return failures if failures.runs_since_us is not None else replace_fields(failures, runs_since_us=now_us)


def failures_after_stop(
    failures: PreflightFailures, config: SchedulerConfig, now_us: int
) -> PreflightFailures | None:
    """The slice stopped; None if it ran long enough to forget its failures."""
    if failures.runs_since_us is None:
        return failures
    if now_us - failures.runs_since_us >= config.preflight_reset_s * US_PER_S:
        return None
    return replace_fields(failures, runs_since_us=None)


def failures_after_backoff(
    failures: PreflightFailures, config: SchedulerConfig, now_us: int
) -> PreflightFailures:
    """The slice left its cubes and starts its backoff."""
    again_us = now_us + preflight_backoff_us(failures.failed, config)
    return replace_fields(failures, again_us=again_us, runs_since_us=None)


def preflight_backoff_us(failed: int, config: SchedulerConfig) -> int:
    """The backoff after this many failed preflights in a row: it doubles each time, up to
    `preflight_backoff_max_s`."""
    return pause_us(max(failed - config.preflight_tries - 1, 0), config)
