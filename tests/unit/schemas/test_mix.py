"""Mixes as people write them."""

import re

import pytest

from ops.common.configuration import settings
from schemas.mix import mix_shares
from shared.basics.errors import InvalidInput


def test_shapes_have_their_shares_in_the_order_of_the_text() -> None:
    assert mix_shares("") == ()
    assert mix_shares("4x4x4=14, 4x4x8t=16.5,4x4x8=1") == (
        ((4, 4, 4), False, 14.0),
        ((4, 4, 8), True, 16.5),
        ((4, 4, 8), False, 1.0),
    )


@pytest.mark.parametrize(
    ("mix", "sentence"),
    [
        ("4x4=1", "'4x4=1' is not allowed; allowed: shape=share with a share above 0, as 4x4x4=14 or"),
        ("4x4x4", "'4x4x4' is not allowed; allowed: shape=share"),
        ("4x4x4=0", "'4x4x4=0' is not allowed; allowed: shape=share with a share above 0"),
        ("4x4x4=-1", "'4x4x4=-1' is not allowed; allowed: shape=share"),
        ("4x4x4=nan", "'4x4x4=nan' is not allowed; allowed: shape=share"),
        ("4x4x4=1,4x4x4=2", "4x4x4 is given twice; leave one of them out"),
        ("4x4x5=1", "shape 4x4x5: sides must be multiples of 4"),
        ("4x4x4t=1", "shape 4x4x4 cannot be twisted"),
        (
            "12x16x16=1",
            "the smallest shape takes 48 cubes and the pod has 8; allowed: shapes of which one fits",
        ),
    ],
)
def test_what_is_no_mix_is_one_sentence_that_names_the_parameter(mix: str, sentence: str) -> None:
    with pytest.raises(InvalidInput, match=rf"workload\.mix.*{re.escape(sentence)}") as raised:
        settings(["pod.cubes=8", f"workload.mix={mix}"])
    assert "\n" not in str(raised.value)
