"""Commands must start fast: the root imports none of them, and none imports slow modules. A process of a live
twin does not import modules that only other processes need.

`test_client.py` checks again after each query has run.
"""

import os
import subprocess
import sys

import pytest

from ops.cli.main import COMMANDS

pytestmark = pytest.mark.integration

SLOW = ("numpy", "pydantic", "fastapi", "orjson", "rich", "pyarrow", "yaml", "redis", "uvicorn", "asyncio")
RUN = (
    *(
        "services.fabric_kinds",
        "services.scheduler.service",
        "ops.experiments.service_run",
        "ops.lab.site_run",
    ),
    *("scipy.stats", "scipy.optimize", "scipy.special", "numba", "fastapi", "joblib", "schemas.api.rows"),
)
"""Modules that take long to import and that only runs need."""


@pytest.mark.parametrize(
    "module",
    sorted({*COMMANDS.values()}),
)
def test_no_command_imports_slow_modules_before_it_runs(module: str) -> None:
    code = f"import sys, ops.cli.main, ops.cli.{module}; print([m for m in {SLOW!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    "module", ["loader", "steadiness", "result_text", "dataset", "sweep_result", "results", "comparison"]
)
def test_what_only_reads_experiments_imports_nothing_that_runs_them(module: str) -> None:
    """`experiment validate`, `status`, `report` and `compare` must start fast."""
    code = f"import sys, ops.experiments.{module}; print([m for m in {RUN!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_root_knows_every_command_and_imports_none_of_them() -> None:
    code = (
        "import sys\nfrom ops.cli.main import COMMANDS, root\n"
        "modules = {f'ops.cli.{module}' for module in COMMANDS.values()}\n"
        "print(sorted(modules & set(sys.modules)))\n"
        "import click\nctx = click.Context(root)\n"
        "print(all(root.get_command(ctx, name).name == name for name in COMMANDS))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["[]", "True"]


@pytest.mark.parametrize("module", ["ops.live.gateway", "ops.live.historian", "ops.live.sequencer"])
def test_only_workers_load_faust(module: str) -> None:
    code = f"import sys, {module}; print([m for m in ('faust', 'aiohttp') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(("given", "then"), [({}, "1"), ({"OPENBLAS_NUM_THREADS": "3"}, "3")])
def test_linear_algebra_has_one_thread_unless_set(given: dict[str, str], then: str) -> None:
    code = (
        "import atexit, os, sys\nfrom ops.cli.main import main\nsys.argv = ['lightwave', '--version']\n"
        "atexit.register(lambda: print(os.environ['OPENBLAS_NUM_THREADS']))\nmain()"
    )
    env = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"} | given
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env)
    assert done.stdout.splitlines()[-1] == then
