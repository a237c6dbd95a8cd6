"""Parameter types: kinds, durations, shapes, speeds, keys and files."""

import math
import os
import re
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ops.report.safe_text import quoted
from schemas.limits import IDEMPOTENCY_KEY_MAX, OWNERS_ALLOWED, SPEED_MAX
from schemas.resource_kinds import KIND_BY_NAME_PREFIX, KINDS, find_kind
from shared.basics.errors import InvalidInput
from shared.basics.field_tests import TEST_FORMS, split_test
from shared.basics.parsing import is_owner_name, is_padded_duration, parse_duration_s, parse_sides
from shared.basics.spelling import closest_match, closest_matches
from shared.basics.time_grammar import (
    POINTS_ALLOWED,
    TimeAhead,
    invalid_time_text,
    read_time,
    read_time_ahead,
    time_ahead_problem,
)
from shared.basics.value_words import read_number

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


LISTED_MAX = 30
"""Allowed words up to which an error lists all of them next to the most similar ones."""
SIMILAR_MAX = 3
"""Similar words that an error suggests."""


_NAME_FORM = re.compile(r"/|-[0-9]")
"""What the name of an object has, and no kind."""


class ChoiceParam(click.ParamType):
    """One of a few words, in any case, with completion and a spelling hint."""

    def __init__(self, name: str, words: Collection[str]) -> None:
        self.name = name
        self.words = words

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        word = self._match(value.lower())
        return word or self.fail(unknown_word_text(self.name, value, self.words), param, ctx)

    def _match(self, word: str) -> str | None:
        return word if word in self.words else None

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> "list[CompletionItem]":
        from click.shell_completion import CompletionItem

        return [CompletionItem(word) for word in self.words if word.startswith(incomplete.lower())]


class KindParam(ChoiceParam):
    """A kind of object: singular or plural, in any case."""

    def __init__(self) -> None:
        super().__init__("kind", tuple(KINDS))

    def _match(self, word: str) -> str | None:
        kind = find_kind(word)
        return kind.word if kind is not None else None


class KindOrNameParam(KindParam):
    """A kind, or a name, which is not converted. With `needs_name_form`, any other word is refused."""

    def __init__(self, *, needs_name_form: bool = False) -> None:
        super().__init__()
        self._needs_name_form = needs_name_form

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if self._needs_name_form and not _NAME_FORM.search(value):
            return super().convert(value, param, ctx)
        return self._match(value.lower()) or value


class MessageTypeParam(click.ParamType):
    """A message type, with completion. The twin checks the type."""

    name = "type"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> "list[CompletionItem]":
        from click.shell_completion import CompletionItem

        from schemas.registry import TYPES

        return [CompletionItem(kind) for kind in TYPES if kind.lower().startswith(incomplete.lower())]


class CrossConnectParam(click.ParamType):
    """Two ports of an OCS, `1A:5B`, or a cross-connect's key, `1A-5B`. Converts to the key."""

    name = "cross-connect"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        key = value.replace(":", "-")
        if not re.fullmatch(r"[1-9][0-9]{0,3}A-[1-9][0-9]{0,3}B", key):
            self.fail(f"{value!r}: must be two ports, one on each side, such as 1A:5B", param, ctx)
        return key


class DurationParam(click.ParamType):
    """A duration: `30s`, `15m`, `2h` or `1d12h`. Converts to seconds. Only with `allow_zero` it may be 0."""

    name = "duration"

    def __init__(self, *, allow_zero: bool = False) -> None:
        self._allow_zero = allow_zero

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        found_s = parse_duration_s(str(value))
        if found_s is None or (found_s == 0 and not self._allow_zero):
            zero, least = ("0s, ", "") if self._allow_zero else ("", "above 0s and ")
            padded = ", without a zero in front" if is_padded_duration(str(value)) else ""
            allowed = f"like {zero}30s, 15m, 2h or 1d12h, {least}up to 100 years{padded}"
            self.fail(f"{str(value)!r} is not a valid duration; must be {allowed}", param, ctx)
        return found_s


class MomentParam(click.ParamType):
    """A past time (`shared.basics.time_grammar`), or a message id. Not converted."""

    name = "time"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> str:
        text = str(value)
        if read_time(text) is None and "/" not in text:
            self.fail(f"{text!r} {invalid_time_text(text, POINTS_ALLOWED)}", param, ctx)
        return text


