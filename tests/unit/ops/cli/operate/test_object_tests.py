"""`wait --for`: the tests of fields that `get --where` and `bisect` take, and words for states."""

import click
import pytest

from ops.cli.operate.wait import object_test
from schemas.resource_kinds import FABRICS, SLICES

NAME = "pod-0/slice-3"
OF = f"slices.{NAME}"


@pytest.mark.parametrize(
    ("wanted", "condition"),
    [
        ("running", f'{OF}.state == "running"'),
        (" running ", f'{OF}.state == "running"'),
        ("state=running", f'{OF}.state == "running"'),
        ("state==running", f'{OF}.state == "running"'),
        ("state != queued", f'{OF}.state != "queued"'),
        ("chips>=64", f'{OF}.chips >= "64"'),
        ("CHIPS-USED < 3", f'{OF}.chips_used < "3"'),
        ("owner='team 7'", f'{OF}.owner == "team 7"'),
        ("state in [running, degraded]", f'{OF}.state in ["running", "degraded"]'),
        ("state in[running]", f'{OF}.state in ["running"]'),
        ("exists", f"{OF} exists"),
        ("absent", f"{OF} absent"),
    ],
)
def test_a_test_is_that_of_a_condition(wanted: str, condition: str) -> None:
    assert object_test(SLICES, NAME, wanted).condition == condition


def test_the_states_of_a_fabric_are_tests_of_its_fields() -> None:
    assert object_test(FABRICS, "pod-0", "retired").condition == "fabrics.pod-0.retired_us != null"


@pytest.mark.parametrize("wanted", ["", " ", "= running", "state in [a, [b]]", "<3"])
def test_another_form_is_refused_with_all_forms(wanted: str) -> None:
    with pytest.raises(click.UsageError, match=r"must be a state, FIELD=VALUE, .* exists or absent") as found:
        object_test(SLICES, NAME, wanted)
    assert repr(wanted) in str(found.value)
