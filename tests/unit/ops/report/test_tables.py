"""Tables and displayed values."""

import pytest

from ops.report.tables import display_value, text_table


def test_columns_line_up() -> None:
    table = text_table(("NAME", "N", "SET"), [["a", 1, True], ["long-name", None, False], ["b", 0.12345, ""]])
    assert table.splitlines() == [
        "NAME        N       SET",
        "a           1       yes",
        "long-name   -       no",
        "b           0.123   -",
    ]


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0.000"), (0.0004, "0.0004"), (-0.00012345, "-0.00012"), (0.0005, "0.001"), (2e-9, "2e-09")],
)
def test_a_small_number_is_not_shown_as_zero(value: float, text: str) -> None:
    assert text_table(("N",), [[value]]).splitlines()[1] == text


@pytest.mark.parametrize(
    ("field", "value", "text"),
    [
        ("ber", 1.69e-6, "1.7e-06"),
        ("loss_db", 2.3, "2.3000"),
        ("share", 0.25, 0.25),
        ("ber", None, None),
        ("loss_db", 2, 2),
    ],
)
def test_rates_and_losses_have_one_format(field: str, value: object, text: object) -> None:
    assert display_value(field, value) == text
