"""`lightwave drill score` and `suite`, and `drill run --in lab`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click
import typer

from ops.cli.common.options import OutputOption
from ops.cli.common.output import show
from ops.cli.common.param_types import FILE, OUT_FILE
from ops.cli.common.progress import ProgressLine
from shared.basics.errors import InvalidInput

if TYPE_CHECKING:
    from ops.drills.score.figures import DrillScore
    from ops.drills.suite_plan import LabSettings

Jobs = Annotated[int, typer.Option(min=1, max=64, help="number of worker processes")]


def score(
    source: Annotated[
        str,
        typer.Argument(
            metavar="DRILL",
            help="a drill of the twin, such as pod-0/drill-3; its journal, a .json file; or a log file, also "
            ".zst or .gz",
        ),
    ],
    drill: Annotated[
        str | None,
        typer.Option("--drill", metavar="DRILL", help="of a log file with several, such as pod-0/drill-3"),
    ] = None,
    output: OutputOption = "table",
) -> None:
    """Score a drill from the log of its site.

    It compares the drill with the true faults. Each figure names the message that decided it.
    """
    from ops.drills.score_text import score_json, score_text

    found = _score(source, drill)
    show(score_json(found), output, lambda: score_text(found))


def _score(source: str, drill: str | None) -> "DrillScore":
    from ops.client.http_client import Client
    from ops.drills.log_score import score_log
    from ops.drills.twin_score import NAME, journal_record, score_twin

    is_name = NAME.fullmatch(source) is not None
    record = None if is_name else journal_record(Path(source))
    if not is_name and record is None:
        return score_log(Path(source), drill)
    if drill is not None:
        raise InvalidInput("--drill: only a log file has several drills; leave it out")
    return score_twin(Client(), source if record is None else str(record["drill"]), record)


def suite(
    folder: Annotated[
        Path | None,
        typer.Argument(
            click_type=FILE, metavar="[DIR]", help="a folder of documents; default: the standard suite"
        ),
    ] = None,
    scores: Annotated[
        Path | None,
        typer.Option(
            "--scores", click_type=OUT_FILE, metavar="FILE", help="keep the scores in this JSON file"
        ),
    ] = None,
    run: Annotated[
        bool, typer.Option("--run/--no-run", help="run the drills in the lab, or only show")
    ] = True,
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="NAME", help="only this document; repeatable")
    ] = None,
    compare: Annotated[
        bool,
        typer.Option(
            "--compare", help="run each drill with other parameters, too, to see which would have saved work"
        ),
    ] = False,
    jobs: Jobs = 1,
    output: OutputOption = "table",
) -> None:
    """Run a suite of drills in the lab, and show the scores.

    With `--scores`, earlier scores are kept for documents that do not run now; `--no-run` shows which have
    never run, and which ran another document or longer ago than 30 days.
    """
    from ops.drills.suite_plan import STANDARD
    from ops.drills.suite_scores import suite_json, suite_scores
    from ops.drills.suite_text import suite_text

    if compare and not run:
        raise click.UsageError("--compare: cannot be combined with --no-run")
    rows = suite_scores(folder or STANDARD, scores, tuple(only or ()), jobs if run else 0, compare=compare)
    show(suite_json(rows), output, lambda: suite_text(rows))


def run_in_lab(file: Path, settings: "LabSettings", seeds: range, jobs: int, output: str) -> bool:
    """Run a document in the lab over seeds and show the scores; whether all completed without a deviation."""
    from ops.drills.lab_runs import run_lab_drills
    from ops.drills.score_text import runs_json, runs_text
    from ops.drills.suite_plan import lab_drill

    plans = [lab_drill(file, settings, seed=seed) for seed in seeds]
    with ProgressLine(lambda done, _: f"{done:.0f} of {len(plans)} runs", len(plans)) as line:
        runs = run_lab_drills(plans, jobs, line.report_progress)
    show(runs_json(runs), output, lambda: runs_text(runs))  # type: ignore[arg-type]  # the three forms
    return all(one.score.status == "completed" and not one.score.deviated for one in runs)
