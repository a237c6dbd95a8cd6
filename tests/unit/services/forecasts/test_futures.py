"""Futures follow the twin's own rules from its own states."""

import itertools

import pytest

from schemas.api.changes import TimedRequest
from schemas.api.forecast import FutureReport
from schemas.config.failures import FailuresConfig
from schemas.config.parameter import ParameterSetting
from schemas.config.pods import PodConfig, SuperpodConfig
from schemas.messages.operator import DrainCube, InjectFault, RequestSlice, SetParameters, UndrainCube
from schemas.registry import decode
from services.fabric_kinds import services_of
from services.forecasts.forecast import ForecastCase, run_forecast
from services.forecasts.futures import run_future
from services.totals.measures import FORECAST_MEASURES
from shared.basics.errors import InvalidInput
from shared.basics.units import US_PER_DAY, US_PER_HOUR, US_PER_MIN
from shared.runtimes.lab import Lab
from shared.runtimes.process_pool import WorkerPool
from shared.storage.snapshots.site_snapshot import SiteSnapshot, from_bytes, take_snapshot, to_bytes
from tests.support.pods import POD, pod_lab

DAY = US_PER_DAY
CONFIG = SuperpodConfig(
    seed=5, pod=PodConfig(cubes=8), failures=FailuresConfig(host_per_day=0.002, ocs_per_day=0.01)
)
HERE = WorkerPool(1, "")
NO_TECHNICIANS = ParameterSetting(name="repairs.technicians", value=0)
DRAIN = TimedRequest(US_PER_HOUR, POD, DrainCube(cube="pod-0/cube-3"))


class History:
    """A small pod after five days, and its log from then on."""

    def __init__(self) -> None:
        self.later: list[bytes] = []
        self.lab: Lab = pod_lab(CONFIG, sink=lambda lines: self.later.extend(lines.splitlines()))
        self.lab.run(5 * DAY)
        self.later.clear()
        snapshot = take_snapshot(self.lab.site, self.lab.messages, b"", software="x", kinds={POD: "superpod"})
        self.bytes = to_bytes(snapshot)
        self.lab.run(snapshot.at_us + 3 * DAY)

    @property
    def snapshot(self) -> SiteSnapshot:
        return from_bytes(self.bytes)

    def future(
        self,
        for_us: int,
        requests: tuple[TimedRequest, ...] = (),
        *,
        salt: int | None = None,
        events: bool = False,
    ) -> FutureReport:
        return run_future(self.snapshot, self.snapshot.at_us, for_us, requests, salt=salt, events=events)

    def case(self, for_us: int, requests: tuple[TimedRequest, ...]) -> ForecastCase:
        return ForecastCase(self.bytes, self.snapshot.at_us, for_us, requests)


@pytest.fixture(scope="module")
def history() -> History:
    return History()


def test_with_its_own_draws_a_future_matches_the_twin(history: History) -> None:
    future = history.future(3 * DAY, events=True)
    assert future.messages == len(history.later)
    later_messages = [decode(line) for line in history.later]
    notable = [(event.at_us, event.type) for event in future.notable]
    assert notable
    assert [
        row for row in notable if row not in {(message.at_us, message.type) for message in later_messages}
    ] == []


def test_a_salt_gives_its_own_reproducible_future(history: History) -> None:
    first, same, second = (history.future(DAY, salt=salt, events=True) for salt in (1, 1, 2))
    assert first == same
    assert first.log_sha256 != second.log_sha256
    assert first.log_sha256 != history.future(DAY, events=True).log_sha256


def test_a_future_does_not_depend_on_how_long_it_is_run(history: History) -> None:
    """The first day is the same however long the future runs."""
    short, long = (history.future(days * DAY, salt=3, events=True) for days in (1, 3))
    assert long.notable[: len(short.notable)] == short.notable


def test_measures_cover_exactly_the_forecast_span(history: History) -> None:
    future = run_future(
        history.snapshot,
        history.snapshot.at_us,
        DAY,
        (
            TimedRequest(0, POD, SetParameters(settings=(NO_TECHNICIANS,))),
            TimedRequest(0, POD, InjectFault(kind="cube-power", target="pod-0/cube-3")),
        ),
    )
    calm = history.future(DAY)
    healthy, calm_healthy = future.figures["healthy"], calm.figures["healthy"]
    assert healthy is not None
    assert calm_healthy is not None
    assert 0.99 < calm_healthy - healthy <= 1.0
    assert calm.figures["served"] is None
    assert calm.figures.keys() == FORECAST_MEASURES.keys()


