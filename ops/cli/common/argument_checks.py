"""Checks of every command's arguments: no value is lost to a repeated option, no output file is an input, and
whole numbers have one form."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from ops.cli.common.param_types import OutFileParam
from ops.local.output_file import is_same_file
from shared.basics.value_words import read_whole


def check_given_once(command: click.Command, ctx: click.Context, words: Sequence[str]) -> None:
    """Raise UsageError if an option that takes one value is given more than once: click keeps only the last.

    Flags can be repeated, but not contradict each other (`--x --no-x`).
    """
    if ctx.resilient_parsing:
        return
    _, _, order = command.make_parser(ctx).parse_args(args=list(words))
    for param in dict.fromkeys(order):
        if not isinstance(param, click.Option) or param.multiple or param.count:
            continue
        times = order.count(param)
        if times > 1 and (not param.is_flag or _is_contradicted(param, words)):
            raise click.UsageError(
                f"{max(param.opts, key=len)}: is given {times} times; must be given once", ctx
            )


def _is_contradicted(flag: click.Option, words: Sequence[str]) -> bool:
    return any(word in words for word in flag.opts) and any(word in words for word in flag.secondary_opts)


def check_files_apart(params: Sequence[click.Parameter], values: Mapping[str, object]) -> None:
    """Raise UsageError if an output file is also an input, or another output, of the same command; also
    through links."""
    outputs = [param for param in params if isinstance(param.type, OutFileParam)]
    for number, param in enumerate(outputs):
        out = values.get(param.name or "")
        if not isinstance(out, Path):
            continue
        for other in params:
            if other is param or other in outputs[:number] or isinstance(other.type, click.Choice):
                continue
            for path in _paths(values.get(other.name or "")):
                if is_same_file(out, path):
                    raise click.UsageError(
                        f"{_label(param)} {out}: is the same file as {_label(other)} {path}; "
                        "must be another file",
                        click.get_current_context(),
                    )


def _paths(value: object) -> Iterator[Path]:
    for one in value if isinstance(value, list | tuple) else (value,):
        if isinstance(one, Path):
            yield one
        elif isinstance(one, str) and one and "\0" not in one:
            yield Path(one)


def _label(param: click.Parameter) -> str:
    if isinstance(param, click.Option):
        return max(param.opts, key=len)
    return param.make_metavar(click.get_current_context()).strip("[]")


class WholeRange(click.IntRange):
    """A whole number, of a range if it has bounds, in the form that `--set`, YAML, CSV and URLs accept."""

    def _describe_range(self) -> str:
        """The range for the help; empty without bounds, where click writes `x<=None`."""
        return "" if self.min is None and self.max is None else super()._describe_range()

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, str):
            whole = read_whole(value.strip())
            if whole is None:
                self.fail(f"{value!r} is not a valid integer", param, ctx)  # the root states the range
            value = whole
        return super().convert(value, param, ctx)


def with_one_number_form(params: Iterable[click.Parameter]) -> None:
    """Let parameters of click's whole numbers refuse a zero in front and underscores."""
    for param in params:
        kind = param.type
        if type(kind) is click.IntRange:
            param.type = WholeRange(kind.min, kind.max, kind.min_open, kind.max_open, kind.clamp)
        elif type(kind) is type(click.INT):
            param.type = WholeRange()
