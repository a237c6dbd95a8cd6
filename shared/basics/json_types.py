"""Types of JSON whose shape is not known."""

from typing import TypeAlias, Union

JsonValue: TypeAlias = Union[bool, int, float, str, list["JsonValue"], "JsonObject", None]
"""Any JSON value."""
JsonObject: TypeAlias = dict[str, JsonValue]
"""A JSON object whose fields are not known: for content that is only passed on, merged or printed. An object
with known fields has a model instead."""
