"""Makes other versions of the twin's software: copies of its sources with changed rules. The next one has a
changed state layout with its migration; the previous one has no service `drills`."""

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from services.cubes.state import CubesState
from shared.engine.code_version import RULES
from shared.engine.state_layout import state_layout

ROOT = Path(__file__).parents[2]
PACKAGES = ("ops", "schemas", "services", "shared")
Changes = Mapping[str, Sequence[tuple[str, str] | tuple[str, str, int]]]
"""File → (text, its replacement, number of times that the text occurs [1])."""

CHANGES: Changes = {
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
            'Migration("a88f94517f42b001", state_layout(CubesState), dict)',
            f"""Migration("a88f94517f42b001", {state_layout(CubesState)!r}, dict),
        Migration(
            {state_layout(CubesState)!r},
            state_layout(CubesState),
            lambda stored: {{**stored, "drains": b"0"}},
        )""",
        ),
    ],
}
"""File → what stands there, and what stands there in the next version: cubes count their drains, and refuse a
second one in other words."""


WITHOUT_DRILLS: Changes = {
    "shared/engine/code_version.py": [(f"RULES = {RULES}\n", "RULES = 4\n")],
    "services/service_names.py": [('        "drills",\n', "", 2), ('"drills", ', "")],
    "services/fabric_kinds.py": [
        ("DIAGNOSIS, DRILLS, FAILURES", "DIAGNOSIS, FAILURES", 2),
        ("DEMANDS, DRILLS, FAILURES", "DEMANDS, FAILURES"),
    ],
    "services/cubes/state.py": [("    first: int | None\n", "    first: int\n")],
    "services/cubes/service.py": [
        ('    migrations=(Migration("a88f94517f42b001", state_layout(CubesState), dict),),\n', "")
    ],
    "services/failures/state.py": [
        (
            "from dataclasses import dataclass, field, replace",
            "from dataclasses import InitVar, dataclass, field, replace",
        ),
        ("    asked_by: str | None = field", "    asked_by: InitVar[str | None] = field"),
        ("    drill: str | None = field", "    drill: InitVar[str | None] = field"),
        (
            "    leases: dict[str, ParameterLease] = field(default_factory=dict)\n",
            "    @property\n    def leases(self) -> dict[str, ParameterLease]:\n        return {}\n\n",
        ),
    ],
    "services/failures/service.py": [
        ('    migrations=(Migration("d35644271526de3e", state_layout(FailuresState), add_drill),),\n', "")
    ],
}
"""The same for the version of rules 4: it has no service `drills`, and keeps neither who injected a fault nor
its drill, and no leases of parameters. Every silence of hosts has a first one there."""


def next_version(folder: Path) -> Path:
    """Write the next version into a folder; return the folder."""
    return _version(folder, CHANGES)


def version_without_drills(folder: Path) -> Path:
    """Write the version of rules 4 into a folder; return the folder."""
    return _version(folder, WITHOUT_DRILLS)


def _version(folder: Path, changes: Changes) -> Path:
    for package in PACKAGES:
        shutil.copytree(
            ROOT / package, folder / package, ignore=shutil.ignore_patterns("__pycache__", "node_modules")
        )
    for name, rows in changes.items():
        path = folder / name
        text = path.read_text()
        for before, after, *counts in rows:
            (count,) = counts or (1,)
            assert text.count(before) == count, f"{name}: does not contain {before!r} {count} times"
            text = text.replace(before, after)
        path.write_text(text)
    return folder


def environment(version: Path) -> dict[str, str]:
    """Return the environment in which to run that version's command line."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("LIGHTWAVE_")}
    return {**kept, "PYTHONPATH": str(version)}


def command(*words: str) -> tuple[str, ...]:
    return (sys.executable, "-P", "-m", "ops.cli", *words)
