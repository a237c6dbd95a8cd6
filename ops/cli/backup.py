"""`lightwave backup` and `lightwave restore`: a living twin in a folder that holds all of it, and back."""

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import click
import typer

from ops.cli.groups import application
from ops.cli.options import Output, TwinData
from ops.cli.output import show
from ops.cli.progress import Line
from ops.cli.twin_folder import folder_meant
from ops.cli.types import FILE
from shared.basics.times import moment
from shared.basics.units import US_PER_S

MB = 1e6

app = application()


@app.command()
def backup(
    folder: Annotated[
        Path, typer.Argument(click_type=FILE, metavar="DIR", help="a new folder, or an empty one")
    ],
    verify: Annotated[
        bool, typer.Option("--verify", help="write nothing: hold every file of DIR against its digest")
    ] = False,
    data: TwinData = None,
    redis: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            envvar="LIGHTWAVE_UP_REDIS",
            help="the Redis that a twin which does not run uses, if not its own",
        ),
    ] = None,
    output: Output = "table",
) -> None:
    """Write all that a twin is to a folder, as it is at one moment, while it runs or not.

    Tokens and passwords are not in it. `lightwave restore` makes a twin of it.
    """
    from ops.twin.backups.manifest import verify as verified

    if verify:
        if data is not None:
            raise click.UsageError("--verify: looks at DIR alone, without --data")
        told = _told(folder, verified(folder))
        show(told, output, lambda: f"{_line(told)}; every file is as it was written")
        return
    from ops.twin.backups.taking import run_backup
    from shared.storage.whole import PRIVATE

    os.umask(PRIVATE)
    place, client = folder_meant(data)
    told = _told(folder, run_backup(folder, place, redis=redis, client=client))
    show(told, output, lambda: f"{_line(told)}; tokens and passwords are not in it")


@app.command()
def restore(
    folder: Annotated[Path, typer.Argument(click_type=FILE, metavar="DIR", help="the backup")],
    data: Annotated[
        Path | None,
        typer.Option(
            click_type=FILE,
            metavar="DIR",
            help="the folder to make, new or empty [default: the user's state folder]",
        ),
    ] = None,
    redis: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            envvar="LIGHTWAVE_UP_REDIS",
            help="an empty Redis of yours for its states, as `up --redis` has it",
        ),
    ] = None,
    output: Output = "table",
) -> None:
    """Make a twin's data folder from a backup: another twin, that goes on from there with `lightwave up`."""
    from ops.twin.backups.restoring import run_restore
    from ops.twin.data import default_data
    from shared.storage.whole import PRIVATE

    os.umask(PRIVATE)
    place = data or default_data()
    with Line() as line:

        def tell(done: int, whole: int) -> None:
            line.say(_verified(done, whole), is_last=done == whole)

        made = run_restore(folder, place, tell, redis=redis)
    told = _told(folder, made) | {"data": str(place)}
    on = f"lightwave up --data {place}" + ("" if redis is None else " --redis URL")
    show(told, output, lambda: f"{_line(told)}; `{on}` goes on from there")


def _verified(done: int, whole: int) -> str:
    if done < whole:
        return f"{done / MB:,.1f} of {whole / MB:,.1f} MB are as they were written"
    return f"all {whole / MB:,.1f} MB are as they were written; the states are made of the logs"


def _told(folder: Path, manifest: Any) -> dict[str, Any]:
    return {
        "backup": str(folder),
        "twin": manifest.twin,
        "software": manifest.software,
        "wall_us": manifest.wall_us,
        "clock_us": manifest.clock_us,
        "sites": {cut.site: cut.position for cut in manifest.sites},
        "requests_waiting": manifest.requests_waiting,
        "files": len(manifest.files),
        "bytes": sum(row.size for row in manifest.files),
    }


def _line(told: dict[str, Any]) -> str:
    sites = ", ".join(f"{site} at {position:,} messages" for site, position in told["sites"].items())
    made = datetime.fromtimestamp(told["wall_us"] / US_PER_S, UTC).strftime("%Y-%m-%d %H:%M:%S")
    return (
        f"{told['backup']}: {sites}, {told['requests_waiting']:,} requests waiting, clock "
        f"{moment(told['clock_us'])}, of {made} UTC; {told['files']:,} files, {told['bytes']:,} bytes"
    )
