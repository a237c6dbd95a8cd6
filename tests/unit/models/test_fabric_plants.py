"""Every kind of pod has a plant, and shared parts have the same names and numbers."""

import pytest

from schemas.config.fabric_configs import CONFIGS
from schemas.config.pods import (
    FabricConfig,
    PodConfig,
    StaticPodConfig,
    StaticPodSizeConfig,
    SuperpodConfig,
)
from schemas.config.workload import TraceRow
from schemas.names import Shape
from services.fabric_kinds import FLEET
from shared.basics.errors import InvalidInput
from shared.models.fabric_plants import PLANTS, check_demand, plant_of
from shared.models.ocs.parts import PART


def test_every_kind_of_fabric_has_a_plant() -> None:
    assert PLANTS.keys() == FLEET.keys() == CONFIGS.keys()


def test_the_cubes_of_all_kinds_of_pods_are_alike() -> None:
    switched, fixed = plant_of("superpod", PodConfig()), plant_of("static-pod", StaticPodSizeConfig())
    assert {kind.word for kind in switched.kinds} - {kind.word for kind in fixed.kinds} == {"port", *PART}
    for kind in fixed.kinds:
        assert fixed.population(kind.word) == switched.population(kind.word)
        last = fixed.population(kind.word) - 1
        assert fixed.part(kind.word, last, "pod-0") == switched.part(kind.word, last, "pod-0")


def row(shape: Shape, twisted: bool = False) -> TraceRow:
    return TraceRow(submit_us=7, duration_us=1, shape=shape, twisted=twisted, priority=0)


@pytest.mark.parametrize(
    ("config", "bad", "sentence"),
    [
        (SuperpodConfig(), row((5, 5, 5)), "shape 5x5x5: sides must be multiples of 4"),
        (
            SuperpodConfig(),
            row((4, 4, 4), True),
            "twisted: true is not allowed; shape 4x4x4 cannot be twisted",
        ),
        (SuperpodConfig(pod=PodConfig(cubes=4)), row((4, 8, 12)), "needs 6 cubes and the pod has 4"),
        (StaticPodConfig(), row((4, 4, 8), True), "the links of a static pod are fixed"),
    ],
)
def test_a_row_that_never_fits_is_named(config: FabricConfig, bad: TraceRow, sentence: str) -> None:
    fine = row((4, 4, 8))
    check_demand(config.model_copy(update={"trace": (fine, fine)}))
    with pytest.raises(InvalidInput) as raised:
        check_demand(config.model_copy(update={"trace": (fine, bad, bad)}))
    assert str(raised.value).startswith("trace.1 (submit_us 7): ")
    assert sentence in str(raised.value)


def test_the_defaults_of_every_kind_can_be_satisfied() -> None:
    for kind, config in CONFIGS.items():
        check_demand(config(kind=kind))
