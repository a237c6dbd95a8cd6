"""Types of JSON whose shape the type checker does not know."""

from typing import TypeAlias, Union

JsonValue: TypeAlias = Union["JsonObject", list["JsonValue"], str, int, float, bool, None]
JsonObject: TypeAlias = dict[str, JsonValue]
