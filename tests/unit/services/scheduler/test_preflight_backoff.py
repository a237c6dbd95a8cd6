"""The back-off of a slice whose preflights fail, and its reset."""

from hypothesis import given
from hypothesis import strategies as st

from schemas.config.scheduler import SchedulerConfig
from services.scheduler.queue.preflight_backoff import (
    OCSES_REPORTED_MAX,
    failures_after_backoff,
    failures_after_failure,
    failures_after_placement,
    failures_after_start,
    failures_after_stop,
    preflight_backoff_us,
)
from services.scheduler.structures.slice_record import PreflightFailures
from shared.basics.units import US_PER_DAY, US_PER_S

CONFIG = SchedulerConfig()


def test_the_back_off_doubles_up_to_its_maximum() -> None:
    seconds = [preflight_backoff_us(failed, CONFIG) // US_PER_S for failed in range(1, 9)]
    assert seconds == [300, 300, 300, 600, 1_200, 2_400, 3_600, 3_600]
    longer = SchedulerConfig(preflight_backoff_s=900, preflight_backoff_max_s=60)
    assert {preflight_backoff_us(failed, longer) for failed in range(1, 9)} == {900 * US_PER_S}


@given(
    failed=st.integers(1, 10**6),
    minimum_s=st.integers(1, 86_400),
    maximum_s=st.integers(1, 864_000),
    tries=st.integers(0, 1_000),
)
def test_no_back_off_is_shorter_than_the_previous_one_or_out_of_bounds(
    failed: int, minimum_s: int, maximum_s: int, tries: int
) -> None:
    config = SchedulerConfig(
        preflight_tries=tries, preflight_backoff_s=minimum_s, preflight_backoff_max_s=maximum_s
    )
    first, second = preflight_backoff_us(failed, config), preflight_backoff_us(failed + 1, config)
    assert minimum_s * US_PER_S <= first <= second <= max(minimum_s, maximum_s) * US_PER_S


def test_a_slice_that_always_fails_tries_about_thirty_times_a_day() -> None:
    failures, now_us, tries = PreflightFailures(), 0, 0
    while now_us < US_PER_DAY:
        failures = failures_after_failure(failures_after_placement(failures), CONFIG, now_us, {0: 1})
        tries += 1
        if failures.failed > CONFIG.preflight_tries:
            assert failures.keeps_cubes_until_us == now_us + CONFIG.preflight_stay_s * US_PER_S
            now_us = failures.keeps_cubes_until_us
            failures = failures_after_backoff(failures, CONFIG, now_us)
            assert failures.again_us is not None
            now_us = failures.again_us
        now_us += CONFIG.preflight_s * US_PER_S
    assert tries < 30


def test_only_a_slice_that_runs_for_a_while_resets_its_back_off() -> None:
    reset_us = CONFIG.preflight_reset_s * US_PER_S
    failed = failures_after_failure(PreflightFailures(), CONFIG, 0, {3: 1})
    running = failures_after_start(failures_after_start(failed, 100), 200)
    assert running.runs_since_us == 100
    assert failures_after_stop(failed, CONFIG, US_PER_DAY) == failed
    assert failures_after_stop(running, CONFIG, 99 + reset_us) == failed
    assert failures_after_stop(running, CONFIG, 100 + reset_us) is None


def test_it_names_the_ocses_with_most_links_and_counts_one_stay_on_the_same_cubes() -> None:
    config = SchedulerConfig(preflight_tries=0)
    links = {ocs: 1 + ocs % 3 for ocs in range(OCSES_REPORTED_MAX + 4)}
    failures = failures_after_failure(PreflightFailures(), config, 0, links)
    assert failures.links == sum(links.values())
    assert failures.ocses == ((2, 3), (5, 3), (8, 3), (11, 3), (1, 2), (4, 2), (7, 2), (10, 2))
    repeated = failures_after_failure(failures, config, 50, links)
    assert repeated.keeps_cubes_until_us == failures.keeps_cubes_until_us
    assert (
        failures_after_failure(failures_after_placement(failures), config, 50, links).keeps_cubes_until_us
        != failures.keeps_cubes_until_us
    )