class TimeAheadParam(click.ParamType):
    """A time ahead: since the twin's start, `3d` or `3d02:15:04`, or from now, `+3h`."""

    name = "time"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> TimeAhead:
        if isinstance(value, TimeAhead):
            return value
        text = str(value)
        meant = read_time_ahead(text)
        if meant is None:
            self.fail(f"{text!r} {time_ahead_problem(text)}", param, ctx)
        return meant


class ShapeParam(click.ParamType):
    """A slice shape, `4x4x8`. Checks only the form; the twin checks whether it fits."""

    name = "shape"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        sides = parse_sides(value)
        if sides is None:
            self.fail(
                f"{value!r} is not a valid shape; must be three sides in chips, such as 4x4x8", param, ctx
            )
        return "x".join(map(str, sides))


class OwnerParam(click.ParamType):
    """An owner, `team-7`. Checks only the form; the twin knows the quota."""

    name = "owner"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if not is_owner_name(value):
            self.fail(f"{value!r} is not a valid owner; must be {OWNERS_ALLOWED}", param, ctx)
        return value


class RecoveryParam(click.ParamType):
    """A recovery policy, `swap,route:2%,wait`. Not converted."""

    name = "recovery"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        from schemas.recovery_policy import parse_recovery_policy

        try:
            parse_recovery_policy(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)
        return value


class PodsParam(click.ParamType):
    """A number of pods, `2`, or their names, `pod-0,pod-3`. Not converted."""

    name = "pods"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        from schemas.multislice import parse_pods

        try:
            parse_pods(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)
        return value


class NumberParam(click.ParamType):
    """A finite number from `least` (exclusive with `above`) up to `most`."""

    name = "float"

    def __init__(self, unit: str, least: float, most: float, *, above: bool = False) -> None:
        self._least, self._most, self._above = least, most, above
        self._allowed = f"{unit} {'above' if above else 'from'} {least:g} up to {most:,.15g}"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        given = read_number(str(value))
        number = math.nan if given is None else given
        if not self._least <= number <= self._most or (self._above and number == self._least):
            self.fail(f"{str(value)!r} is not allowed; must be {self._allowed}", param, ctx)
        return number


class SpeedParam(click.ParamType):
    """A speed: simulated time over wall time."""

    name = "speed"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        given = read_number(str(value))
        speed = math.nan if given is None else given
        if not 0 < speed <= SPEED_MAX:
            self.fail(f"{value!r} is not a valid speed; must be above 0, up to {SPEED_MAX:g}", param, ctx)
        return speed


class IdempotencyKeyParam(click.ParamType):
    """An idempotency key that is valid in an HTTP header."""

    name = "key"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if not 0 < len(value) <= IDEMPOTENCY_KEY_MAX or not re.fullmatch(r"[!-~]+", value):
            self.fail(
                f"{value!r} is not a valid key; must be 1 to {IDEMPOTENCY_KEY_MAX} visible ASCII characters",
                param,
                ctx,
            )
        return value


QUERY_OPTIONS = {
    "at": "--at",
    "cursor": "--top",
    "fabric": "--fabric",
    "fields": "-o json",
    "limit": "--top",
    "sort": "--sort",
}
"""Query parameter of a list that is not a field → the option to use instead."""


class FieldValueParam(click.ParamType):
    """A test of a field: FIELD=VALUE, also with other operators. The twin checks field and value."""

    name = "field=value"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        try:
            test = split_test(value)
        except InvalidInput:
            self.fail(f"{value!r} is not of the form {TEST_FORMS}", param, ctx)
        if test.field.lower() in QUERY_OPTIONS:
            option = QUERY_OPTIONS[test.field.lower()]
            self.fail(f"{value!r}: {test.field} is not a field of an object; use {option}", param, ctx)
        return value

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> "list[CompletionItem]":
        from click.shell_completion import CompletionItem

        from ops.cli.common.field_completion import field_tests

        # An option without its value ends click's reading before it has assigned the arguments.
        kind = find_kind(str(ctx.params.get("kind") or next(iter(ctx.args), "")))
        words = field_tests(kind.word, incomplete) if kind is not None else []
        return [CompletionItem(word) for word in words if word.startswith(incomplete)]


class SortOrderParam(click.ParamType):
    """Sort fields, each with a leading - for descending order. The twin checks the fields."""

    name = "fields"


