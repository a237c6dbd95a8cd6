"""`lightwave archive`: compresses the old part of the log into an archive folder."""

import os
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from ops.cli.common.command_groups import RequestCommand, command_app, examples
from ops.cli.common.options import OutputOption, TwinData
from ops.cli.common.output import show
from ops.cli.common.param_types import DurationParam
from ops.twin.target_twin import target_folder
from shared.basics.time_format import format_duration
from shared.basics.units import US_PER_S

if TYPE_CHECKING:
    from ops.twin.log_archive import ArchivedSite

KEEP_S = 30 * 86_400

app = command_app()


@app.command(cls=RequestCommand, epilog=examples("archive", "archive --keep 90d"))
def archive(
    keep: Annotated[
        int,
        typer.Option(
            click_type=DurationParam(),
            metavar="DURATION",
            help="span of simulated time to keep in the log's own file [default: 30d]",
            show_default=False,
        ),
    ] = KEEP_S,
    data: TwinData = None,
    output: OutputOption = "table",
) -> None:
    """Compress the old part of the log into an archive folder.

    The twin may be running. Everything that reads the log still reads all of it.
    """
    from ops.twin.log_archive import run_archive
    from shared.storage.files.atomic_files import PRIVATE_UMASK

    os.umask(PRIVATE_UMASK)
    place, client = target_folder(data, live="Kafka keeps all of its log, which is not archived")
    done = run_archive(place, keep * US_PER_S, client)
    show([asdict(site) for site in done], output, lambda: "\n".join(_line(site, keep) for site in done))


def _line(done: "ArchivedSite", keep_s: int) -> str:
    if done.file is None:
        return (
            f"{done.site}: no further messages are older than "
            f"{format_duration(keep_s * US_PER_S)}; the log is unchanged"
        )
    return (
        f"{done.site}: {done.messages:,} messages archived, {done.plain:,} bytes compressed to "
        f"{done.size:,}: {done.file}; the log's own file begins at message {done.begins:,}"
    )
