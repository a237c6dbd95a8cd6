"""The version that every result carries, and what tells one build of the twin from another."""

import hashlib
from functools import cache
from importlib.metadata import version
from pathlib import Path

VERSION = version("lightwave-twin")
FOLD_CODE = ("schemas", "services", "shared")
"""What decides how a log is folded."""


def software_version() -> str:
    """The version, and the build of it."""
    return f"{VERSION}+{code_sha256()[:8]}"


@cache
def code_sha256(parts: tuple[str, ...] = FOLD_CODE) -> str:
    """SHA-256 over the sources of what decides how a log is folded, or of other folders: two builds may carry
    one version."""
    root = Path(__file__).parents[2]
    found = hashlib.sha256()
    for path in sorted(path for part in parts for path in (root / part).rglob("*.py")):
        found.update(f"{path.relative_to(root)}\n".encode() + path.read_bytes())
    return found.hexdigest()
