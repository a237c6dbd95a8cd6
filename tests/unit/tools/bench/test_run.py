"""`lightwave bench --help`: names what can be measured by itself."""

from typer.testing import CliRunner

from ops.cli.main import app
from tools.bench.run import GROUPS


def test_the_help_names_every_part() -> None:
    told = " ".join(CliRunner().invoke(app, ["bench", "--help"]).stdout.split())
    assert all(f" {name}," in told or f" {name} or " in told or f" {name};" in told for name in GROUPS)
