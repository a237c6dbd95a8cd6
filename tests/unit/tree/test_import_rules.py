"""Every import rule holds, and each can fail: a copy of the tree with one import too many breaks it."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.tree.tidy import LIBRARY, ROOT

LAYERS, SERVICES, RUNTIMES, PURE = "layers", "services", "runtimes", "pure"

BROKEN_BY = [
    (LAYERS, "schemas/names.py", "import shared.units"),
    (LAYERS, "shared/runtimes/embedded/twin.py", "from services import fleet"),
    (LAYERS, "services/gateway/__init__.py", "from ops import lab"),
    (SERVICES, "services/cubes/logic.py", "from services.ocs import state"),
    (SERVICES, "services/gateway/__init__.py", "import services.scheduler.logic"),
    (SERVICES, "services/workload/state.py", "from services import fleet"),
    (SERVICES, "services/dcn/__init__.py", '"""A service that no rule names."""'),
    (RUNTIMES, "shared/runtimes/lab.py", "from shared.embedded import twin"),
    (RUNTIMES, "shared/engine/dispatch.py", "from shared import fabric"),
    (PURE, "services/cubes/verdict.py", "from datetime import datetime"),
    (PURE, "services/failures/hazards.py", "import random"),
    (PURE, "services/ocs/logic.py", "import time"),
    (PURE, "services/repairs/state.py", "import os.path"),
    (PURE, "services/scheduler/state.py", "def load():\n    from pathlib import Path"),
    (PURE, "services/transceivers/service.py", "from redis import Redis"),
    (PURE, "services/workload/mix.py", "import socket, threading"),
    (PURE, "shared/models/superpod/wiring.py", "import uuid"),
    (PURE, "schemas/config.py", "import io"),
    (PURE, "services/ocs/state.py", "from shared.log import indexed"),
]


def lint(tree: Path, contract: str) -> tuple[int, str]:
    """Exit code and output of the import linter for one contract."""
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache", "--contract", contract]
    done = subprocess.run(command, cwd=tree, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of what the rules are about."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for folder in (*LIBRARY, "ops/"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


@pytest.mark.parametrize("contract", [LAYERS, SERVICES, RUNTIMES, PURE])
def test_the_tree_keeps_every_rule(tree: Path, contract: str) -> None:
    code, output = lint(tree, contract)
    assert code == 0, output
    assert "1 kept, 0 broken" in output


@pytest.mark.parametrize(("contract", "path", "line"), BROKEN_BY)
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
