"""Planned maintenance of cubes."""

import math
from collections import Counter
from statistics import fmean

import pytest

from schemas.config.cubes import CubesConfig
from schemas.config.pods import PodConfig, SuperpodConfig
from schemas.messages.cubes import CubeDrained, CubeUndrained
from schemas.messages.operator import DrainCube, UndrainCube
from services.cubes.service import SERVICE
from shared.basics.units import US_PER_DAY, US_PER_HOUR
from tests.support.rig import Bench, bodies


def pod(cubes: int = 16, *, seed: int = 1, **config: float) -> Bench:
    cubes_config = CubesConfig(**config)  # type: ignore[arg-type]  # numbers for fields of numbers
    return Bench([SERVICE], SuperpodConfig(seed=seed, pod=PodConfig(cubes=cubes), cubes=cubes_config))


def test_maintenance_drains_cubes_at_its_rate_and_for_its_duration() -> None:
    days, rate = 4000, 0.01
    bench = pod(maintenance_per_day=rate, maintenance_h=12.0)
    bench.run(days * US_PER_DAY)
    out: dict[int, int] = {}
    lasted: list[float] = []
    for message in bench.log:
        if isinstance(message.body, CubeDrained):
            assert message.body.why == "maintenance"
            assert message.body.cube not in out
            out[message.body.cube] = message.at_us
        elif isinstance(message.body, CubeUndrained):
            lasted.append((message.at_us - out.pop(message.body.cube)) / US_PER_HOUR)
    expected = 16 * rate * days * (1 - rate / 2)  # a drained cube is not drained again
    assert abs(len(lasted) - expected) < 4.5 * math.sqrt(expected)
    spread = 12 * math.sqrt(math.expm1(0.25)) / math.sqrt(len(lasted))
    assert abs(fmean(lasted) - 12) < 4.5 * spread
    cubes = Counter(body.cube for body in bodies(bench.log, CubeDrained))
    assert set(cubes) == set(range(16))
    bench.assert_documents_hold()


def test_a_roll_out_covers_all_cubes_a_few_at_a_time() -> None:
    bench = pod(rollout_every_days=10.0, rollout_cubes=3, rollout_h=2.0)
    bench.run(35 * US_PER_DAY)
    drained = [(m.at_us, m.body.cube) for m in bench.log if isinstance(m.body, CubeDrained)]
    assert [cube for _, cube in drained] == [*range(16)] * 3
    begins = [at_us for at_us, cube in drained if cube == 0]
    assert begins == [10 * US_PER_DAY, 20 * US_PER_DAY, 30 * US_PER_DAY]
    out = maximum = 0
    for message in bench.log:
        out += isinstance(message.body, CubeDrained) - isinstance(message.body, CubeUndrained)
        maximum = max(maximum, out)
    assert (out, maximum) == (0, 3)
    assert drained[3][0] == 10 * US_PER_DAY + 2 * US_PER_HOUR
    assert {body.why for body in bodies(bench.log, CubeDrained)} == {"rollout"}


def test_a_roll_out_longer_than_its_interval_is_not_started_twice() -> None:
    bench = pod(rollout_every_days=1.0, rollout_cubes=1, rollout_h=4.0)  # 64 hours for the whole pod
    bench.run(20 * US_PER_DAY)
    order = [body.cube for body in bodies(bench.log, CubeDrained)]
    assert order == [n % 16 for n in range(len(order))]
    assert len(order) > 90


def test_a_cube_that_an_operator_drained_stays_drained() -> None:
    bench = pod(rollout_every_days=10.0, rollout_cubes=16, rollout_h=2.0)
    bench.say(DrainCube(cube="pod-0/cube-3"), US_PER_DAY)
    assert bodies(bench.log, CubeDrained)[0].why is None
    bench.run(10 * US_PER_DAY)
    assert 3 not in [body.cube for body in bodies(bench.log, CubeDrained)[1:]]
    (drained,) = bodies(bench.say(DrainCube(cube="pod-0/cube-4")), CubeDrained)
    assert drained.why is None
    assert not bench.say(DrainCube(cube="pod-0/cube-4")), "nothing changes, and nothing is refused"
    bench.run(11 * US_PER_DAY)
    kept_out = [cube for cube in range(16) if bench.documents["cubes", f"pod-0/cube-{cube}"].drained]
    assert kept_out == [3, 4]
    assert len(bodies(bench.say(UndrainCube(cube="pod-0/cube-4")), CubeUndrained)) == 1


@pytest.mark.parametrize("act", [DrainCube, UndrainCube])
def test_a_roll_out_continues_when_an_operator_takes_its_cube(
    act: type[DrainCube] | type[UndrainCube],
) -> None:
    bench = pod(rollout_every_days=10.0, rollout_cubes=1, rollout_h=2.0)
    bench.run(10 * US_PER_DAY)
    bench.say(act(cube="pod-0/cube-0"))
    bench.run(13 * US_PER_DAY)
    by_plan = [body.cube for body in bodies(bench.log, CubeDrained) if body.why == "rollout"]
    assert by_plan == list(range(16))


def test_an_undrain_by_an_operator_cancels_the_maintenance() -> None:
    bench = pod(rollout_every_days=10.0, rollout_cubes=16, rollout_h=2.0)
    bench.run(10 * US_PER_DAY)
    assert len(bodies(bench.say(UndrainCube(cube="pod-0/cube-4")), CubeUndrained)) == 1
    bench.run(11 * US_PER_DAY)
    undrained = Counter(body.cube for body in bodies(bench.log, CubeUndrained))
    assert undrained == dict.fromkeys(range(16), 1)
    bench.assert_documents_hold()


def test_by_default_no_maintenance_is_planned() -> None:
    assert pod().due_us() is None
