"""How people write durations, shapes and kinds, and how they like to read times."""

import re
from difflib import get_close_matches
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

KINDS = ("fabrics", "ocs", "cubes", "hosts", "links", "slices", "faults", "repairs")
UNITS_S = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
DURATION_S_MAX = 100 * 365 * 86_400
US_PER_S = 1_000_000


class Kind(click.ParamType):
    """A kind of thing: singular or plural, in any case."""

    name = "kind"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        word = value.lower()
        for kind in KINDS:
            if word in (kind, kind.removesuffix("s")) or (kind == "ocs" and word == "ocses"):
                return kind
        return self.fail(unknown("kind", value, KINDS), param, ctx)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> "list[CompletionItem]":
        from click.shell_completion import CompletionItem

        return [CompletionItem(kind) for kind in KINDS if kind.startswith(incomplete.lower())]


class Duration(click.ParamType):
    """`30s`, `15m`, `2h`, `1d12h`, as seconds."""

    name = "duration"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        text = str(value)
        parts = re.findall(r"([0-9]{1,9})([smhd])", text)
        seconds = sum(int(number) * UNITS_S[unit] for number, unit in parts)
        if "".join(number + unit for number, unit in parts) != text or not 0 < seconds <= DURATION_S_MAX:
            self.fail(
                f"{text!r} is no duration; allowed are 30s, 15m, 2h, 1d12h, up to 100 years", param, ctx
            )
        return seconds


class ShapeText(click.ParamType):
    """`4x4x8`: the form only; whether a pod can hold it is the twin's to say."""

    name = "shape"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if not re.fullmatch(r"[0-9]{1,4}[x×][0-9]{1,4}[x×][0-9]{1,4}", value):
            self.fail(f"{value!r} is no shape; shapes are like 4x4x8", param, ctx)
        return value.replace("×", "x")


def unknown(what: str, word: str, allowed: tuple[str, ...] | list[str]) -> str:
    """A sentence for a word that is not one of the allowed."""
    near = get_close_matches(word.lower(), allowed, n=1, cutoff=0.5)
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
    """A simulated time: `3d02:15:04.123`."""
    if us is None:
        return "-"
    seconds, rest = divmod(us, US_PER_S)
    minutes, second = divmod(seconds, 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours // 24}d{hours % 24:02d}:{minute:02d}:{second:02d}.{rest // 1000:03d}"
