"""The command `python -m tests.soak`: inject random faults into a live twin, then verify it."""

import json
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from ops.cli import main as command_line
from ops.cli.common.command_groups import command_app
from ops.cli.common.options import SiteFiles, seed_option
from ops.cli.common.output import echo
from ops.cli.common.param_types import FILE, NumberParam, SpeedParam
from shared.runtimes.stop_signals import interrupt_on_sigterm

MINUTES_MAX = 7 * 24 * 60.0
JOINS_MAX = 64
FAULTS_PER_HOUR = 160
DEVIATED = 5
"""Exit code: the soak ran to its end and found a problem of the twin."""

app = command_app()


@app.command()
def soak(
    minutes: Annotated[
        float,
        typer.Option(
            click_type=NumberParam("minutes", 0.1, MINUTES_MAX),
            help="time during which faults are injected; start-up and checks take extra time",
        ),
    ] = 30.0,
    pods: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=64,
            help="superpods, each on its own site [default: the sites in tests/soak/sites: a campus of two "
            "superpods, a static pod and a network, and a superpod on its own site]",
            show_default=False,
        ),
    ] = None,
    site: SiteFiles = None,
    joins: Annotated[
        int,
        typer.Option(
            min=0,
            max=JOINS_MAX,
            help="fabrics, of every kind, that join during the run; every second one retires",
        ),
    ] = 2,
    faults: Annotated[
        int | None,
        typer.Option(min=1, max=100_000, help=f"number of faults [default: {FAULTS_PER_HOUR} an hour]"),
    ] = None,
    seed: Annotated[int, seed_option("of the faults, of the requests, and of fabrics that set no seed")] = 0,
    speed: Annotated[float, typer.Option(click_type=SpeedParam(), help="simulated over wall time")] = 3000.0,
    upgrade: Annotated[
        bool,
        typer.Option(
            "--upgrade/--no-upgrade",
            help="stop the twin half-way, upgrade it to another version, and continue in that version",
        ),
    ] = True,
    report: Annotated[
        Path | None, typer.Option(click_type=FILE, metavar="FILE", help="write the whole report as JSON")
    ] = None,
) -> None:
    """Inject random faults into a whole live twin, then check that it recovered and lost or repeated nothing.

    Starts Kafka, Redis and every process of a new twin in a temporary folder, and stops them at the end.
    Operators send requests throughout the run. New fabrics join the twin's sites, and some of them retire.
    A historian compares states and log meanwhile. Half-way the twin is upgraded to another version.
    Exit code 5 if the twin deviated from its specification, 1 if the soak itself failed.
    """
    from shared.basics.errors import InvalidInput, OperationFailed
    from tests.soak.run import PODS, SOAK_SITES, Soak, run_soak
    from tests.soak.soak_report import CLEAN, failed_report, report_text

    if site and pods is not None:
        raise InvalidInput("--pods: must not be given together with --site, whose file defines the site")
    options = Soak(
        minutes=minutes,
        pods=PODS if pods is None else pods,
        site_files=tuple(site or (SOAK_SITES if pods is None else ())),
        joins=joins,
        faults=faults or max(1, round(FAULTS_PER_HOUR * minutes / 60)),
        seed=seed,
        speed=speed,
        upgrade=upgrade,
    )
    _ = options.twin.sites  # reports an invalid site file before any process starts
    try:
        with interrupt_on_sigterm():  # so that every process that the soak started stops with it
            content = run_soak(options, lambda line: echo(line, to_stderr=True))
    except OperationFailed as error:
        _write(report, failed_report(options.repeat, str(error)))
        raise
    _write(report, content)
    echo(report_text(content))
    raise typer.Exit(0 if content["verdict"] == CLEAN else DEVIATED)


def _write(report: Path | None, content: dict[str, Any]) -> None:
    if report is not None:
        report.write_text(json.dumps(content, indent=2) + "\n")


def main() -> NoReturn:
    """Run the soak; exit codes and error sentences are those of `lightwave`."""
    command_line.main(typer.main.get_command(app), "python -m tests.soak")


if __name__ == "__main__":
    main()
