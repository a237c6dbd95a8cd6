"""`lightwave backup` and `lightwave restore`: saves a whole twin to a folder, and restores it."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click
import typer

from ops.cli.common.command_groups import command_app, examples
from ops.cli.common.options import OutputOption, TwinData
from ops.cli.common.output import show
from ops.cli.common.param_types import FILE
from ops.cli.common.progress import StatusLine
from ops.report.wall_time import format_wall_time
from ops.twin.target_twin import target_folder
from shared.basics.time_format import format_time

if TYPE_CHECKING:
    from schemas.files.backup_manifest import BackupManifest

MB = 1e6

app = command_app()


@app.command(epilog=examples("backup twin-backup", "backup twin-backup --verify"))
def backup(
    folder: Annotated[Path, typer.Argument(click_type=FILE, metavar="DIR", help="a new or empty folder")],
    verify: Annotated[
        bool, typer.Option("--verify", help="write nothing; check every file of DIR against its digest")
    ] = False,
    data: TwinData = None,
    redis: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            envvar="LIGHTWAVE_UP_REDIS",
            help="the Redis of a stopped twin, if it is not the embedded one",
        ),
    ] = None,
    output: OutputOption = "table",
) -> None:
    """Back up a whole twin to a folder, running or stopped.

    The backup is consistent at one point in time. Tokens and passwords are not in it. `lightwave restore`
    restores it.
    """
    from ops.twin.backups.manifest import verify_backup as verified

    if verify:
        if data is not None:
            raise click.UsageError("--verify: cannot be combined with --data; it checks only DIR")
        found = verified(folder)
        show(
            _backup_row(folder, found),
            output,
            lambda: f"{_line(folder, found)}; every file is unchanged",
        )
        return
    from ops.twin.backups.create import run_backup
    from shared.storage.files.atomic_files import PRIVATE_UMASK

    os.umask(PRIVATE_UMASK)
    place, client = target_folder(data)
    made = run_backup(folder, place, redis=redis, client=client)
    show(
        _backup_row(folder, made),
        output,
        lambda: f"{_line(folder, made)}; tokens and passwords are not in it",
    )


@app.command(epilog=examples("restore twin-backup", "restore twin-backup --data ~/twin"))
def restore(
    folder: Annotated[Path, typer.Argument(click_type=FILE, metavar="DIR", help="the backup")],
    data: Annotated[
        Path | None,
        typer.Option(
            click_type=FILE,
            metavar="DIR",
            help="the new or empty data folder [default: the user's state folder]",
        ),
    ] = None,
    redis: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            envvar="LIGHTWAVE_UP_REDIS",
            help="store the states in this Redis, which must be empty, as for `up --redis`",
        ),
    ] = None,
    output: OutputOption = "table",
) -> None:
    """Restore a twin's data folder from a backup.

    The result is another twin; `lightwave up` resumes it.
    """
    from ops.twin.backups.restore import run_restore
    from ops.twin.data_folder import default_data
    from shared.storage.files.atomic_files import PRIVATE_UMASK

    os.umask(PRIVATE_UMASK)
    place = data or default_data()
    with StatusLine() as line:

        def report_progress(done: int, whole: int) -> None:
            line.say(_verified_text(done, whole), is_last=done == whole)

        made = run_restore(folder, place, report_progress, redis=redis)
    summary = _backup_row(folder, made) | {"data": str(place)}
    on = f"lightwave up --data {place}" + ("" if redis is None else " --redis URL")
    show(summary, output, lambda: f"{_line(folder, made)}; `{on}` continues from there")


def _verified_text(done: int, whole: int) -> str:
    if done < whole:
        return f"{done / MB:,.1f} of {whole / MB:,.1f} MB are unchanged"
    return f"all {whole / MB:,.1f} MB are unchanged; rebuilding the states from the logs"


def _backup_row(folder: Path, manifest: "BackupManifest") -> dict[str, object]:
    return {
        "backup": str(folder),
        "twin": manifest.twin,
        "software": manifest.software,
        "wall_us": manifest.wall_us,
        "clock_us": manifest.clock_us,
        "sites": _positions(manifest),
        "requests_waiting": manifest.requests_waiting,
        "files": len(manifest.files),
        "bytes": _size_bytes(manifest),
    }


def _positions(manifest: "BackupManifest") -> dict[str, int]:
    """The number of messages of each site."""
    return {cut.site: cut.position for cut in manifest.sites}


def _size_bytes(manifest: "BackupManifest") -> int:
    return sum(row.size for row in manifest.files)


def _line(folder: Path, manifest: "BackupManifest") -> str:
    sites = ", ".join(f"{site} at {position:,} messages" for site, position in _positions(manifest).items())
    made = format_wall_time(manifest.wall_us)
    return (
        f"{folder}: {sites}, {manifest.requests_waiting:,} pending requests, clock "
        f"{format_time(manifest.clock_us)}, of {made}; {len(manifest.files):,} files, "
        f"{_size_bytes(manifest):,} bytes"
    )
