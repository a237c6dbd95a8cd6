"""Small files that are whole at any moment."""

from pathlib import Path


def replace_text(path: Path, text: str) -> None:
    """Write a file so that whoever reads it, after a kill as well, finds the old text or the new one, whole.
    OSError if it cannot be written."""
    part = path.with_suffix(".part")
    part.write_text(text)
    part.replace(path)
