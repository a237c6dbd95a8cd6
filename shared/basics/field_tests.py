"""The form of tests of a field: `state=down`, `chips>512`, `state in [up, down]`. The twin knows what fields
and values mean. Every command imports this module, so it imports nothing slow."""

import re
from dataclasses import dataclass

from shared.basics.errors import InvalidInput
from shared.basics.spelling import truncated

EQUAL, UNEQUAL = ("=", "=="), "!="
TEST_FORMS = "FIELD=VALUE, such as state=down, FIELD!=VALUE, FIELD>NUMBER or 'FIELD in [A, B]'"
_TEST = re.compile(r"\s*([A-Za-z][A-Za-z0-9_.-]*)\s*(==|!=|<=|>=|=|<|>)(.*)", re.DOTALL)
_IN_LIST = re.compile(r"\s*([A-Za-z][A-Za-z0-9_.-]*)\s+in\s*\[([^\[\]]*)\]\s*")


@dataclass(frozen=True, slots=True)
class FieldTest:
    """A test as written: a field, an operator (`in` for a list), and values."""

    text: str
    field: str
    sign: str
    values: tuple[str, ...]


def split_test(text: str) -> FieldTest:
    """Split `FIELD=VALUE`, also with ==, !=, <, <=, > and >=, or `FIELD in [A, B]`. Quotes around a value are
    left out. Raise InvalidInput for another form."""
    if (chosen := _IN_LIST.fullmatch(text)) is not None:
        return FieldTest(text, chosen[1], "in", tuple(_unquoted(value) for value in chosen[2].split(",")))
    match = _TEST.fullmatch(text)
    if match is None:
        raise InvalidInput(f"where {truncated(repr(text))}: must be {TEST_FORMS}")
    return FieldTest(text, match[1], match[2], (_unquoted(match[3]),))


def _unquoted(value: str) -> str:
    text = value.strip()
    return text[1:-1] if len(text) >= 2 and text[0] == text[-1] and text[0] in "'\"" else text