def test_a_difference_compares_futures_with_equal_draws(history: History) -> None:
    forecast = run_forecast(history.case(DAY, (DRAIN,)), 4, HERE)
    rows = {row.name: row for row in forecast.rows}
    baselines = [history.future(DAY, salt=salt).figures["goodput"] for salt in (1, 2, 3, 4)]
    requested = [history.future(DAY, (DRAIN,), salt=salt).figures["goodput"] for salt in (1, 2, 3, 4)]
    apart = [b - a for a, b in zip(baselines, requested, strict=True) if a is not None and b is not None]
    assert len(apart) == 4
    difference = rows["goodput"].difference
    assert difference is not None
    assert difference.value == pytest.approx(sum(apart) / 4)
    assert forecast.worst == 1 + apart.index(min(apart))
    assert forecast.worst_value == pytest.approx(min(apart))


def test_without_requests_there_is_no_difference(history: History) -> None:
    forecast = run_forecast(history.case(DAY, ()), 2, HERE)
    assert all(row.requested is None and row.difference is None for row in forecast.rows)
    assert forecast.worst in (1, 2)


def test_a_request_that_every_future_refuses_is_an_error(history: History) -> None:
    request = TimedRequest(0, POD, UndrainCube(cube="pod-0/cube-3"))
    with pytest.raises(InvalidInput, match=r"cube-3' is not drained"):
        run_forecast(history.case(US_PER_HOUR, (request,)), 2, HERE)


def test_an_impossible_slice_is_refused_with_the_sentence_of_the_scheduler(history: History) -> None:
    """The workload requests it in the terms of the operator."""
    large = TimedRequest(0, POD, RequestSlice(shape=(8, 8, 16)))
    with pytest.raises(InvalidInput, match=r"shape 8x8x16: it needs 16 cubes and the pod has 8"):
        run_forecast(history.case(US_PER_HOUR, (large,)), 2, HERE)


def test_a_parameter_can_change_and_an_invalid_value_is_refused(history: History) -> None:
    often, never = (
        SetParameters(settings=(ParameterSetting(name="failures.host_per_day", value=rate),))
        for rate in (1.0, 200.0)
    )
    calm, with_faults = (
        history.future(DAY, requests, salt=1) for requests in ((), (TimedRequest(0, POD, often),))
    )
    before, after = calm.figures["healthy"], with_faults.figures["healthy"]
    assert before is not None
    assert after is not None
    assert after < before - 1.0
    with pytest.raises(InvalidInput, match=r"host_per_day: 200\.0 is not allowed"):
        run_forecast(history.case(US_PER_HOUR, (TimedRequest(0, POD, never),)), 2, HERE)


def test_requests_take_effect_at_their_times(history: History) -> None:
    later = TimedRequest(5 * US_PER_HOUR, POD, UndrainCube(cube="pod-0/cube-3"))
    future = history.future(DAY, (later, DRAIN), salt=1, events=True)
    assert future.refused == ()
    drains = [(event.type, event.at_us) for event in future.notable if "rain" in event.type]
    assert [kind for kind, _ in drains] == ["DrainCube", "CubeDrained", "UndrainCube", "CubeUndrained"]
    at_us = history.snapshot.at_us
    assert drains[0][1] - at_us == US_PER_HOUR
    assert drains[2][1] - at_us == 5 * US_PER_HOUR


def test_a_future_starts_at_the_clock_and_not_at_the_last_message_of_the_site(history: History) -> None:
    """Nothing has happened since the last message, so no draw may add an event in between."""
    calm = next(
        (earlier.at_us, later.at_us)
        for earlier, later in itertools.pairwise(map(decode, history.later))
        if later.at_us - earlier.at_us > 2 * US_PER_MIN
    )
    from_us = calm[1] - US_PER_MIN
    site = history.snapshot.restored(services_of)
    lab = Lab.resume(site)
    lab.run(from_us)
    assert site.now_us == calm[0]
    then = to_bytes(take_snapshot(site, lab.messages, b"", software="x", kinds={POD: "superpod"}))
    power = TimedRequest(0, POD, InjectFault(kind="cube-power", target="pod-0/cube-3"))
    futures = [
        run_future(from_bytes(then), from_us, DAY, (power,), salt=salt, events=True) for salt in range(1, 5)
    ]
    for future in futures:
        assert min(notable.at_us for notable in future.notable) == from_us
        assert [row.type for row in future.notable[:2]] == ["RekeyDraws", "InjectFault"]
    whole, late = (
        run_future(from_bytes(then), begin_us, for_us).messages
        for begin_us, for_us in ((calm[0], DAY + from_us - calm[0]), (from_us, DAY))
    )
    assert whole == late
    # and for a time that the site has not reached yet, its own messages up to then are no draws of a future
    ahead = run_future(history.snapshot, from_us, DAY, (power,), salt=1, events=True)
    assert ahead.log_sha256 == futures[0].log_sha256


def test_the_measures_of_each_future_are_listed(history: History) -> None:
    forecast = run_forecast(history.case(DAY, (DRAIN,)), 2, HERE)
    assert [each.without for each in forecast.each] == [history.future(DAY, salt=n).figures for n in (1, 2)]
    requested = [history.future(DAY, (DRAIN,), salt=n).figures for n in (1, 2)]
    assert [each.requested for each in forecast.each] == requested
