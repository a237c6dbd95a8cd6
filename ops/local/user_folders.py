"""The user's own folders, according to the XDG base directory specification."""

import os
from pathlib import Path
from typing import Literal

DEFAULTS = {"state": Path(".local", "state"), "cache": Path(".cache")}


def user_folder(kind: Literal["state", "cache"], name: str) -> Path:
    """Return the folder with this name in the user's state or cache directory."""
    given = os.environ.get(f"XDG_{kind.upper()}_HOME")
    return (Path(given) if given else Path.home() / DEFAULTS[kind]) / name
