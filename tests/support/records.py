"""JSON as the twin's client reads it."""

from typing import Any

from ops.client.answers import JsonRecord


def as_record(content: Any) -> Any:
    """Return the same JSON with JsonRecords for its objects."""
    if isinstance(content, dict):
        return JsonRecord({name: as_record(value) for name, value in content.items()})
    return [as_record(item) for item in content] if isinstance(content, list) else content
