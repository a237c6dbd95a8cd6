"""Every kind of pod has a plant, and what they share goes by the same names and numbers."""

from schemas.config_by_kind import CONFIGS
from services.fleet import FLEET
from shared.models.plants import PLANTS, plant_of


def test_every_kind_of_fabric_has_a_plant() -> None:
    assert PLANTS.keys() == FLEET.keys() == CONFIGS.keys()


def test_the_cubes_of_all_kinds_of_pods_are_alike() -> None:
    switched, fixed = plant_of("superpod", 64), plant_of("static-pod", 64)
    assert {kind.word for kind in switched.kinds} - {kind.word for kind in fixed.kinds} == {"ocs", "port"}
    for kind in fixed.kinds:
        assert fixed.population(kind.word) == switched.population(kind.word)
        last = fixed.population(kind.word) - 1
        assert fixed.part(kind.word, last, "pod-0") == switched.part(kind.word, last, "pod-0")
