"""`lightwave live soak`: faults at random, and the proof that nothing was lost."""

import json
import signal
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer

from ops.cli.options import seed_option
from ops.cli.types import FILE, Speed

MINUTES_MAX = 7 * 24 * 60.0
FAULTS_A_MINUTE = 2


def soak(
    minutes: Annotated[
        float,
        typer.Option(min=0.1, max=MINUTES_MAX, help="time for faults; start and proof take some more"),
    ] = 30.0,
    pods: Annotated[int, typer.Option(min=1, max=64, help="superpods")] = 4,
    faults: Annotated[
        int | None,
        typer.Option(min=1, max=100_000, help=f"how many [default: {FAULTS_A_MINUTE} a minute]"),
    ] = None,
    seed: Annotated[int, seed_option("of the twin, the faults, the requests")] = 0,
    speed: Annotated[float, typer.Option(click_type=Speed(), help="simulated over wall time")] = 3000.0,
    report: Annotated[
        Path | None, typer.Option(click_type=FILE, metavar="FILE", help="write all that was found, as JSON")
    ] = None,
) -> None:
    """Strike a whole live twin with random faults, and prove that nothing was lost or done twice.

    Starts Kafka, Redis and every process of a twin of its own in a temporary folder, and ends them again.
    """
    from ops.soak.report import in_words
    from ops.soak.run import Soak, run_soak

    signal.signal(signal.SIGTERM, _interrupt)
    wanted = Soak(
        minutes=minutes,
        pods=pods,
        faults=faults or max(1, round(FAULTS_A_MINUTE * minutes)),
        seed=seed,
        speed=speed,
    )
    found = run_soak(wanted, lambda line: typer.echo(line, err=True))
    if report is not None:
        report.write_text(json.dumps(found, indent=2) + "\n")
    typer.echo(in_words(found))
    raise typer.Exit(0 if found["clean"] else 1)


def _interrupt(_sign: int, _frame: FrameType | None) -> None:
    """SIGTERM ends it as Ctrl-C does: in good order."""
    raise KeyboardInterrupt
