"""Queries must answer at once, Python's start included: what is slow to import stays out of them."""

import subprocess
import sys

import pytest

SLOW = ("numpy", "pydantic", "fastapi", "rich", "pyarrow", "yaml", "redis", "uvicorn", "typer")


@pytest.mark.parametrize("module", ["look", "act"])
def test_queries_and_requests_import_nothing_slow(module: str) -> None:
    code = f"import sys, ops.cli.main, ops.cli.{module}; print([m for m in {SLOW!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_root_knows_every_command_and_imports_none_of_them() -> None:
    code = (
        "import sys\nfrom ops.cli.main import COMMANDS, root\n"
        "print([m for m in sys.modules if m in ('ops.cli.look', 'ops.cli.act', 'ops.cli.run')])\n"
        "import click\nctx = click.Context(root)\n"
        "print(all(root.get_command(ctx, name).name for name in COMMANDS))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:2] == ["[]", "True"]
