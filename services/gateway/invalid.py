"""What is said of a value that may not be: its field, what it was and what is wrong with it."""

from collections.abc import Mapping, Sequence
from typing import Any

SHOWN_MAX = 120
"""Characters of a refused value that are repeated in the sentence."""


def invalid_sentence(errors: Sequence[Mapping[str, Any]]) -> str:
    """The first of pydantic's complaints, with field and value."""
    first = errors[0]
    if first["type"] == "json_invalid":
        return f"body: not JSON: {first.get('ctx', {}).get('error', 'unreadable')}"
    place = [str(part) for part in first["loc"] if part not in ("body", "query", "path", "header")]
    if not place and first["type"] != "missing":
        return "body: not a JSON object (its Content-Type must be application/json)"
    field = short(".".join(place)) or "body"
    if first["type"] == "missing":
        return f"{field}: missing"
    value = first.get("input")
    plain = isinstance(value, str | int | float | bool | type(None))
    shown = short(repr(value)) if plain else type(value).__name__
    if first["type"] == "extra_forbidden":
        return f"{field} {shown}: no such field"
    return f"{field} {shown}: {first['msg'][:1].lower()}{first['msg'][1:]}"


def short(text: str) -> str:
    """The text, cut where it is longer than anybody would read."""
    return text if len(text) <= SHOWN_MAX else f"{text[:SHOWN_MAX]}…"
