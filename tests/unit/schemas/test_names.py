"""The formats of names: every part of every plant has a name, and an invalid name is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from schemas.names import CubeName, FaultName, RepairName, SliceName, TargetName
from shared.models.static_pod.static_pod_plant import static_pod_plant
from shared.models.superpod.superpod_plant import superpod_plant

TARGET: TypeAdapter[str] = TypeAdapter(TargetName)
PLANTS = (superpod_plant(4), superpod_plant(144), static_pod_plant())


@given(st.data())
def test_every_part_of_a_plant_can_be_a_target(data: st.DataObject) -> None:
    plant = data.draw(st.sampled_from(PLANTS))
    kind = data.draw(st.sampled_from(plant.kinds))
    number = data.draw(st.integers(0, plant.population(kind.word) - 1))
    name = plant.part(kind.word, number, "pod-12").name
    assert TARGET.validate_python(name) == name


@pytest.mark.parametrize(
    "name", ["pod-0/block-3", "pod-0/rack-1/trunk-2", "pod-0/block-3/7", "pod-0/ocs-999999999999"]
)
def test_parts_of_other_kinds_of_fabrics_can_be_targets(name: str) -> None:
    assert TARGET.validate_python(name) == name


@pytest.mark.parametrize(
    "name",
    [
        "pod-0",
        "pod-0/",
        "pod-0/cube-1/",
        "pod-0//cube-1",
        "/cube-1",
        "cube-1",
        "pod-00/cube-1",
        "pod-0/cube-01",
        "pod-0/cube-1 ",
        "pod-0/cube-1\n",
        "pod-0/cube",
        "pod-0/cube--1",
        "pod-0/Cube-1",
        "pod-0/ocs-1/NN2",
        "pod-0/cube-1/+/7",
        "pod-0/cube-1/../ocs-1",
        "pod-0/cube-1234567890123",
    ],
)
def test_a_name_that_is_not_a_part_is_not_a_target(name: str) -> None:
    with pytest.raises(ValidationError, match="String should match pattern"):
        TARGET.validate_python(name)


@pytest.mark.parametrize(
    ("form", "word"), [(SliceName, "slice"), (FaultName, "fault"), (RepairName, "repair"), (CubeName, "cube")]
)
def test_a_name_of_a_kind_has_its_word_and_one_number(form: type[str], word: str) -> None:
    names: TypeAdapter[str] = TypeAdapter(form)
    assert names.validate_python(f"pod-0/{word}-42") == f"pod-0/{word}-42"
    assert names.json_schema()["examples"][0].startswith(f"pod-0/{word}-")
    for wrong in (f"pod-0/{word}-042", f"pod-0/{word}-1/2", f"pod-0/{word}", "pod-0/ocs-1", f"{word}-1"):
        with pytest.raises(ValidationError):
            names.validate_python(wrong)
