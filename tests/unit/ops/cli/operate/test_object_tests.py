"""`wait --for`: the tests of fields that `get --where` and `bisect` take, and words for states."""

from typing import Any

import click
import pytest

from ops.cli.common.tested_values import shown_value
from ops.cli.operate.wait import object_test
from schemas.resource_kinds import FABRICS, KINDS, SLICES, ResourceKind
from services.gateway.resources import kind_views
from services.gateway.resources.row_fields import RowFields, plain_fields

NAME = "pod-0/slice-3"
OF = f"slices.{NAME}"
VIEWS = (kind_views.FABRICS, *kind_views.OF_PODS, *kind_views.OF_NETWORKS)


@pytest.mark.parametrize(
    ("wanted", "condition"),
    [
        ("running", f'{OF}.state == "running"'),
        (" running ", f'{OF}.state == "running"'),
        ("state=running", f'{OF}.state == "running"'),
        ("state==running", f'{OF}.state == "running"'),
        ("state != queued", f'{OF}.state != "queued"'),
        ("chips>=64", f'{OF}.chips >= "64"'),
        ("CHIPS-USED < 3", f'{OF}.CHIPS-USED < "3"'),
        ("chips_used < 3", f'{OF}.chips_used < "3"'),
        ("CUBES=63/64", f'{OF}.CUBES == "63/64"'),
        ("LEFT=-", f'{OF}.LEFT == "-"'),
        ("owner='team 7'", f'{OF}.owner == "team 7"'),
        ("state in [running, degraded]", f'{OF}.state in ["running", "degraded"]'),
        ("state in[running]", f'{OF}.state in ["running"]'),
        ("exists", f"{OF} exists"),
        ("absent", f"{OF} absent"),
    ],
)
def test_a_test_is_that_of_a_condition(wanted: str, condition: str) -> None:
    assert object_test(SLICES, NAME, wanted).condition == condition


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_every_heading_and_field_is_read_as_in_get_where(kind: ResourceKind[Any]) -> None:
    view = next(one for one in VIEWS if one.kind is kind)
    fields = RowFields(view.row, kind)
    for written in [*(column.heading for column in kind.columns), *plain_fields(view.row)]:
        condition = object_test(kind, NAME, f"{written}=-").condition
        read = condition.removeprefix(f"{kind.word}.{NAME}.").partition(" ")[0]
        meanings = [(one.name, one.is_shown, one.unit) for one in fields.find(written)]
        assert [(one.name, one.is_shown, one.unit) for one in fields.find(read)] == meanings


@pytest.mark.parametrize(
    ("word", "field", "text", "shown"),
    [
        ("slices", "left_us", "5400000000", "1h30m"),
        ("slices", "LEFT", "5400000000", "1h30m"),
        ("slices", "left", "5400000000", "1h30m"),
        ("faults", "LASTED", "5400000000", "1h30m"),
        ("fabrics", "WAIT-P95", "5400000000", "1h30m"),
        ("fabrics", "waits.p95_us", "5400000000", "1h30m"),
        ("fabrics", "TIME", "5400000000", "0d01:30:00"),
        ("fabrics", "now_us", "5400000000", "0d01:30:00"),
        ("cubes", "CHANGED", "5400000000", "0d01:30:00"),
        ("cubes", "changed_us", "5400000000", "0d01:30:00"),
        ("fabrics", "USED", "0.515", "51.5%"),
        ("fabrics", "utilisation_now", "1", "100.00%"),
        ("fabrics", "CUBES", "63/64", "63/64"),
        ("verdicts", "CONFIDENCE", "0.5", "50%"),
        ("rewirings", "use_ppm", "500000", "50.00%"),
        ("links", "ber", "1.234e-09", "1.2e-09"),
        ("slices", "LEFT", "null", "-"),
        ("slices", "chips", "64", "64"),
        ("slices", "twisted", "true", "yes"),
        ("slices", "reason", "needs 2 cubes", "needs 2 cubes"),
    ],
)
def test_values_are_shown_as_in_tables(word: str, field: str, text: str, shown: str) -> None:
    assert shown_value(word, field, text) == shown


def test_the_states_of_a_fabric_are_tests_of_its_fields() -> None:
    assert object_test(FABRICS, "pod-0", "retired").condition == "fabrics.pod-0.retired_us != null"


@pytest.mark.parametrize("wanted", ["", " ", "= running", "state in [a, [b]]", "<3"])
def test_another_form_is_refused_with_all_forms(wanted: str) -> None:
    with pytest.raises(click.UsageError, match=r"must be a state, FIELD=VALUE, .* exists or absent") as found:
        object_test(SLICES, NAME, wanted)
    assert repr(wanted) in str(found.value)
