"""`lightwave drill swarm`: searches for drills in which the product is at fault."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ops.cli.common.options import OutputOption, seed_option
from ops.cli.common.output import echo, show
from ops.cli.common.param_types import FILE, DurationParam
from ops.cli.drills.lab import Jobs
from shared.basics.errors import Interrupted, InvalidInput

if TYPE_CHECKING:
    from ops.drills.suite_plan import LabSettings
    from ops.drills.swarm.hunt import Finding, SeedResult, SwarmResult

SEED_END = 2**52
"""Seeds of drills are lower."""
EXIT_FOUND = 1
"""The exit code if a drill showed a problem."""
FOLDER = Path("drill-swarm")


def swarm(
    seeds: Annotated[
        int, typer.Option("--seeds", min=1, max=1_000_000, help="number of drills to draw, one for each seed")
    ] = 200,
    budget_s: Annotated[
        int,
        typer.Option(
            "--budget",
            click_type=DurationParam(),
            metavar="DURATION",
            help="wall time; then it stops with what it has found",
        ),
    ] = 600,
    seed: Annotated[int, seed_option("the first seed")] = 0,
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            click_type=FILE,
            metavar="DIR",
            help="folder for the documents, new or empty; it is made with the first finding",
        ),
    ] = FOLDER,
    jobs: Jobs = 1,
    shrink: Annotated[
        bool, typer.Option("--shrink/--no-shrink", help="shrink what fails to a minimal document")
    ] = True,
    cost: Annotated[
        bool, typer.Option("--cost/--no-cost", help="also measure CPU time, which differs from run to run")
    ] = True,
    output: OutputOption = "table",
) -> None:
    """Search for drills that show a fault of the product.

    It draws drills at random and runs them in the lab. A drill is kept if it breaks an invariant, starves a
    slice, does not end, raises an error, or costs more than ten times the CPU time of a calm hour per
    message. Each is shrunk to a minimal document in --out, which `lightwave drill run FILE --in lab --judge`
    repeats. The same seed draws the same drill.

    Exit codes: 0 nothing was found; 1 something was found; 130 Ctrl-C, after the result so far.
    """
    from ops.cli.common.progress import StatusLine
    from ops.drills.swarm.findings_folder import FindingsFolder
    from ops.drills.swarm.hunt import SwarmPlan, run_swarm
    from ops.drills.swarm.swarm_text import finding_row, swarm_json, swarm_text

    if seed + seeds > SEED_END:
        raise InvalidInput(f"--seed {seed}: is not allowed; must be at most {SEED_END - seeds}")
    folder = FindingsFolder(out)
    files: list[Path] = []

    with StatusLine() as status:

        def seen(result: "SwarmResult", one: "SeedResult", fresh: "list[Finding]") -> None:
            for finding in fresh:
                files.append(folder.write(finding))
                echo(f"seed {one.seed}: {finding_row(finding, files[-1])}", to_stderr=True)
            found = len(result.findings)
            status.say(f"{result.seeds_run} of {result.seeds_planned} seeds, {found} found")

        result = run_swarm(SwarmPlan(range(seed, seed + seeds), budget_s, jobs, shrink, cost), seen)
    show(swarm_json(result, files), output, lambda: swarm_text(result, files))
    if result.stop_signal is not None:
        raise Interrupted("the swarm was interrupted", 128 + result.stop_signal)
    if result.findings:
        raise typer.Exit(EXIT_FOUND)


def judge_in_lab(file: Path, settings: "LabSettings", output: str) -> bool:
    """Judge a document in the lab as the swarm does, and show the problems; whether there are none."""
    from ops.drills.suite_plan import lab_drill
    from ops.drills.swarm.judge import judge
    from ops.drills.swarm.swarm_text import judgement_json, judgement_text

    found = judge(lab_drill(file, settings))
    content = judgement_json(found)
    show(content, output, lambda: judgement_text(found))  # type: ignore[arg-type]  # the three forms
    return not found.problems
