"""Tables are laid out for the terminal unless a file gets them."""

import pytest

from ops.cli.common.param_types import OutFileParam
from ops.cli.common.table_options import OUTPUT, take_table_style
from ops.cli.main import root
from tests.support.commands import leaf, leaves


def test_the_parameter_out_is_a_file_that_gets_the_table() -> None:
    """A folder of results has another name, so that the table on the terminal still fits it."""
    commands = [{param.name: param for param in leaf(root, path).params} for path in leaves(root)]
    types = [params["out"].type for params in commands if OUTPUT in params and "out" in params]
    assert types
    assert [one for one in types if not isinstance(one, OutFileParam)] == []


@pytest.mark.parametrize(
    ("params", "on_terminal"),
    [({}, True), ({"out": None}, True), ({"results_folder": "mine"}, True), ({"out": "mine.csv"}, False)],
)
def test_a_table_fits_the_terminal_unless_a_file_gets_it(
    params: dict[str, object], on_terminal: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ops.cli.common.table_options.is_terminal", lambda: True)
    assert take_table_style({OUTPUT: "table", **params}).on_terminal is on_terminal
