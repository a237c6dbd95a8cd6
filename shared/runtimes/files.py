"""Files that are a twin's own: whole at any moment, and nobody else's to read."""

import os
from pathlib import Path

PRIVATE = 0o077
"""The mask of a process whose files are its user's alone: a log, a token, the password of a store."""


def replace_text(path: Path, text: str) -> None:
    """Write a file so that whoever reads it, after a kill as well, finds the old text or the new one, whole.
    OSError if it cannot be written."""
    part = path.with_suffix(".part")
    part.unlink(missing_ok=True)
    # Made anew, through no link that somebody may have planted under this name.
    fresh = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(fresh, "w", encoding="utf-8") as file:
        file.write(text)
    part.replace(path)
