"""Mixes as people write them."""

import re

import pytest

from ops.sites.configuration import superpod_config
from schemas.config.workload_mix import parse_mix
from services.workload.slice_mix import mix_for
from shared.basics.errors import InvalidInput


def test_shapes_have_their_shares_in_the_order_of_the_text() -> None:
    assert parse_mix("") == ()
    assert parse_mix("4x4x4=14, 4x4x8t=16.5,4x4x8=1") == (
        ((4, 4, 4), False, 14.0),
        ((4, 4, 8), True, 16.5),
        ((4, 4, 8), False, 1.0),
    )


@pytest.mark.parametrize(
    ("mix", "sentence"),
    [
        ("4x4=1", "'4x4=1' is not allowed; must be shape=share with a share above 0, as 4x4x4=14 or"),
        ("4x4x4", "'4x4x4' is not allowed; must be shape=share"),
        ("4x4x4=0", "'4x4x4=0' is not allowed; must be shape=share with a share above 0"),
        ("4x4x4=-1", "'4x4x4=-1' is not allowed; must be shape=share"),
        ("4x4x4=nan", "'4x4x4=nan' is not allowed; must be shape=share"),
        ("4x4x4=1,4x4x4=2", "4x4x4 is given twice; leave one of them out"),
        ("4x4x5=1", "shape 4x4x5: sides must be multiples of 4"),
        ("4x4x4t=1", "shape 4x4x4 cannot be twisted"),
        (
            "4x4x46=1",
            "or the shape one of 1x1x1, 1x1x2, 1x2x2, 2x2x2, 2x2x4, 2x4x4; the nearest legal shape is 4x4x32",
        ),
        (
            "16x16x64=1",
            "the smallest shape takes 256 cubes and the pod has 8; at least one shape must fit",
        ),
        (
            "12x16x16=1",
            "the smallest shape takes 48 cubes and the pod has 8; at least one shape must fit",
        ),
    ],
)
def test_an_invalid_mix_is_an_error_that_names_the_parameter(mix: str, sentence: str) -> None:
    with pytest.raises(InvalidInput, match=rf"workload\.mix.*{re.escape(sentence)}") as raised:
        superpod_config(["pod.cubes=8", f"workload.mix={mix}"])
    assert "\n" not in str(raised.value)


def test_a_shape_that_is_larger_than_any_pod_is_left_out_as_one_that_is_larger_than_this() -> None:
    config = superpod_config(["pod.cubes=8", "workload.mix=4x4x4=1,16x16x64=1,8x16x16t=2,4x8x8=3"])
    wanted = [(kind.shape, kind.share) for kind in mix_for(config.workload.mix, config.pod.cubes)]
    assert wanted == [((4, 4, 4), 0.25), ((4, 8, 8), 0.75)]
