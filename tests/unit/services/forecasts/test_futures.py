"""Futures are what the twin's own rules make of its states."""

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
DRAIN = TimedRequest(US_PER_HOUR, POD, DrainCube(cube="pod-0/cube-3"))


class Lived:
    """A small pod after five days, and its log from then on."""

    def __init__(self) -> None:
        self.later: list[bytes] = []
        self.lab: Lab = pod_lab(CONFIG, sink=lambda lines: self.later.extend(lines.splitlines()))
        self.lab.run(5 * DAY)
        self.later.clear()
        held = take_snapshot(self.lab.site, self.lab.messages, b"", software="x", kinds={POD: "superpod"})
        self.bytes = to_bytes(held)
        self.lab.run(held.at_us + 3 * DAY)

    @property
    def held(self) -> SiteSnapshot:
        return from_bytes(self.bytes)

    def future(
        self,
        for_us: int,
        requests: tuple[TimedRequest, ...] = (),
        *,
        salt: int | None = None,
        events: bool = False,
    ) -> FutureReport:
        return run_future(self.held, self.held.at_us, for_us, requests, salt=salt, events=events)

    def case(self, for_us: int, requests: tuple[TimedRequest, ...]) -> ForecastCase:
        return ForecastCase(self.bytes, self.held.at_us, for_us, requests)


@pytest.fixture(scope="module")
def lived() -> Lived:
    return Lived()


def test_with_its_own_draws_it_is_what_the_twin_then_lives(lived: Lived) -> None:
    found = lived.future(3 * DAY, events=True)
    assert found.messages == len(lived.later)
    kept = [decode(line) for line in lived.later]
    told = [(one.at_us, one.type) for one in found.notable]
    assert told
    assert [row for row in told if row not in {(message.at_us, message.type) for message in kept}] == []


def test_a_salt_gives_a_future_of_its_own_and_always_the_same(lived: Lived) -> None:
    one, same, other = (lived.future(DAY, salt=salt, events=True) for salt in (1, 1, 2))
    assert one == same
    assert one.log_sha256 != other.log_sha256
    assert one.log_sha256 != lived.future(DAY, events=True).log_sha256


def test_a_future_is_the_same_however_much_of_it_is_looked_at(lived: Lived) -> None:
    """What happens in its first day does not know how long it is followed."""
    short, long = (lived.future(days * DAY, salt=3, events=True) for days in (1, 3))
    assert long.notable[: len(short.notable)] == short.notable


def test_the_figures_are_those_of_the_time_that_is_looked_at(lived: Lived) -> None:
    found = run_future(
        lived.held,
        lived.held.at_us,
        DAY,
        (TimedRequest(0, POD, InjectFault(kind="cube-power", target="pod-0/cube-3")),),
    )
    calm = lived.future(DAY)
    healthy, without = found.figures["healthy"], calm.figures["healthy"]
    assert healthy is not None
    assert without is not None
    assert 0.5 < without - healthy <= 1.0
    assert calm.figures["served"] is None
    assert calm.figures.keys() == FORECAST_MEASURES.keys()


def test_a_difference_is_that_of_the_same_futures(lived: Lived) -> None:
    found = run_forecast(lived.case(DAY, (DRAIN,)), 4, HERE)
    rows = {row.name: row for row in found.rows}
    without = [lived.future(DAY, salt=salt).figures["goodput"] for salt in (1, 2, 3, 4)]
    requested = [lived.future(DAY, (DRAIN,), salt=salt).figures["goodput"] for salt in (1, 2, 3, 4)]
    apart = [b - a for a, b in zip(without, requested, strict=True) if a is not None and b is not None]
    assert len(apart) == 4
    difference = rows["goodput"].difference
    assert difference is not None
    assert difference.value == pytest.approx(sum(apart) / 4)
    assert found.worst == 1 + apart.index(min(apart))
    assert found.worst_value == pytest.approx(min(apart))


def test_without_anything_requested_there_is_no_difference(lived: Lived) -> None:
    found = run_forecast(lived.case(DAY, ()), 2, HERE)
    assert all(row.requested is None and row.difference is None for row in found.rows)
    assert found.worst in (1, 2)