def field_of_heading(heading: str) -> str:
    """A heading of a table in the form of a field: `use_out` for `USE-OUT`; a field stays as it is."""
    return heading.lower().replace("-", "_")


PRICE_MAX = 10**12
"""Maximum price of a part."""


class PriceParam(click.ParamType):
    """A unit price, `name=value`, with a number as value."""

    name = "name=value"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        name, equals, text = value.partition("=")
        price = read_number(text.strip())
        if not re.fullmatch(r"[a-z_]{1,60}", name) or not equals or price is None:
            self.fail(f"{value!r} is not of the form NAME=VALUE, such as ocs_cost=20000", param, ctx)
        if not 0 <= price <= PRICE_MAX:
            allowed = f"a price between 0 and {PRICE_MAX:,}, such as ocs_cost=20000"
            self.fail(f"{value!r} is not allowed; must be {allowed}", param, ctx)
        return value


class FileParam(click.Path):
    """A path that is not empty; the empty path would mean the current folder."""

    name = "path"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not str(value) or "\0" in str(value):
            self.fail(f"{value!r} is not a valid path", param, ctx)
        return super().convert(value, param, ctx)


class OutFileParam(FileParam):
    """An output file, checked before any work is done."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        path = Path(super().convert(value, param, ctx))
        if path.is_dir():
            self.fail(f"{path} is a folder, not a file", param, ctx)
        if not path.parent.is_dir():
            self.fail(f"{path}: there is no folder {path.parent}", param, ctx)
        if not os.access(path if path.exists() else path.parent, os.W_OK):
            self.fail(f"{path} cannot be written", param, ctx)
        return path


FILE = FileParam(path_type=Path)
OUT_FILE = OutFileParam(path_type=Path)
TEXT_FILE = OutFileParam(path_type=Path)
"""The type of an option that sends the command's output to a file instead of stdout."""


def unknown_word_text(what: str, word: str, allowed: Collection[str]) -> str:
    """The error text for a word that is not one of the allowed words: the most similar ones and, unless there
    are many, all of them."""
    near = closest_matches(word.lower(), allowed, limit=SIMILAR_MAX)
    hint = f"did you mean {' or '.join(near)}?" if near else ""
    if near and len(allowed) > LISTED_MAX:
        return f"no {what} {word!r}; {hint}"
    return f"no {what} {word!r}; {f'{hint} ' if hint else ''}must be one of {', '.join(allowed)}"


_INNER_PART = re.compile(
    r"((?:[^/]+/)?ocs-[0-9]{1,6})"
    r"/(?:(?:supply|fan|driver)-[0-9]{1,3}|cpu|fpga|(?:camera|injector)-[NS]|[NS][0-9]{1,4})"
    r"|((?:[^/]+/)?cube-[0-9]{1,6}/host-[0-9]{1,3})/chip-[0-9]{1,3}"
    r"|((?:[^/]+/)?cube-[0-9]{1,6})/cable-[0-9]{1,3}"
)
"""A part without a description of its own: a part or port of an OCS, a chip of a host, a cable of a cube."""


def unknown_name_text(word: str) -> str:
    """The error text for a name that no object can have, with the most similar valid name."""
    place, _, last = word.rpartition("/")
    if re.fullmatch(r"batch-[0-9]{1,6}", last):
        return (
            f"NAME {quoted(word)}: a batch of modules has no description of its own; "
            f"`lightwave impact {word}` shows what depends on them, "
            f"`lightwave get verdicts --where batch={last}` lists their verdicts"
        )
    if (inner := _INNER_PART.fullmatch(word)) is not None:
        whole = inner[1] or inner[2] or inner[3]
        return (
            f"NAME {quoted(word)}: is part of {whole}; `lightwave describe {whole}` shows it; "
            f"`lightwave history {word}` shows its events"
        )
    problem = (
        f"NAME {quoted(word)}: is not a valid name; names are like pod-0/cube-12 or dcn-0/block-3/trunk-7"
    )
    spelt = re.fullmatch(r"([A-Za-z]+)[-_]?([0-9]{1,6})", last)
    near = closest_match(spelt[1].lower(), tuple(KIND_BY_NAME_PREFIX)) if spelt else None
    return problem if spelt is None or near is None else f"{problem}; did you mean {place}/{near}-{spelt[2]}?"
