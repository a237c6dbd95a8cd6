"""`lightwave fork`: creates, lists and removes twins with a shared past."""

import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ops.cli.common.command_groups import DefaultCommandGroup, command_app, examples
from ops.cli.common.confirmation import AssumeYes, confirm
from ops.cli.common.name_completion import ForkNameParam
from ops.cli.common.options import TIME_FORMS, OutputOption
from ops.cli.common.output import show
from ops.cli.common.param_types import FILE
from ops.report.tables import text_table
from ops.twin.target_twin import target_folder
from schemas.limits import FORK_DRAWS_MAX, FORK_NAMES_ALLOWED
from shared.basics.time_format import format_time

if TYPE_CHECKING:
    from ops.twin.forks.fork_folders import ForkRow
    from schemas.files.fork_origin import ForkOrigin

MAKE_COMMAND = "make"
"""The default command if the first word is an option."""
HEADERS = ("NAME", "PARENT", "FROM", "POSITION", "NOW", "MB", "RUNNING", "CHANGES")
MB = 1e6


class ForkGroup(DefaultCommandGroup):
    """`lightwave fork` with options makes a fork."""

    default = MAKE_COMMAND


app = command_app("fork", cls=ForkGroup)


@app.callback()
def fork() -> None:
    """Create, list and remove forks: twins with a shared past.

    `lightwave fork --name NAME` is short for `lightwave fork make --name NAME`.
    """


@app.command(
    MAKE_COMMAND,
    epilog=examples("fork make --name drill --set repairs.technicians=8", "fork make --name before --at -2h"),
)
def make(
    name: Annotated[str, typer.Option(metavar="NAME", help=f"name of the fork: {FORK_NAMES_ALLOWED}")],
    at: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help=f"fork at this time: {TIME_FORMS} [default: now]",
        ),
    ] = None,
    future: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=FORK_DRAWS_MAX,
            metavar="N",
            help="use the random draws of this future of `lightwave forecast` [default: the parent's "
            "draws, which repeat the parent's future]",
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="change a parameter of the fork, such as failures.host_per_day=0.002; if there are "
            "several fabrics, add ,fabric=pod-1; may be repeated",
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            click_type=FILE,
            metavar="DIR",
            help="the parent's folder [default: that of the twin at LIGHTWAVE_URL; if LIGHTWAVE_URL is not "
            "set and no twin answers, the user's state folder]",
        ),
    ] = None,
    output: OutputOption = "table",
) -> None:
    """Create a twin that shares this one's history up to a time.

    The parent may be running; nothing happens to it. Pending requests are not copied. `lightwave up --fork
    NAME` runs the fork.
    """
    from ops.twin.forks.create_fork import ForkOptions, run_fork
    from shared.storage.files.atomic_files import PRIVATE_UMASK

    os.umask(PRIVATE_UMASK)
    folder, client = target_folder(data, live="only one of `lightwave up` can be forked")
    origin = run_fork(ForkOptions(name, at, future, tuple(settings or ())), folder, client)
    show(origin.model_dump(), output, lambda: _made_text(origin))


def _made_text(origin: "ForkOrigin") -> str:
    from ops.twin.forks.fork_folders import fork_folder

    sites = ", ".join(f"{one.position:,} messages of {one.site}" for one in origin.sites)
    draws = "" if origin.draws is None else f", the draws of future {origin.draws}"
    settings = f", {', '.join(origin.settings)}" if origin.settings else ""
    return (
        f"fork {origin.name} of the twin in {origin.place} at {format_time(origin.at_us)}: {sites}"
        f"{draws}{settings}; in {fork_folder(origin.name)}; `lightwave up --fork {origin.name}` continues "
        "from there, paused if its parent was"
    )


@app.command("list", epilog=examples("fork list", "fork list -o json"))
def list_forks(output: OutputOption = "table") -> None:
    """List the forks and where each one is now."""
    from ops.twin.forks.fork_folders import fork_names, fork_row

    rows = [fork_row(name) for name in fork_names()]
    table = [
        (
            row.name,
            row.place,
            _moment(row.at_us),
            row.position,
            _moment(row.now_us),
            f"{row.bytes / MB:.1f}",
            (row.url or "yes") if row.runs else "no",
            _overrides_text(row),
        )
        for row in rows
    ]
    problems = [row.problem for row in rows if row.problem is not None]
    show([asdict(row) for row in rows], output, lambda: "\n".join([text_table(HEADERS, table), *problems]))


def _overrides_text(row: "ForkRow") -> str | None:
    """Describe why its future differs from its parent's."""
    draws = [] if row.draws is None else [f"future {row.draws}"]
    return ", ".join([*draws, *row.settings]) or None


def _moment(at_us: int | None) -> str | None:
    return None if at_us is None else format_time(at_us)


@app.command("rm", epilog=examples("fork rm drill", "fork rm drill -o json"))
def remove(
    name: Annotated[
        str,
        typer.Argument(click_type=ForkNameParam(), metavar="NAME", help="a fork that is not running"),
    ],
    yes: AssumeYes = False,
    output: OutputOption = "table",
) -> None:
    """Remove a fork with its log.

    On a terminal, the command asks first.
    """
    from ops.twin.forks.fork_folders import remove_fork as removed
    from ops.twin.forks.fork_folders import require_fork

    require_fork(name)
    if not yes:
        confirm(lambda: f"Remove the fork {name} with its log?")
    size = removed(name)
    show({"name": name, "bytes": size}, output, lambda: f"fork {name} is removed, {size / MB:.1f} MB")
