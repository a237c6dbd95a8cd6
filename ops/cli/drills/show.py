"""`lightwave drill list`, `show`, `journal`, `report` and `export`: what drills did."""

from pathlib import Path
from typing import Annotated, Any

import click
import typer

from ops.cli.common.kind_tables import kind_table
from ops.cli.common.options import Fabric, Out, OutputOption
from ops.cli.common.output import echo, indented_json, show, write_or_print
from ops.cli.common.param_types import OUT_FILE
from ops.cli.drills.run import DrillArgument
from ops.client.answers import CLOCK
from ops.client.http_client import Client, rows_path
from ops.drills.running_drill import fetch_journal
from ops.drills.text_report import text_report
from ops.local.output_file import write_output_text
from ops.requests.object_names import expand_name
from schemas.resource_kinds import DRILLS, SCHEDULES


def list_drills(
    fabric: Fabric = None,
    running: Annotated[bool, typer.Option("--running", help="only drills that run")] = False,
    schedules: Annotated[
        bool, typer.Option("--schedules", help="schedules with their next run and last outcome")
    ] = False,
    output: OutputOption = "table",
) -> None:
    """List drills, or schedules of drills."""
    client = Client()
    if schedules:
        if running:
            raise click.UsageError("--running cannot be combined with --schedules")
        _list_schedules(client, fabric, output)
        return
    query: dict[str, object] = {"status": "null"} if running else {}
    rows = client.rows(rows_path(DRILLS), "name", "status", fabric=fabric, **query)
    now_us = client.resource(CLOCK, "now_us").now_us
    with client.reading():
        show(rows, output, lambda: kind_table(DRILLS, rows, now_us) if rows else "no drills")


def _list_schedules(client: Client, fabric: str | None, output: OutputOption) -> None:
    rows = client.rows(rows_path(SCHEDULES), "name", "next_us", fabric=fabric)
    now_us = client.resource(CLOCK, "now_us").now_us
    with client.reading():
        show(rows, output, lambda: kind_table(SCHEDULES, rows, now_us) if rows else "no schedules")


def show_drill(drill: DrillArgument, output: OutputOption = "table") -> None:
    """Show what a drill did so far: probes, steps, faults, undo."""
    journal = _journal(drill)
    record: Any = journal["lightwave"]
    show(record, output, lambda: text_report(record).rstrip("\n"))


def journal(drill: DrillArgument, out: Out = None) -> None:
    """Print the journal of a drill as the Chaos Toolkit does.

    The field `lightwave` has the whole record. The journal is made from the log, so it is the same at any
    later time.
    """
    write_or_print(indented_json(_journal(drill)), out)


def report(
    drill: DrillArgument,
    html: Annotated[
        Path | None,
        typer.Option("--html", click_type=OUT_FILE, metavar="FILE", help="write a page without scripts"),
    ] = None,
    junit: Annotated[
        Path | None, typer.Option("--junit", click_type=OUT_FILE, metavar="FILE", help="write JUnit XML")
    ] = None,
) -> None:
    """Report a drill: as text of 80 columns, or as files.

    JUnit has a case for each probe in each phase, and one for each step. A deviation is a failure; a step
    that could not be done is an error.
    """
    record: Any = _journal(drill)["lightwave"]
    if html is None and junit is None:
        echo(text_report(record).rstrip("\n"))
    if html is not None:
        from ops.drills.html_report import html_report

        write_output_text(html, html_report(record) + "\n")
        echo(f"written to {html}", to_stderr=True)
    if junit is not None:
        from ops.drills.junit_report import junit_report

        write_output_text(junit, junit_report(record))
        echo(f"written to {junit}", to_stderr=True)


def export(drill: DrillArgument, out: Out = None) -> None:
    """Print the plan of a drill, which repeats it.

    The seed is part of the journal: give it with --seed.
    """
    record: Any = _journal(drill)["lightwave"]
    if out is not None and out.suffix != ".json":
        raise click.UsageError(f"--out {out}: must end in .json")
    write_or_print(indented_json(record["plan"]), out)


def _journal(drill: str) -> Any:
    client = Client()
    return fetch_journal(client, expand_name(client, drill))
