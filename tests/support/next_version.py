"""Makes another version of the twin's software: a copy of its sources with changed rules, and a changed state
layout with its migration."""

import os
import shutil
import sys
from pathlib import Path

from services.cubes.state import CubesState
from shared.engine.code_version import RULES
from shared.engine.state_layout import state_layout

ROOT = Path(__file__).parents[2]
PACKAGES = ("ops", "schemas", "services", "shared")

CHANGES = {
    "shared/engine/code_version.py": [(f"RULES = {RULES}\n", f"RULES = {RULES + 1}\n")],
    "services/cubes/logic.py": [
        ("    state.drained[cube] = True\n", "    state.drained[cube] = True\n    state.drains += 1\n"),
        ('reason=f"cube: {name!r} is not drained"', 'reason=f"cube: {name!r} is in use"'),
    ],
    "services/cubes/state.py": [
        ("    draw_seed: int = 0\n", "    draw_seed: int = 0\n    drains: int = 0\n")
    ],
    "services/cubes/service.py": [
        (
            "from shared.engine.service import ",
            (
                "from shared.engine.state_layout import state_layout\n"
                "from shared.engine.service import Migration, "
            ),
        ),
        (
            '    name="cubes",\n',
            f"""    name="cubes",
    migrations=(
        Migration(
            {state_layout(CubesState)!r},
            state_layout(CubesState),
            lambda stored: {{**stored, "drains": b"0"}},
        ),
    ),
""",
        ),
    ],
}
"""File → what stands there, and what stands there in the next version: cubes count their drains, and refuse a
second one in other words."""


def next_version(folder: Path) -> Path:
    """Write the next version into a folder; return the folder."""
    for package in PACKAGES:
        shutil.copytree(
            ROOT / package, folder / package, ignore=shutil.ignore_patterns("__pycache__", "node_modules")
        )
    for name, pairs in CHANGES.items():
        path = folder / name
        text = path.read_text()
        for before, after in pairs:
            assert text.count(before) == 1, f"{name}: does not contain {before!r} exactly once"
            text = text.replace(before, after)
        path.write_text(text)
    return folder


def environment(version: Path) -> dict[str, str]:
    """Return the environment in which to run that version's command line."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("LIGHTWAVE_")}
    return {**kept, "PYTHONPATH": str(version)}


def command(*words: str) -> tuple[str, ...]:
    return (sys.executable, "-P", "-m", "ops.cli", *words)
