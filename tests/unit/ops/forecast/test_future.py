"""Futures are what the twin's own rules make of its states."""

import pytest

from ops.common.asks import Ask
from ops.forecast.figures import FIGURES
from ops.forecast.forecast import forecast
from ops.forecast.future import future
from schemas.config import PodConfig, SuperpodConfig
from schemas.config_failures import FailuresConfig
from schemas.operator import DrainCube, InjectFault, SetParameters, UndrainCube
from schemas.parameter import Setting
from schemas.registry import decode
from shared.basics.errors import InvalidInput
from shared.basics.units import US_PER_DAY, US_PER_HOUR
from shared.runtimes.lab import Lab
from shared.storage.snapshots.site_snapshot import SiteSnapshot, from_bytes, taken, to_bytes
from tests.support.pods import POD, pod_lab

DAY = US_PER_DAY
CONFIG = SuperpodConfig(
    seed=5, pod=PodConfig(cubes=8), failures=FailuresConfig(host_per_day=0.002, ocs_per_day=0.01)
)
DRAIN = Ask(US_PER_HOUR, POD, DrainCube(cube="pod-0/cube-3"))


class Lived:
    """A small pod after five days, and its log from then on."""

    def __init__(self) -> None:
        self.later: list[bytes] = []
        self.lab: Lab = pod_lab(CONFIG, sink=lambda lines: self.later.extend(lines.splitlines()))
        self.lab.run(5 * DAY)
        self.later.clear()
        held = taken(self.lab.site, self.lab.messages, b"", software="x", kinds={POD: "superpod"})
        self.bytes = to_bytes(held)
        self.lab.run(held.at_us + 3 * DAY)

    @property
    def held(self) -> SiteSnapshot:
        return from_bytes(self.bytes)


@pytest.fixture(scope="module")
def lived() -> Lived:
    return Lived()


def test_with_its_own_draws_it_is_what_the_twin_then_lives(lived: Lived) -> None:
    found = future(lived.held, 3 * DAY, keep=True)
    assert found.messages == len(lived.later)
    kept = [decode(line) for line in lived.later]
    told = [(one.at_us, one.type) for one in found.happened]
    assert told
    assert [row for row in told if row not in {(message.at_us, message.type) for message in kept}] == []


def test_a_salt_gives_a_future_of_its_own_and_always_the_same(lived: Lived) -> None:
    one, same, other = (future(lived.held, DAY, salt=salt) for salt in (1, 1, 2))
    assert one == same
    assert one.log_sha256 != other.log_sha256
    assert one.log_sha256 != future(lived.held, DAY).log_sha256


def test_a_future_is_the_same_however_much_of_it_is_looked_at(lived: Lived) -> None:
    """What happens in its first day does not know how long it is followed."""
    short, long = (future(lived.held, days * DAY, salt=3, keep=True) for days in (1, 3))
    assert long.happened[: len(short.happened)] == short.happened


def test_the_figures_are_those_of_the_time_that_is_looked_at(lived: Lived) -> None:
    found = future(lived.held, DAY, (Ask(0, POD, InjectFault(kind="cube-power", target="pod-0/cube-3")),))
    calm = future(lived.held, DAY)
    healthy, without = found.figures["healthy"], calm.figures["healthy"]
    assert healthy is not None
    assert without is not None
    assert 0.5 < without - healthy <= 1.0
    assert calm.figures["served"] is None
    assert calm.figures.keys() == FIGURES.keys()


def test_a_difference_is_that_of_the_same_futures(lived: Lived) -> None:
    found = forecast(lived.bytes, DAY, (DRAIN,), 4, jobs=1)
    rows = {row.name: row for row in found.rows}
    without = [future(lived.held, DAY, salt=salt).figures["goodput"] for salt in (1, 2, 3, 4)]
    asked = [future(lived.held, DAY, (DRAIN,), salt=salt).figures["goodput"] for salt in (1, 2, 3, 4)]
    apart = [b - a for a, b in zip(without, asked, strict=True) if a is not None and b is not None]
    assert len(apart) == 4
    difference = rows["goodput"].difference
    assert difference is not None
    assert difference.value == pytest.approx(sum(apart) / 4)
    assert found.worst == 1 + apart.index(min(apart))
    assert found.worst_value == pytest.approx(min(apart))


def test_without_anything_asked_there_is_no_difference(lived: Lived) -> None:
    found = forecast(lived.bytes, DAY, (), 2, jobs=1)
    assert all(row.asked is None and row.difference is None for row in found.rows)
    assert found.worst in (1, 2)


def test_what_every_future_refuses_cannot_be(lived: Lived) -> None:
    ask = Ask(0, POD, UndrainCube(cube="pod-0/cube-3"))
    with pytest.raises(InvalidInput, match=r"cube-3'?: is not drained"):
        forecast(lived.bytes, US_PER_HOUR, (ask,), 2, jobs=1)


def test_a_parameter_may_be_another_and_what_it_may_not_be_is_refused(lived: Lived) -> None:
    often, never = (
        SetParameters(settings=(Setting(name="failures.host_per_day", value=rate),)) for rate in (1.0, 200.0)
    )
    calm, struck = (future(lived.held, DAY, asks, salt=1) for asks in ((), (Ask(0, POD, often),)))
    before, after = calm.figures["healthy"], struck.figures["healthy"]
    assert before is not None
    assert after is not None
    assert after < before - 1.0
    with pytest.raises(InvalidInput, match=r"host_per_day: 200\.0 is not allowed"):
        forecast(lived.bytes, US_PER_HOUR, (Ask(0, POD, never),), 2, jobs=1)


def test_asks_come_at_their_times(lived: Lived) -> None:
    later = Ask(5 * US_PER_HOUR, POD, UndrainCube(cube="pod-0/cube-3"))
    found = future(lived.held, DAY, (later, DRAIN), salt=1, keep=True)
    assert found.refused == ()
    drains = [(one.type, one.at_us) for one in found.happened if "rain" in one.type]
    assert [kind for kind, _ in drains] == ["DrainCube", "CubeDrained", "UndrainCube", "CubeUndrained"]
    at_us = lived.held.at_us
    assert drains[0][1] - at_us == US_PER_HOUR
    assert drains[2][1] - at_us == 5 * US_PER_HOUR
