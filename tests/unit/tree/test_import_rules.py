"""Every import rule passes, and each can fail: a copy of the tree with one additional import breaks it."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.seeds import rotating
from tests.unit.tree.tidy import LIBRARY, ROOT

LAYERS, SERVICES, ROOMS, FRAME, WORLD = "layers", "services", "rooms", "frame", "world"
MODELS, ENGINE, RUNTIMES, OPS = "models", "engine", "runtimes", "ops"
SCHEDULER, GATEWAY, HTTP, READING, WEB = "scheduler", "gateway", "http", "reading", "web"
PRODUCT, PLOTS = "product", "plots"
CONTRACTS = (
    *(LAYERS, SERVICES, ROOMS, FRAME, WORLD, MODELS, ENGINE, RUNTIMES, OPS),
    *(SCHEDULER, GATEWAY, HTTP, READING, WEB, PRODUCT, PLOTS),
)

BROKEN_BY = [
    (LAYERS, "schemas/names.py", "import shared.basics.units"),
    (LAYERS, "shared/runtimes/embedded/twin_loop.py", "from services import fabric_kinds"),
    (LAYERS, "services/gateway/__init__.py", "from ops.lab import run"),
    (LAYERS, "ops/lab/run.py", "import tools.bench"),
    (PRODUCT, "ops/lab/run.py", "from tests.soak import run"),
    (SERVICES, "services/cubes/logic.py", "from services.ocs import state"),
    (SERVICES, "services/gateway/__init__.py", "import services.scheduler.cycle"),
    (SERVICES, "services/workload/state.py", "from services import fabric_kinds"),
    (SERVICES, "services/dcn/__init__.py", '"""A service that no rule names."""'),
    (
        GATEWAY,
        "services/gateway/requests/operator_requests.py",
        "from services.gateway.http import responses",
    ),
    (GATEWAY, "services/gateway/runtime_ports.py", "from services.gateway.resources import lookup"),
    (GATEWAY, "services/gateway/attic.py", '"""A module that no rule names."""'),
    (SCHEDULER, "services/scheduler/state.py", "from services.scheduler import cycle"),
    (SCHEDULER, "services/scheduler/placement/__init__.py", "from services.scheduler import queue"),
    (SCHEDULER, "services/scheduler/attic.py", '"""A module that no rule names."""'),
    (HTTP, "services/gateway/http/responses.py", "from services.gateway.http import middleware"),
    (HTTP, "services/gateway/http/attic.py", '"""A module that no rule names."""'),
    (READING, "services/gateway/resources/lookup.py", "from shared.models.optics import palomar"),
    (
        READING,
        "services/gateway/resources/related.py",
        "def ways():\n    import shared.models.topology.graph",
    ),
    (READING, "services/gateway/http/app.py", "import shared.models.availability"),
    (WEB, "services/gateway/resources/lookup.py", "from fastapi import Response"),
    (WEB, "services/gateway/log/history.py", "def serve():\n    import sse_starlette"),
    (WEB, "services/gateway/attic.py", "import starlette.responses"),
    (WEB, "services/ocs/timers.py", "import uvicorn"),
    (ROOMS, "shared/engine/dispatch.py", "from shared.storage import store"),
    (ROOMS, "shared/storage/store/state_store.py", "import shared.runtimes.simulated_clock"),
    (ROOMS, "shared/basics/units.py", "from shared.engine import state"),
    (ROOMS, "shared/attic/__init__.py", '"""A room that no rule names."""'),
    (FRAME, "shared/storage/log/indexed_log.py", "from shared.models.superpod import wiring"),
    (FRAME, "shared/runtimes/lab.py", "def load():\n    import shared.models.assumptions"),
    (WORLD, "shared/models/optics/link_design.py", "from shared.engine import service"),
    (WORLD, "shared/models/superpod/shapes.py", "from shared.storage import store"),
    (MODELS, "shared/models/topology/graph.py", "from shared.models.optics import link_design"),
    (MODELS, "shared/models/superpod/wiring.py", "from shared.models.topology import graph"),
    (MODELS, "shared/models/plant/plant_format.py", "from shared.models import plant_graph"),
    (MODELS, "shared/models/plant/naming.py", "from shared.models.superpod import wiring"),
    (ENGINE, "shared/engine/dispatch.py", "from shared.engine import site"),
    (RUNTIMES, "shared/runtimes/lab.py", "from shared.runtimes.embedded import twin"),
    (RUNTIMES, "shared/runtimes/live/live_clock.py", "import shared.runtimes.lab"),
    (OPS, "ops/models/optics/link_report.py", "from ops.cli import output"),
    (OPS, "ops/reproduce/claim_tables.py", "def table():\n    import ops.cli.common.options"),
    (OPS, "ops/report/tables.py", "from ops.lab import run"),
    (OPS, "ops/report/yaml_writer.py", "import ops.client.http_client"),
    (OPS, "ops/live/status.py", "from ops.servers import both"),
    (OPS, "ops/twin/up.py", "from ops.live import settings"),
    (PLOTS, "ops/report/html_shell.py", "def page():\n    import plotly"),
    (PLOTS, "ops/reproduce/pods/availability.py", "from ops.report import plots"),
    (OPS, "ops/attic/__init__.py", '"""A room that no rule names."""'),
]


def lint(tree: Path, *contracts: str) -> tuple[int, str]:
    """Exit code and output of the import linter for some contracts, or for all."""
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"]
    command += [word for contract in contracts for word in ("--contract", contract)]
    done = subprocess.run(command, cwd=tree, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of the folders that the rules check."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for folder in (*LIBRARY, "ops/", "tools/"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def test_the_tree_keeps_every_rule(tree: Path) -> None:
    code, output = lint(tree)
    assert code == 0, output
    assert f"{len(CONTRACTS)} kept, 0 broken" in output


@pytest.mark.parametrize(("contract", "path", "line"), rotating(BROKEN_BY, "analyses a copy of the tree"))
def test_one_import_too_many_breaks_the_rule(tree: Path, contract: str, path: str, line: str) -> None:
    module = tree / path
    module.parent.mkdir(exist_ok=True)
    with module.open("a") as file:
        file.write(f"\n{line}\n")
    code, output = lint(tree, contract)
    assert code == 1, output
    assert "0 kept, 1 broken" in output


def test_every_contract_is_tried() -> None:
    declared = re.findall(r'^id = "(\w+)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert sorted(declared) == sorted({contract for contract, _, _ in BROKEN_BY})
