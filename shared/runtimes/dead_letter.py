"""How a line that nobody can read is kept, the same in every runtime."""

import hashlib

LINE_KEPT = 2_048
"""Bytes of the line that are kept."""
ERROR_KEPT = 1_024
"""Characters of the sentence that are kept: it may quote the line."""


def letter_of(origin: str, error: str, line: bytes) -> dict[str, object]:
    """The fields {origin, error, line}. Of a long line only the beginning is kept, and of the whole line its
    length in bytes and its SHA-256: {line_bytes, line_sha256}. At most about 20 KB as JSON."""
    letter: dict[str, object] = {
        "origin": origin,
        "error": error if len(error) <= ERROR_KEPT else f"{error[:ERROR_KEPT]}…",
        "line": line[:LINE_KEPT].decode("utf-8", "backslashreplace"),
    }
    if len(line) > LINE_KEPT:
        letter |= {"line_bytes": len(line), "line_sha256": hashlib.sha256(line).hexdigest()}
    return letter