def test_what_every_future_refuses_cannot_be(lived: Lived) -> None:
    ask = TimedRequest(0, POD, UndrainCube(cube="pod-0/cube-3"))
    with pytest.raises(InvalidInput, match=r"cube-3' is not drained"):
        run_forecast(lived.case(US_PER_HOUR, (ask,)), 2, HERE)


def test_a_slice_that_cannot_be_is_refused_with_the_scheduler_s_words(lived: Lived) -> None:
    """It is asked for in the operator's words by the workload."""
    large = TimedRequest(0, POD, RequestSlice(shape=(8, 8, 16)))
    with pytest.raises(InvalidInput, match=r"shape 8x8x16: it needs 16 cubes and the pod has 8"):
        run_forecast(lived.case(US_PER_HOUR, (large,)), 2, HERE)


def test_a_parameter_may_be_another_and_what_it_may_not_be_is_refused(lived: Lived) -> None:
    often, never = (
        SetParameters(settings=(ParameterSetting(name="failures.host_per_day", value=rate),))
        for rate in (1.0, 200.0)
    )
    calm, struck = (lived.future(DAY, requests, salt=1) for requests in ((), (TimedRequest(0, POD, often),)))
    before, after = calm.figures["healthy"], struck.figures["healthy"]
    assert before is not None
    assert after is not None
    assert after < before - 1.0
    with pytest.raises(InvalidInput, match=r"host_per_day: 200\.0 is not allowed"):
        run_forecast(lived.case(US_PER_HOUR, (TimedRequest(0, POD, never),)), 2, HERE)


def test_requests_come_at_their_times(lived: Lived) -> None:
    later = TimedRequest(5 * US_PER_HOUR, POD, UndrainCube(cube="pod-0/cube-3"))
    found = lived.future(DAY, (later, DRAIN), salt=1, events=True)
    assert found.refused == ()
    drains = [(one.type, one.at_us) for one in found.notable if "rain" in one.type]
    assert [kind for kind, _ in drains] == ["DrainCube", "CubeDrained", "UndrainCube", "CubeUndrained"]
    at_us = lived.held.at_us
    assert drains[0][1] - at_us == US_PER_HOUR
    assert drains[2][1] - at_us == 5 * US_PER_HOUR


def test_it_begins_at_the_clock_and_not_at_what_the_site_reported_last(lived: Lived) -> None:
    """Nothing has happened since, and so no draw may say that something did."""
    calm = next(
        (one.at_us, other.at_us)
        for one, other in itertools.pairwise(map(decode, lived.later))
        if other.at_us - one.at_us > 2 * US_PER_MIN
    )
    from_us = calm[1] - US_PER_MIN
    site = lived.held.restored(services_of)
    lab = Lab.resume(site)
    lab.run(from_us)
    assert site.now_us == calm[0]
    then = to_bytes(take_snapshot(site, lab.messages, b"", software="x", kinds={POD: "superpod"}))
    power = TimedRequest(0, POD, InjectFault(kind="cube-power", target="pod-0/cube-3"))
    found = [
        run_future(from_bytes(then), from_us, DAY, (power,), salt=salt, events=True) for salt in range(1, 5)
    ]
    for one in found:
        assert min(notable.at_us for notable in one.notable) == from_us
        assert [row.type for row in one.notable[:2]] == ["RekeyDraws", "InjectFault"]
    whole, late = (
        run_future(from_bytes(then), begin_us, for_us).messages
        for begin_us, for_us in ((calm[0], DAY + from_us - calm[0]), (from_us, DAY))
    )
    assert whole == late
    # and of a moment up to which the site has not come yet, what it says until then is no draw of a future's
    ahead = run_future(lived.held, from_us, DAY, (power,), salt=1, events=True)
    assert ahead.log_sha256 == found[0].log_sha256


def test_the_figures_of_each_future_are_there(lived: Lived) -> None:
    found = run_forecast(lived.case(DAY, (DRAIN,)), 2, HERE)
    assert [one.without for one in found.each] == [lived.future(DAY, salt=n).figures for n in (1, 2)]
    requested = [lived.future(DAY, (DRAIN,), salt=n).figures for n in (1, 2)]
    assert [one.requested for one in found.each] == requested
