"""`lightwave archive`: what the log holds of long ago goes compressed into a folder."""

import os
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from ops.cli.groups import application
from ops.cli.options import Output, TwinData
from ops.cli.output import show
from ops.cli.twin_folder import folder_meant
from ops.cli.types import Duration
from shared.basics.times import span
from shared.basics.units import US_PER_S

if TYPE_CHECKING:
    from ops.twin.archives import ArchivedSite

KEEP_S = 30 * 86_400

app = application()


@app.command()
def archive(
    keep: Annotated[
        int,
        typer.Option(
            click_type=Duration(),
            metavar="DURATION",
            help="how much simulated time stays in the log's own file [default: 30d]",
            show_default=False,
        ),
    ] = KEEP_S,
    data: TwinData = None,
    output: Output = "table",
) -> None:
    """Compress what the log holds of long ago into a folder beside it, while the twin runs or not.

    Whatever reads the log goes on reading all of it.
    """
    from ops.twin.archives import run_archive
    from shared.storage.whole import PRIVATE

    os.umask(PRIVATE)
    place, client = folder_meant(data, live="Kafka keeps all of its log, which is not archived")
    done = run_archive(place, keep * US_PER_S, client)
    show([asdict(site) for site in done], output, lambda: "\n".join(_line(site, keep) for site in done))


def _line(done: "ArchivedSite", keep_s: int) -> str:
    if done.file is None:
        return f"{done.site}: nothing more is older than {span(keep_s * US_PER_S)}; the log is as it was"
    return (
        f"{done.site}: {done.messages:,} messages archived, {done.plain:,} bytes in {done.size:,}: "
        f"{done.file}; the log's own file begins at message {done.begins:,}"
    )
