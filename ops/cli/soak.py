"""The command line of the soak."""

import json
import signal
from pathlib import Path
from types import FrameType
from typing import Any

import click

from ops.cli.run import FILE, SEED
from ops.cli.words import Speed

MINUTES_MAX = 7 * 24 * 60.0
FAULTS_A_MINUTE = 2
DEVIATED = 5
"""Exit code: the soak did its work, and the twin did not."""


@click.command()
@click.option(
    "--minutes",
    type=click.FloatRange(0.1, MINUTES_MAX),
    default=30.0,
    show_default=True,
    help="time for faults; start and proof take some more",
)
@click.option("--pods", type=click.IntRange(1, 64), default=4, show_default=True, help="superpods")
@click.option(
    "--faults", type=click.IntRange(1, 100_000), help=f"how many [default: {FAULTS_A_MINUTE} a minute]"
)
@click.option("--seed", type=SEED, default=0, show_default=True, help="of the twin, the faults, the requests")
@click.option("--speed", type=Speed(), default="3000", show_default=True, help="simulated over wall time")
@click.option("--report", type=FILE, metavar="FILE", help="write all that was found, as JSON")
@click.pass_context
def soak(
    ctx: click.Context,
    minutes: float,
    pods: int,
    faults: int | None,
    seed: int,
    speed: float,
    report: Path | None,
) -> None:
    """Strike a whole live twin with random faults, and prove that nothing was lost or done twice.

    Starts Kafka, Redis and every process of a twin of its own in a temporary folder, and ends them again.
    Exit code 5 if the twin deviated from what must hold, 1 if the soak itself failed.
    """
    from ops.soak.report import CLEAN, failure, in_words
    from ops.soak.run import Soak, run_soak
    from shared.basics.errors import OperationFailed

    signal.signal(signal.SIGTERM, _interrupt)
    wanted = Soak(
        minutes=minutes,
        pods=pods,
        faults=faults or max(1, round(FAULTS_A_MINUTE * minutes)),
        seed=seed,
        speed=speed,
    )
    try:
        found = run_soak(wanted, lambda line: click.echo(line, err=True))
    except OperationFailed as error:
        _write(report, failure(wanted.repeat, str(error)))
        raise
    _write(report, found)
    click.echo(in_words(found))
    ctx.exit(0 if found["verdict"] == CLEAN else DEVIATED)


def _write(report: Path | None, found: dict[str, Any]) -> None:
    if report is not None:
        report.write_text(json.dumps(found, indent=2) + "\n")


def _interrupt(_sign: int, _frame: FrameType | None) -> None:
    """SIGTERM ends it as Ctrl-C does: in good order."""
    raise KeyboardInterrupt
