"""The version that every result carries, and the digest that identifies a build of the twin."""

import hashlib
from functools import cache
from importlib.metadata import version
from pathlib import Path

VERSION = version("lightwave-twin")
FOLD_CODE = ("schemas", "services", "shared")
"""Folders with the code that determines how a log is folded."""


def software_version() -> str:
    """Return the version and the build."""
    return f"{VERSION}+{code_sha256()[:8]}"


@cache
def code_sha256(parts: tuple[str, ...] = FOLD_CODE) -> str:
    """Return the SHA-256 over the sources that determine how a log is folded, or over other folders. Two
    builds may have the same version."""
    root = Path(__file__).parents[2]
    found = hashlib.sha256()
    for path in sorted(path for part in parts for path in (root / part).rglob("*.py")):
        found.update(f"{path.relative_to(root)}\n".encode() + path.read_bytes())
    return found.hexdigest()
