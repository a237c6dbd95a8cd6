"""A drill document as read from its file: values that know their line and field.

YAML and JSON give the same values. Each error names the file, the line and the field.
"""

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ops.report.safe_text import dotted, quoted
from ops.sites.yaml_reader import YamlLines, parse_yaml, read_text_file
from shared.basics.checks import closest_match_hint
from shared.basics.errors import InvalidInput
from shared.basics.parsing import is_padded_duration, parse_duration_s
from shared.basics.units import US_PER_S

DURATION_ALLOWED = "a duration such as 30s, 15m, 2h or 1d12h"
_SURROGATES = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}")
"""A character beyond U+FFFF in JSON; YAML reads the two halves as two characters."""


@dataclass(frozen=True, slots=True)
class DocumentText:
    """The origin of values: the name of the file, and the lines of its values."""

    name: str
    lines: YamlLines


@dataclass(frozen=True, slots=True)
class Field:
    """A value of a document with its place: keys and list indices from the outside in."""

    document: DocumentText
    place: tuple[object, ...]
    raw: object

    # --- errors ---------------------------------------------------------------------------------------------

    def error(self, sentence: str) -> InvalidInput:
        """The error about this value: file, line, field, and the sentence."""
        return self._error_at(self.place, sentence)

    def _error_at(self, place: tuple[object, ...], sentence: str) -> InvalidInput:
        known = place
        while known and known not in self.document.lines:
            known = known[:-1]
        line = self.document.lines.get(known, 1)
        field = f"{dotted(*place)}: " if place else ""
        return InvalidInput(f"{self.document.name}: line {line}: {field}{sentence}")

    def refused(self, allowed: str) -> InvalidInput:
        """The error for a value that is not allowed."""
        return self.error(f"{_shown(self.raw)} is not allowed; must be {allowed}")

    # --- parts ----------------------------------------------------------------------------------------------

    def child(self, key: object, raw: object) -> "Field":
        """A value inside this one."""
        return replace(self, place=(*self.place, key), raw=raw)

    def with_raw(self, raw: object) -> "Field":
        """Another value at the same place."""
        return replace(self, raw=raw)

    def mapping(self) -> dict[str, "Field"]:
        """The fields of a mapping with any keys."""
        if not isinstance(self.raw, dict):
            raise self.refused("a mapping of names to values")
        return {key: self.child(key, value) for key, value in self.raw.items()}

    def fields(
        self,
        allowed: Collection[str],
        required: Sequence[str] = (),
        refused: Mapping[str, str] | None = None,
        what: str = "field",
    ) -> dict[str, "Field"]:
        """The fields of a mapping with known keys. Raises InvalidInput for an unknown key, with the nearest
        known one, for a missing one, and for one of `refused`, with its sentence."""
        if not isinstance(self.raw, dict):
            raise self.refused(f"a mapping with {', '.join(allowed)}")
        found = self.mapping()
        for key, value in found.items():
            if refused and key in refused:
                raise value.error(refused[key])
            if key not in allowed:
                known = ", ".join(allowed)
                must = f"must be one of {known}" if known else "must be absent: there is none"
                raise value.error(f"no such {what}; {must}{closest_match_hint(key, allowed)}")
        for key in required:
            if key not in found:
                raise self._error_at((*self.place, key), f"is missing; the {what} is required")
        return found

    def items(self, what: str, least: int = 0, most: int = 1_000) -> list["Field"]:
        """The values of a list of `least` to `most` ones."""
        if not isinstance(self.raw, list):
            raise self.refused(f"a list of {what}")
        if not least <= len(self.raw) <= most:
            allowed = str(least) if least == most else f"{least} to {most:,}"
            raise self.error(f"has {len(self.raw)} {what}; must have {allowed}")
        return [self.child(number, value) for number, value in enumerate(self.raw)]

    # --- values ---------------------------------------------------------------------------------------------

    def text(self, allowed: str = "text", most: int = 2_000) -> str:
        """A text that is not empty."""
        if not isinstance(self.raw, str) or not self.raw.strip():
            raise self.refused(allowed)
        if len(self.raw) > most:
            raise self.error(f"has {len(self.raw):,} characters; must have at most {most:,}")
        return self.raw

    def word(self, allowed: Collection[str]) -> str:
        """One of a few words."""
        if not isinstance(self.raw, str) or self.raw not in allowed:
            hint = closest_match_hint(self.raw, allowed) if isinstance(self.raw, str) else ""
            raise self.refused(f"{'one of ' if len(allowed) > 1 else ''}{', '.join(allowed)}{hint}")
        return self.raw

    def flag(self) -> bool:
        """True or false."""
        if not isinstance(self.raw, bool):
            raise self.refused("true or false")
        return self.raw

    def whole(self, least: int, most: int) -> int:
        """A whole number in a range."""
        if isinstance(self.raw, bool) or not isinstance(self.raw, int) or not least <= self.raw <= most:
            allowed = f"a whole number between {least:,} and {most:,}"
            raise self.refused(str(least) if least == most else allowed)
        return self.raw

    def number(self, least: float, most: float) -> float:
        """A number in a range."""
        raw = self.raw
        # The comparison is also false for NaN.
        if isinstance(raw, bool) or not isinstance(raw, int | float) or not least <= raw <= most:
            raise self.refused(f"a number between {least:,.15g} and {most:,.15g}")
        return float(raw)

    def duration_us(self, least_s: int = 1) -> int:
        """A duration of at least `least_s` seconds, in microseconds."""
        seconds = parse_duration_s(self.raw) if isinstance(self.raw, str) else None
        if seconds is None:
            padded = isinstance(self.raw, str) and is_padded_duration(self.raw)
            raise self.refused(f"{DURATION_ALLOWED}{', without a zero in front' if padded else ''}")
        if seconds < least_s:
            raise self.refused(f"{DURATION_ALLOWED}, at least {least_s}s")
        return seconds * US_PER_S


def _shown(raw: object) -> str:
    if isinstance(raw, dict):
        return "a mapping"
    return "a list" if isinstance(raw, list) else quoted(raw)


def read_document(path: Path) -> Field:
    """The whole of a document in YAML or, if its name ends in .json, in JSON, of at most 1 MB. Raises
    InvalidInput that names the file and the line."""
    try:
        text = read_text_file(path)
    except InvalidInput as error:
        raise InvalidInput(f"{path}: {error}") from None
    return parse_document(text, str(path), is_json=path.suffix.lower() == ".json")


def parse_document(text: str, name: str, *, is_json: bool = False) -> Field:
    """The whole of a document from its text."""
    if is_json:
        _check_json(text, name)
        text = _SURROGATES.sub(lambda match: json.loads(f'"{match[0]}"'), text.replace("\t", " "))
    try:
        raw, lines = parse_yaml(text)
    except InvalidInput as error:
        raise InvalidInput(f"{name}: {error}") from None
    if not isinstance(raw, dict):
        raise InvalidInput(f"{name}: line 1: must be a drill: a mapping with title, description and method")
    return Field(DocumentText(name, lines), (), raw)


def _check_json(text: str, name: str) -> None:
    """Raise InvalidInput unless the text is JSON; YAML accepts more."""
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        raise InvalidInput(f"{name}: line {error.lineno}: not JSON: {error.msg}") from None
    except (RecursionError, ValueError):
        raise InvalidInput(f"{name}: line 1: not JSON: nested too deeply, or a number is too long") from None
