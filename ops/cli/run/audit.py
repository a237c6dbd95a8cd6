"""`lightwave audit`: compares a twin's log and states with a replay of its root messages in the lab."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click
import typer

from ops.cli.common.command_groups import command_app, examples
from ops.cli.common.options import OutputOption, TwinData, TwinRedis
from ops.cli.common.output import show
from ops.cli.common.param_types import FILE
from ops.cli.common.progress import AuditProgress
from ops.report.tables import count_text
from ops.twin.target_twin import target_twin
from shared.basics.time_format import format_time

if TYPE_CHECKING:
    from ops.twin.site_audit import AuditReport, ForkAuditReport

app = command_app()


@app.command(epilog=examples("audit", "audit --data ~/twin --jobs 4"))
def audit(
    data: TwinData = None,
    redis: TwinRedis = None,
    live: Annotated[
        bool, typer.Option("--live", help="audit the twin on Kafka and Redis, not one in a folder")
    ] = False,
    config: Annotated[
        Path | None,
        typer.Option(click_type=FILE, metavar="FILE", help="settings file of the live twin (TOML)"),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=64,
            help="number of worker processes; each replays parts of the log between snapshots, and "
            "compares the snapshots too [default: 1, without snapshots]",
        ),
    ] = None,
    output: OutputOption = "table",
) -> None:
    """Compare a twin's log and states with a replay in the lab.

    The replay starts from the log's root messages.
    """
    if live and (data is not None or redis is not None):
        raise click.UsageError(
            "--live: cannot be combined with --data or --redis; it uses the live twin's settings"
        )
    if config is not None and not live:
        raise click.UsageError("--config: requires --live")
    if live and jobs is not None:
        raise click.UsageError(
            "--jobs: cannot be combined with --live; only an embedded twin keeps snapshots next to its log"
        )
    if live:
        report = _audit_live(config)
    elif data is not None or redis is not None:
        report = _audit_folder(data, redis, jobs)
    else:
        report = _audit_target_twin(jobs)
    show(report, output, lambda: _report_text(report))
    if not report["clean"]:
        sys.exit(1)


def _audit_target_twin(jobs: int | None) -> "AuditReport":
    """Return the folder of the twin at LIGHTWAVE_URL. If LIGHTWAVE_URL is not set and no twin answers, return
    the user's folder."""
    meant = target_twin(None)
    if not meant.is_live:
        return _audit_folder(meant.folder(), None, jobs)
    if jobs is not None:
        at = meant.client.url if meant.client is not None else meant.place
        raise click.UsageError(f"--jobs: requires an embedded twin, and the twin at {at} is live")
    return _audit_live(None, twin=meant.place)


def _audit_folder(data: Path | None, redis: str | None, jobs: int | None) -> "AuditReport":
    from ops.twin.data_folder import default_data
    from ops.twin.folder_audit import run_audit

    with AuditProgress() as progress:
        return run_audit(
            data=data or default_data(), redis=redis, jobs=jobs or 1, report_progress=progress.report_progress
        )


def _audit_live(config: Path | None, twin: str | None = None) -> "AuditReport":
    from ops.live.audit import audit_live
    from ops.live.settings import live_settings

    return audit_live(live_settings(config), twin)


def _fork_lines(fork: "ForkAuditReport | None") -> list[str]:
    """Describe the origin of a fork, and whether its logs match its parent's."""
    if fork is None:
        return []
    lines = []
    if "name" in fork:
        of = ", ".join(
            f"{position:,} messages of {site} are its parent's and {fork['own'][site]:,} its own"
            for site, position in fork["positions"].items()
        )
        since = format_time(fork["at_us"])
        lines.append(f"fork {fork['name']} of the twin in {fork['place']} from {since} on: {of}")
    return [*lines, *(f"  NOT CLEAN: {sentence}" for sentence in fork["differing"])]


def _report_text(report: "AuditReport") -> str:
    """Format a line for each site, with its fabrics unless the site is named after its only one."""
    lines = _fork_lines(report.get("fork"))
    lines += [f"note: {sentence}" for sentence in report.get("refused", [])[-5:]]
    for row in report["sites"]:
        alone = row["fabrics"] == [row["site"]]
        name = row["site"] if alone else f"{row['site']} ({', '.join(row['fabrics'])})"
        wrong = row.get("wrong_snapshots", [])
        verdict = "clean" if row["log_clean"] and row["states_clean"] and not wrong else "NOT CLEAN"
        counts = (
            f"{count_text(row['messages'], 'message')}, {count_text(row['requests'], 'request')}, "
            f"{count_text(row['dead_letters'], 'dead letter')}"
        )
        lines.append(f"{name}: {verdict}; {counts}")
        if since := row.get("since"):
            before = since["before"]
            lines.append(
                f"  from {format_time(since['at_us'])} on, where it was upgraded to rules {since['rules']}; "
                f"only {before['software']} of rules {before['rules']} can check the log before that"
            )
        if row["first_difference"]:
            lines.append(f"  {row['first_difference']}")
        lines += [f"  {field}" for field in row["differing_states"][:20]]
        lines += [f"  {sentence}" for sentence in wrong[:20]]
        if unused := row.get("unused_snapshots", []):
            lines.append(f"  {count_text(len(unused), 'snapshot')} cannot be used; the newest: {unused[-1]}")
    return "\n".join(lines)
