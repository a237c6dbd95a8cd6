"""How people write kinds, durations, shapes and speeds, and how they like to read times."""

import math
import re
from collections.abc import Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

KINDS = ("fabrics", "ocs", "cubes", "hosts", "links", "slices", "faults", "repairs")
FAULT_KINDS = ("host", "chip", "link", "connector", "ocs", "port")
DURATION_S_MAX = 100 * 365 * 86_400
SPEED_MAX = 1e9
KEY_MAX = 200
US_PER_S = 1_000_000

_DURATION = re.compile(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?", re.ASCII)
_SHAPE = re.compile(r"(\d{1,4})[x×](\d{1,4})[x×](\d{1,4})", re.ASCII | re.IGNORECASE)


class OneOf(click.ParamType):
    """One word of a few, in any case; completed, and with a hint at the nearest."""

    def __init__(self, name: str, words: Sequence[str]) -> None:
        self.name = name
        self.words = words

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        word = self._meant(value.lower())
        return word or self.fail(unknown(self.name, value, self.words), param, ctx)

    def _meant(self, word: str) -> str | None:
        return word if word in self.words else None

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> "list[CompletionItem]":
        from click.shell_completion import CompletionItem

        return [CompletionItem(word) for word in self.words if word.startswith(incomplete.lower())]


class Kind(OneOf):
    """A kind of thing: singular or plural, in any case."""

    def __init__(self) -> None:
        super().__init__("kind", KINDS)

    def _meant(self, word: str) -> str | None:
        if word == "ocses":
            return "ocs"
        return next((kind for kind in KINDS if word in (kind, kind.removesuffix("s"))), None)


class Duration(click.ParamType):
    """`30s`, `15m`, `2h`, `1d12h`, as seconds."""

    name = "duration"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        match = _DURATION.fullmatch(text := str(value))
        # Ten digits are more than a century of seconds: longer numbers need no arithmetic to be refused.
        if match is None or not any(match.groups()) or any(len(n or "") > 10 for n in match.groups()):
            return self.fail(_no_duration(text), param, ctx)
        days, hours, minutes, seconds = (int(number or 0) for number in match.groups())
        total_s = ((days * 24 + hours) * 60 + minutes) * 60 + seconds
        if not 0 < total_s <= DURATION_S_MAX:
            self.fail(_no_duration(text), param, ctx)
        return total_s


def _no_duration(text: str) -> str:
    return f"{text!r} is no duration; allowed are 30s, 15m, 2h, 1d12h and the like, up to 100 years"


class ShapeText(click.ParamType):
    """`4x4x8`: the form only; whether a pod can hold it is the twin's to say."""

    name = "shape"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        match = _SHAPE.fullmatch(value)
        if match is None:
            return self.fail(
                f"{value!r} is no shape; allowed are three sides in chips, like 4x4x8", param, ctx
            )
        return "x".join(match.groups())


class Speed(click.ParamType):
    """Simulated over wall time."""

    name = "speed"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            speed = float(str(value))
        except ValueError:
            speed = math.nan
        if not 0 < speed <= SPEED_MAX:
            self.fail(f"{value!r} is no speed; allowed are numbers above 0 up to {SPEED_MAX:g}", param, ctx)
        return speed


class Key(click.ParamType):
    """An idempotency key, as it may stand in an HTTP header."""

    name = "key"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if not 0 < len(value) <= KEY_MAX or not re.fullmatch(r"[!-~]+", value):
            self.fail(f"{value!r} is no key; allowed are 1 to {KEY_MAX} visible ASCII characters", param, ctx)
        return value


def unknown(what: str, word: str, allowed: Sequence[str]) -> str:
    """A sentence for a word that is not one of the allowed."""
    near = get_close_matches(word.lower(), allowed, n=1, cutoff=0.6)
    hint = f"did you mean {near[0]}? " if near else ""
    return f"no {what} {word!r}; {hint}allowed are {', '.join(allowed)}"


def span(us: int | float | None) -> str:
    """A span of simulated time in its two largest units: `2h3m`."""
    if us is None:
        return "-"
    seconds = int(us // US_PER_S)
    for unit, size, small, part in (("d", 86_400, "h", 3_600), ("h", 3_600, "m", 60), ("m", 60, "s", 1)):
        if seconds >= size:
            rest = seconds % size // part
            return f"{seconds // size}{unit}{rest}{small}" if rest else f"{seconds // size}{unit}"
    return f"{seconds}s"


def moment(us: int | None) -> str:
    """A simulated time since the fabric was commissioned: `3d02:15:04`."""
    if us is None:
        return "-"
    minutes, second = divmod(us // US_PER_S, 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours // 24}d{hours % 24:02d}:{minute:02d}:{second:02d}"


def moment_ms(us: int) -> str:
    """The same to the millisecond, for messages: `3d02:15:04.123`."""
    return f"{moment(us)}.{us % US_PER_S // 1000:03d}"
