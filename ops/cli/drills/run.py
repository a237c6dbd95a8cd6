"""`lightwave drill run` and `watch`: run a drill on a twin or on a copy of it, and follow it."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import click
import typer

from ops.cli.common.name_completion import NameParam
from ops.cli.common.options import (
    Comment,
    Fabric,
    OutputOption,
    RequestKey,
    seed_option,
    settings_option,
    timeout_option,
)
from ops.cli.common.output import echo, show
from ops.cli.common.param_types import FILE, DurationParam
from ops.cli.common.waiting import after_text, waiting_terms
from ops.cli.operate.actions import RequestNote, request_answer
from ops.client.http_client import Client, RequestFailed
from ops.client.waiting import wait_for_outcome
from ops.drills.progress_text import DrillProgress
from ops.drills.report_tables import verdict_sentence
from ops.drills.running_drill import begun_drill, fetch_journal, follow_drill
from ops.drills.text_report import text_report
from ops.requests.object_names import expand_name
from shared.basics.json_types import JsonObject
from shared.basics.units import US_PER_S

if TYPE_CHECKING:
    from schemas.api.rows import DrillRow

EXIT_DEVIATED = 1
"""Exit code of a drill that deviated, or did not complete."""
REHEARSED = "Rehearsed on a copy of the twin, to which nothing happened."
WarmUp = Annotated[
    int,
    typer.Option("--warm-up", click_type=DurationParam(), metavar="DURATION", help="in the lab: before it"),
]
Judged = Annotated[
    bool,
    typer.Option(
        "--judge", help="in the lab: instead of the score, check invariants and starvation, as `drill swarm`"
    ),
]
DrillArgument = Annotated[
    str, typer.Argument(click_type=NameParam("drills"), metavar="DRILL", help="such as pod-0/drill-3")
]


def run(
    file: Annotated[
        Path, typer.Argument(click_type=FILE, metavar="FILE", help="the document, or its plan (-o json)")
    ],
    where: Annotated[
        Literal["twin", "fork", "lab"],
        typer.Option(
            "--in",
            help="run it on the twin, or rehearse it on a copy of the twin's state, which ends with it; or "
            "on new fabrics in the lab, which also scores it",
        ),
    ] = "twin",
    seed: Annotated[
        int, seed_option("draws targets, delays and severities; in the lab, also the fabrics")
    ] = 0,
    seeds: Annotated[
        int, typer.Option("--seeds", min=1, max=10_000, help="in the lab: run it with this many seeds")
    ] = 1,
    warm_up_s: WarmUp = 2 * 86_400,
    pairs: Annotated[
        list[str] | None, settings_option("in the lab: a setting of the pod; repeatable")
    ] = None,
    site: Annotated[
        Path | None,
        typer.Option("--site", click_type=FILE, metavar="FILE", help="in the lab: a site file"),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            min=1, max=64, help="in the lab: number of worker processes [default: the number of cores]"
        ),
    ] = None,
    judged: Judged = False,
    variables: Annotated[
        list[str] | None,
        typer.Option("--var", metavar="NAME=VALUE", help="value of the document's configuration; repeatable"),
    ] = None,
    fabric: Fabric = None,
    wait: Annotated[
        bool, typer.Option("--wait/--no-wait", help="follow it to its end, or only start it")
    ] = True,
    timeout_s: Annotated[int | None, timeout_option()] = None,
    key: RequestKey = None,
    comment: Comment = None,
    output: OutputOption = "table",
) -> None:
    """Run a drill, and follow it to its end.

    Ctrl-C ends only this command: `lightwave drill stop` stops the drill. Exit codes: 0 it completed and did
    not deviate; 1 it deviated, was stopped or cancelled, or failed to run; 2 the document is not valid; 3 a
    part does not exist; 4 no twin.
    """
    from ops.drills.plan_file import read_plan

    if where == "lab":
        options = LabOptions(seed, seeds, warm_up_s, tuple(pairs or ()), site, jobs, judged)
        _run_in_lab(file, variables or [], options, output)
        return
    if judged:
        raise click.UsageError("--judge requires --in lab")
    plan = read_plan(file, variables or ())
    client = Client()
    if where == "fork":
        from ops.drills.rehearsal import rehearse

        _finish(rehearse(client, plan, seed, fabric), output, whole=True)
        return
    body: dict[str, object] = {"plan": plan.model_dump(mode="json"), "seed": seed, "fabric": fabric}
    answer = request_answer(client, "/v1/drills", RequestNote(key, comment), body, output)
    name = begun_drill(answer)
    if name is None:
        report = wait_for_outcome(client, answer.id, waiting_terms(timeout_s))
        name = None if report is None else begun_drill(report)  # type: ignore[arg-type]  # same outcome
    if name is None:
        raise RequestFailed(f"{answer.id}: has not started{after_text(timeout_s)}")
    if not wait:
        show(answer, output, lambda: f"{name} begins; `lightwave drill watch {name}` follows it")
        return
    _follow(client, name, timeout_s, output)


@dataclass(frozen=True, slots=True)
class LabOptions:
    """The options of a run in the lab."""

    seed: int
    seeds: int
    warm_up_s: int
    pairs: tuple[str, ...]
    site: Path | None
    jobs: int | None
    judged: bool = False


def _run_in_lab(file: Path, variables: list[str], options: LabOptions, output: str) -> None:
    from ops.cli.drills.lab import run_in_lab
    from ops.drills.suite_plan import LabSettings
    from ops.drills.variables import parse_variables

    settings = LabSettings(
        options.seed,
        options.warm_up_s * US_PER_S,
        options.site,
        options.pairs,
        parse_variables(variables),
    )
    seeds = range(options.seed, options.seed + options.seeds)
    if options.judged:
        from ops.cli.drills.swarm import judge_in_lab

        if options.seeds > 1:
            raise click.UsageError("--judge: judges one seed; leave out --seeds")
        if not judge_in_lab(file, settings, output):
            raise typer.Exit(EXIT_DEVIATED)
        return
    jobs = options.jobs or len(os.sched_getaffinity(0))
    if not run_in_lab(file, settings, seeds, jobs, output):
        raise typer.Exit(EXIT_DEVIATED)


def watch(
    drill: DrillArgument,
    timeout_s: Annotated[int | None, timeout_option()] = None,
    output: OutputOption = "table",
) -> None:
    """Follow a drill to its end.

    Exit codes as for `drill run`.
    """
    client = Client()
    _follow(client, expand_name(client, drill), timeout_s, output)


def _follow(client: Client, name: str, timeout_s: int | None, output: str) -> None:
    """Print what the drill does, and its result. Raises RequestFailed at the timeout."""
    progress = DrillProgress()

    def seen(row: "DrillRow") -> None:
        if output == "table":
            with client.reading():
                for line in progress.lines(row):
                    echo(line)

    if output == "table":
        echo(name)
    if follow_drill(client, name, seen, timeout_s, waiting_terms(timeout_s).note) is None:
        raise RequestFailed(f"{name}: has not ended{after_text(timeout_s)}; it continues")
    _finish(fetch_journal(client, name), output)


def _finish(journal: JsonObject, output: str, *, whole: bool = False) -> None:
    """Print the result of a drill that has ended, with `whole` its report, and exit with its code."""
    found: Any = journal["lightwave"]

    def text() -> str:
        return f"{REHEARSED}\n\n{text_report(found).rstrip()}" if whole else verdict_sentence(found)

    show(journal, output, text)  # type: ignore[arg-type]  # the three forms
    if found["status"] != "completed" or found["deviated"]:
        raise typer.Exit(EXIT_DEVIATED)
