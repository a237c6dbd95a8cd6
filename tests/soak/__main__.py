"""`lightwave live soak`: faults at random, and the proof that nothing was lost."""

import json
import signal
from pathlib import Path
from types import FrameType
from typing import Annotated, Any

import typer

from ops.cli.common.options import SiteFiles, seed_option
from ops.cli.common.output import echo
from ops.cli.common.param_types import FILE, NumberParam, SpeedParam

MINUTES_MAX = 7 * 24 * 60.0
JOINS_MAX = 64
FAULTS_A_MINUTE = 2
DEVIATED = 5
"""Exit code: the soak did its work, and the twin did not."""


def soak(
    minutes: Annotated[
        float,
        typer.Option(
            click_type=NumberParam("minutes", 0.1, MINUTES_MAX),
            help="time for faults; start and proof take some more",
        ),
    ] = 30.0,
    pods: Annotated[
        int | None,
        typer.Option(
            min=1, max=64, help="superpods, each a site of its own [default: 4]", show_default=False
        ),
    ] = None,
    site: SiteFiles = None,
    joins: Annotated[
        int,
        typer.Option(
            min=0,
            max=JOINS_MAX,
            help="fabrics of every kind that join while it runs; every second one retires",
        ),
    ] = 2,
    faults: Annotated[
        int | None,
        typer.Option(min=1, max=100_000, help=f"how many [default: {FAULTS_A_MINUTE} a minute]"),
    ] = None,
    seed: Annotated[
        int, seed_option("of the faults, the requests, the fabrics without one of their own")
    ] = 0,
    speed: Annotated[float, typer.Option(click_type=SpeedParam(), help="simulated over wall time")] = 3000.0,
    report: Annotated[
        Path | None, typer.Option(click_type=FILE, metavar="FILE", help="write all that was found, as JSON")
    ] = None,
) -> None:
    """Strike a whole live twin with random faults, and prove that it came back and lost or repeated nothing.

    Starts Kafka, Redis and every process of a twin of its own in a temporary folder, and ends them again.
    Operators ask all the while, and new fabrics join its sites and retire.
    Exit code 5 if the twin deviated from what must hold, 1 if the soak itself failed.
    """
    from shared.basics.errors import InvalidInput, OperationFailed
    from tests.soak.run import PODS, Soak, run_soak
    from tests.soak.soak_report import CLEAN, failed_report, report_text

    signal.signal(signal.SIGTERM, _interrupt)
    if site and pods is not None:
        raise InvalidInput("--pods: not together with --site, whose file says what the site is made of")
    wanted = Soak(
        minutes=minutes,
        pods=PODS if pods is None else pods,
        site_files=tuple(site or ()),
        joins=joins,
        faults=faults or max(1, round(FAULTS_A_MINUTE * minutes)),
        seed=seed,
        speed=speed,
    )
    _ = wanted.twin.sites  # what is wrong with a file is said before anything is started
    try:
        found = run_soak(wanted, lambda line: echo(line, to_stderr=True))
    except OperationFailed as error:
        _write(report, failed_report(wanted.repeat, str(error)))
        raise
    _write(report, found)
    echo(report_text(found))
    raise typer.Exit(0 if found["verdict"] == CLEAN else DEVIATED)


def _write(report: Path | None, found: dict[str, Any]) -> None:
    if report is not None:
        report.write_text(json.dumps(found, indent=2) + "\n")


def _interrupt(_sign: int, _frame: FrameType | None) -> None:
    """SIGTERM ends it as Ctrl-C does: in good order."""
    raise KeyboardInterrupt
