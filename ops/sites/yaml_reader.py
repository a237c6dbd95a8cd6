"""A strict reader of YAML 1.2, whose errors name the line.

A file of a few hundred bytes can contain itself, or expand to gigabytes. So aliases, anchors and tags are
refused, and values are built from the parser's events, never from its nodes. Keys are unique text. Words such
as yes and no, dates, and numbers with colons or underscores are text. Numbers with a zero in front are
refused: YAML 1.1 reads 010 as eight, and YAML 1.2 as ten.
"""

import math
import re
from pathlib import Path
from typing import Any

import yaml

from ops.local.input_files import read_input
from ops.report.safe_text import dotted, quoted, shortened
from schemas.limits import COUNT_MAX
from shared.basics.errors import InvalidInput
from shared.basics.value_words import has_zero_in_front
from shared.storage.files.own_files import read_own

YamlLines = dict[tuple[object, ...], int]
"""Path of a value, as keys and list indices from the outside in → its line, from 1."""
BYTES_MAX = 2**20
DEPTH_MAX = 20
DIGITS_MAX = 40
"""Maximum number of digits of a number: Python takes long to parse longer ones."""
WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
"""Plain words that are not text in YAML 1.2. Others are, also yes, no, on and off."""
_WHOLE = re.compile(r"[-+]?[0-9]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_NOT_FINITE = {".inf": math.inf, "-.inf": -math.inf, ".nan": math.nan}
SURROGATE = re.compile("[\ud800-\udfff]")
"""Characters that YAML escapes can express but UTF-8 cannot."""


def read_yaml(path: Path) -> object:
    """Read the single document of a YAML file of at most 1 MB; None for an empty file.

    Values are dicts with text keys, lists, text, 64-bit integers, floats, booleans and None. Raises
    InvalidInput that names the line.
    """
    return read_yaml_lines(path)[0]


def read_own_yaml(path: Path) -> object:
    """`read_yaml` of a file that no one named, in a folder that another user may have prepared. Raises
    InvalidInput also for a link."""
    try:
        text = read_own(path, BYTES_MAX).decode()
    except OSError as error:
        raise InvalidInput(error.strerror or str(error)) from None
    except UnicodeDecodeError:
        raise InvalidInput("not UTF-8 text") from None
    return parse_yaml(text)[0]


def read_yaml_lines(path: Path) -> tuple[object, YamlLines]:
    """`read_yaml`, with the line at which each value begins."""
    return parse_yaml(read_text_file(path))


def parse_yaml(text: str) -> tuple[object, YamlLines]:
    """(the single document of a YAML text, the line at which each value begins). Raises InvalidInput that
    names the line."""
    try:
        values = _Values(text)
        return values.document(), values.lines
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 1}: " if mark is not None else ""
        problem = getattr(error, "problem", None) or getattr(error, "reason", None) or error
        raise InvalidInput(f"{where}not YAML: {shortened(str(problem), 120)}") from None
    except (ValueError, OverflowError):  # PyYAML does not check these numbers
        raise InvalidInput("not YAML: the number of an escape (\\U…) or of %YAML is too large") from None


def read_text_file(path: Path) -> str:
    """Read a text file of at most 1 MB. Raises InvalidInput for other files: a pipe or a device might never
    end."""
    try:
        return read_input(path, BYTES_MAX, must_be="a text file").decode()
    except OSError as error:
        raise InvalidInput(error.strerror or str(error)) from None
    except UnicodeDecodeError:
        raise InvalidInput("not UTF-8 text") from None


class _Values(yaml.SafeLoader):
    """Builds values from the events of PyYAML's parser, with the rules of YAML 1.2 for plain words."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.lines: YamlLines = {}

    def document(self) -> object:
        self._next()  # the start of the stream
        if isinstance(self._ahead(), yaml.StreamEndEvent):
            return None
        self._next()  # the start of the document
        found = self._value()
        self._next()  # the end of the document
        if not isinstance(event := self._next(), yaml.StreamEndEvent):
            raise _refused(event, "a second document; must be only one")
        return found

    def _next(self) -> Any:
        return self.get_event()  # type: ignore[no-untyped-call]  # missing in PyYAML's stubs

    def _ahead(self) -> Any:
        return self.peek_event()  # type: ignore[no-untyped-call]  # as above

    def _value(self, *place: object) -> object:
        event: Any = self._next()
        if isinstance(event, yaml.AliasEvent):
            raise _refused(event, f"the alias *{shortened(str(event.anchor))}; write the values out")
        if event.anchor is not None:
            raise _refused(event, f"the anchor &{shortened(str(event.anchor))}; write the values out")
        if event.tag is not None:
            raise _refused(event, f"the tag {quoted(event.tag)}; must be a value without a tag")
        self.lines.setdefault(place, event.start_mark.line + 1)
        if len(place) > DEPTH_MAX:
            raise _refused(event, f"nested deeper than {DEPTH_MAX} levels, the maximum")
        if isinstance(event, yaml.MappingStartEvent):
            return self._mapping(*place)
        if isinstance(event, yaml.SequenceStartEvent):
            return self._sequence(*place)
        return self._scalar(event, *place)

    def _mapping(self, *place: object) -> dict[str, object]:
        found: dict[str, object] = {}
        lines: dict[str, int] = {}
        while not isinstance(event := self._ahead(), yaml.MappingEndEvent):
            if not isinstance(event, yaml.ScalarEvent) or event.anchor is not None or event.tag is not None:
                raise _refused(event, "a key that is not plain text")
            key_event = self._next()
            key, line = key_event.value, key_event.start_mark.line + 1
            if SURROGATE.search(key):
                raise _refused(event, f"{quoted(key)} is not valid Unicode text")
            if key in found:
                name = dotted(*place, key)
                raise _refused(event, f"{name}: given twice, first in line {lines[key]}; keys are unique")
            lines[key] = self.lines[*place, key] = line
            found[key] = self._value(*place, key)
        self._next()
        return found

    def _sequence(self, *place: object) -> list[object]:
        found: list[object] = []
        while not isinstance(self._ahead(), yaml.SequenceEndEvent):
            found.append(self._value(*place, len(found)))
        self._next()
        return found

    def _scalar(self, event: Any, *place: object) -> object:
        text = event.value
        if SURROGATE.search(text):
            raise _refused(event, f"{quoted(text)} is not valid Unicode text")
        if not event.implicit[0]:  # in quotes, or a block of text
            return text
        if text in WORDS:
            return WORDS[text]
        if has_zero_in_front(text):
            allowed = "a number without a zero in front, or text in quotes"
            raise _refused(event, f"{_label(*place)}{shortened(text)} is not allowed; must be {allowed}")
        if _WHOLE.fullmatch(text):
            return self._whole(event, text, *place)
        if _FLOAT.fullmatch(text):
            return float(text)
        return _NOT_FINITE.get(text.lower().lstrip("+"), text)

    def _whole(self, event: Any, text: str, *place: object) -> int:
        number = int(text, 16 if "x" in text else 10) if len(text) <= DIGITS_MAX else None
        if number is None or not -COUNT_MAX <= number <= COUNT_MAX:
            allowed = f"a whole number of 64 bits, up to {COUNT_MAX:,}"
            raise _refused(event, f"{_label(*place)}{shortened(text)} is not allowed; must be {allowed}")
        return number


def _label(*place: object) -> str:
    return f"{dotted(*place)}: " if place else ""


def _refused(event: Any, why: str) -> InvalidInput:
    return InvalidInput(f"line {event.start_mark.line + 1}: {why}")
