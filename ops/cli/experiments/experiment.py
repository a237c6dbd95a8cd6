"""`lightwave experiment`: availability experiments made of many lab runs."""

import json
import shlex
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click
import typer

from ops.cli.common.command_groups import command_app, examples
from ops.cli.common.name_completion import ExperimentParam
from ops.cli.common.options import OutputOption
from ops.cli.common.output import Form, echo, show, write_or_print
from ops.cli.common.param_types import FILE, OUT_FILE
from ops.cli.common.progress import StatusLine, working
from ops.report.table_style import current_style
from ops.report.tables import count_text, text_table
from shared.basics.errors import Interrupted, InvalidInput, NotFound
from shared.basics.time_format import format_duration
from shared.basics.units import US_PER_S
from shared.runtimes.stop_signals import exit_code_of, interrupt_on_sigterm

if TYPE_CHECKING:
    from ops.experiments.comparison import ExperimentComparison
    from ops.experiments.dataset import RunKey, RunRow
    from ops.experiments.loader import PlannedExperiment
    from ops.experiments.results import Results
    from ops.experiments.steadiness import VariantSteadiness
    from ops.experiments.sweep import SweepProgress

SUFFIX, QUICK_SUFFIX = ".results", ".quick.results"
LOADS_MAX = 20
"""Rows of loads that are shown."""
Document = Annotated[
    str,
    typer.Argument(
        click_type=ExperimentParam(),
        metavar="FILE",
        help="an experiment's file, or the name of a predefined one (`experiment list`)",
    ),
]
Out = Annotated[
    Path | None,
    typer.Option(
        click_type=FILE,
        metavar="DIR",
        help="folder of the results [default: the file's name with .results, in this folder]",
    ),
]
Quick = Annotated[
    bool,
    typer.Option("--quick", help="run two seeds of one day as a trial, with results in a separate folder"),
]

app = command_app("experiment")


@app.callback()
def experiment() -> None:
    """Run availability experiments over many years and seeds."""


@app.command(
    "run", epilog=examples("experiment run hazards --quick", "experiment run mine.yaml --workers 8 --resume")
)
def run(
    file: Document,
    workers: Annotated[
        int | None, typer.Option(min=1, max=256, help="number of worker processes [default: 1]")
    ] = None,
    dask: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="use the Dask cluster with this scheduler, such as tcp://10.0.0.7:8786",
        ),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="continue with the existing results")] = False,
    quick: Quick = False,
    out: Out = None,
    html: Annotated[
        Path | None, typer.Option(click_type=OUT_FILE, metavar="FILE", help="write the report as a page")
    ] = None,
    output: OutputOption = "table",
) -> None:
    """Run the missing runs of an experiment and report on it."""
    from ops.experiments.dask_cluster import cluster_at
    from ops.experiments.dataset import open_dataset
    from ops.experiments.results import results_of
    from ops.experiments.sweep import run_sweep
    from ops.local.software_version import software_version

    if dask is not None and workers is not None:
        raise click.UsageError("--workers cannot be combined with --dask, whose cluster has its own workers")
    planned = _planned(file, quick=quick)
    folder = _folder(file, out, quick=quick)
    before = _steadiness(planned)
    _warn_unsteady(planned, before)
    with (
        interrupt_on_sigterm(),  # so that the workers stop with it
        nullcontext(workers or 1) if dask is None else cluster_at(dask) as those,
        open_dataset(folder, planned, software_version(), resume=resume) as dataset,
    ):
        try:
            with StatusLine() as line:
                swept = run_sweep(
                    planned, dataset, workers=those, on_progress=lambda found: line.say(_progress_text(found))
                )
        except KeyboardInterrupt as error:
            done = len(dataset.done())
            raise Interrupted(
                f"interrupted; {done} runs are kept in {folder}, continue with --resume", exit_code_of(error)
            ) from None
    results = results_of(planned, swept, dataset.series, before)
    _show(results, folder, _repeat_command(file, folder, quick=quick), html, output)
    if results.failed:
        sys.exit(1)


@app.command("validate", epilog=examples("experiment validate mine.yaml", "experiment validate hazards"))
def validate(file: Document) -> None:
    """Check an experiment and all its variants.

    Runs nothing. Shows the load of technicians, spare parts and the scheduler, and whether the runs are long
    enough for a steady state.
    """
    planned = _planned(file)
    head = (
        f"{file}: valid; {count_text(len(planned.variants), 'variant')}, "
        f"{count_text(_runs_max(planned), 'run')} at most; "
        f"{planned.method.sentence}"
    )
    lines = [head, *_remedy_lines(planned), *_load_lines(planned, _steadiness(planned))]
    echo(current_style().wrapped("\n".join(lines)))


@app.command("plan", epilog=examples("experiment plan hazards", "experiment plan mine.yaml --quick"))
def plan(file: Document, quick: Quick = False, output: OutputOption = "table") -> None:
    """Estimate the runs, processor time and disk space needed.

    A short pilot run measures the cost.
    """
    from dataclasses import asdict

    from ops.experiments.result_json import steadiness_json
    from ops.experiments.sweep import estimate_cost

    planned = _planned(file, quick=quick)
    found = asdict(estimate_cost(planned))
    before = _steadiness(planned)
    lines = ["", planned.method.sentence, *_remedy_lines(planned), *_load_lines(planned, before)]
    amounts = [[name.replace("_", " "), value] for name, value in found.items() if name != "why"]
    table = text_table(("WHAT", "AMOUNT"), amounts)
    more = {
        "kernel_with": list(planned.method.remedy),
        "steadiness": [steadiness_json(one) for one in before],
    }
    show(found | more, output, lambda: "\n".join([table, *lines]))


@app.command("status", epilog=examples("experiment status hazards", "experiment status mine.yaml -o json"))
def status(file: Document, quick: Quick = False, out: Out = None, output: OutputOption = "table") -> None:
    """Show the progress of an experiment's runs."""
    planned, folder = _planned(file, quick=quick), _folder(file, out, quick=quick)
    rows = _finished_runs(planned, file, folder)
    failed = sum(row.error is not None for row in rows.values())
    found = {"folder": str(folder), "done": len(rows) - failed, "failed": failed, "most": _runs_max(planned)}
    show(
        found,
        output,
        lambda: text_table(("FOLDER", "DONE", "FAILED", "RUNS-AT-MOST"), [list(found.values())]),
    )


@app.command("report", epilog=examples("experiment report hazards", "experiment report mine.yaml -o json"))
def report(
    file: Document,
    quick: Quick = False,
    out: Out = None,
    html: Annotated[
        Path | None, typer.Option(click_type=OUT_FILE, metavar="FILE", help="write the report as a page")
    ] = None,
    output: OutputOption = "table",
) -> None:
    """Report the results so far, without running anything."""
    from ops.experiments.dataset import Dataset
    from ops.experiments.results import results_of
    from ops.experiments.sweep_result import partial_result

    planned, folder = _planned(file, quick=quick), _folder(file, out, quick=quick)
    rows = _finished_runs(planned, file, folder)
    series = Dataset(folder, planned.experiment.measure).series
    swept = partial_result(planned, rows)
    if not swept.seeds:
        raise NotFound(
            f"{folder}: no seed has all variants yet; {len(rows)} of {_runs_max(planned)} runs exist"
        )
    results = results_of(planned, swept, series, _steadiness(planned))
    _show(results, folder, _repeat_command(file, folder, quick=quick), html, output)


@app.command(
    "compare",
    epilog=examples(
        "experiment compare old.results new.results",
        "experiment compare mine.results --against repairs.technicians=2",
    ),
)
def compare(
    first: Annotated[Path, typer.Argument(click_type=FILE, metavar="DIR", help="a folder of results")],
    second: Annotated[
        Path | None,
        typer.Argument(
            click_type=FILE, metavar="[DIR]", help="a second folder, such as that of another build"
        ),
    ] = None,
    against: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help="compare the variants of one folder with this variant; may be repeated",
        ),
    ] = None,
    output: OutputOption = "table",
) -> None:
    """Compare the results of two experiments, or of variants.

    Variants are matched by their values, or if each folder has only one. If both have the same seeds, runs
    are compared seed by seed; otherwise as two samples (Welch). p-values are corrected for all differences
    (Holm).
    """
    from ops.experiments.comparison import compare as compared
    from ops.experiments.comparison import compare_within, read_stored
    from ops.experiments.comparison import comparison_json as results_json

    results = read_stored(first)
    if (second is None) == (not against):
        raise click.UsageError("give a second folder, or a variant with --against")
    found = (
        compare_within(results, against or ()) if second is None else compared(results, read_stored(second))
    )
    folders = {"first": str(first), "second": str(second or first)}
    show(folders | results_json(found), output, lambda: _comparison_text(found))


@app.command("list", epilog=examples("experiment list", "experiment list -o json"))
def list_ready(output: OutputOption = "table") -> None:
    """List the predefined experiments and their questions."""
    from ops.experiments.library import ready

    rows = [{"name": name, "question": question} for name, question in ready()]
    show(
        rows,
        output,
        lambda: text_table(
            ("NAME", "QUESTION"), [[row["name"], row["question"]] for row in rows], below="QUESTION"
        ),
    )


@app.command("show", epilog=examples("experiment show hazards", "experiment show mine.yaml"))
def show_document(file: Document) -> None:
    """Print an experiment's document as written."""
    from ops.sites.yaml_reader import read_text_file

    try:
        echo(read_text_file(_path(file)).rstrip())
    except InvalidInput as error:
        raise InvalidInput(f"{file}: {error}") from None


@app.command("new", epilog=examples("experiment new mine.yaml", "experiment new mine.yaml --from hazards"))
def new(
    file: Annotated[Path, typer.Argument(click_type=FILE, metavar="FILE", help="the file to write")],
    source: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="NAME",
            help="copy a predefined experiment (`experiment list`), or a file [default: a short example]",
        ),
    ] = None,
) -> None:
    """Write a template of an experiment's document."""
    from ops.experiments.library import TEMPLATE
    from ops.sites.yaml_reader import read_text_file

    try:
        text = TEMPLATE if source is None else read_text_file(_path(source))
    except InvalidInput as error:
        raise InvalidInput(f"--from {source}: {error}") from None
    try:
        with file.open("x", encoding="utf-8") as fresh:
            fresh.write(text)
    except FileExistsError:
        raise InvalidInput(f"{file}: already exists; choose another name") from None
    echo(f"written to {file}; `lightwave experiment run {file}` runs it", to_stderr=True)


@app.command("measures", epilog=examples("experiment measures", "experiment measures -o json"))
def measures(output: OutputOption = "table") -> None:
    """List the measures and their units."""
    from services.totals.measures import MEASURES

    rows = [
        {
            "name": name,
            "unit": one.unit,
            "of": sorted(one.kinds),
            "over_time": one.over_time,
            "meaning": one.meaning,
        }
        for name, one in MEASURES.items()
    ]
    table = [[row["name"], row["unit"], ", ".join(row["of"]), row["meaning"]] for row in rows]  # type: ignore[arg-type]  # a list of words
    show(rows, output, lambda: text_table(("NAME", "UNIT", "OF", "MEANING"), table, below="MEANING"))


@app.command("schema", epilog=examples("experiment schema", "experiment schema > experiment.schema.json"))
def schema() -> None:
    """Print the JSON Schema of an experiment's document.

    Editors use it to complete the document.
    """
    from ops.experiments.schema import Experiment

    echo(json.dumps(Experiment.model_json_schema(), indent=2, ensure_ascii=False))


def _planned(file: str, *, quick: bool = False) -> "PlannedExperiment":
    from ops.experiments.loader import quick_version as quick_form
    from ops.experiments.loader import read_experiment

    with working(f"reading {file}"):
        planned = read_experiment(_path(file))
    if quick:
        return quick_form(planned)
    for note in planned.notes:
        echo(note, to_stderr=True)
    return planned


def _remedy_lines(planned: "PlannedExperiment") -> list[str]:
    """The lines of the document that make the kernel possible, if there are any."""
    from ops.experiments.method import REMEDY

    lines = planned.method.remedy
    return [REMEDY, *(f"  {line}" for line in lines)] if lines else []


def _load_lines(planned: "PlannedExperiment", before: "Sequence[VariantSteadiness]") -> list[str]:
    """A table of the loads of all variants, and what is not steady."""
    from ops.experiments.result_text import LOAD_HEADERS, load_rows, steadiness_lines

    rows = load_rows(before)
    if not rows:
        return []
    left = len(rows) - LOADS_MAX
    lines = [
        "",
        text_table(LOAD_HEADERS, rows[:LOADS_MAX], above="VARIANT", whole=("OF",)),
        *([f"and {count_text(left, 'more load')}"] if left > 0 else []),
    ]
    problems = steadiness_lines(before)
    return [*lines, *(["", *problems, _advice(planned)] if problems else [])]


def _advice(planned: "PlannedExperiment") -> str:
    if planned.experiment.steady:
        return (
            "a claim about such a variant is not judged; give more people, parts or days, or write "
            "steady: false to study overload"
        )
    return "a study of overload (steady: false): figures are of their days alone"


def _warn_unsteady(planned: "PlannedExperiment", before: "Sequence[VariantSteadiness]") -> None:
    """Before the runs, what is not steady. Not of a quick run, which is too short to be, nor of a document
    that studies overload; its results show it."""
    if planned.is_quick or not planned.experiment.steady:
        return
    from ops.experiments.result_text import steadiness_lines

    for line in steadiness_lines(before):
        echo(line, to_stderr=True)


def _steadiness(planned: "PlannedExperiment") -> "tuple[VariantSteadiness, ...]":
    """Check the loads of each variant, before any run. A terminal shows progress, because
    thousands of variants take long."""
    from ops.experiments.steadiness import steadiness_before

    whole = len(planned.variants)
    with StatusLine() as line:
        return steadiness_before(planned, lambda done: line.say(f"loads of {done} of {whole} variants"))


def _path(file: str) -> Path:
    """Return the file, or the file of the predefined experiment with this name."""
    from ops.experiments.library import library_path

    path = Path(file)
    if path.exists() or path.suffix or "/" in file:
        return path
    return library_path(file)


def _folder(file: str, out: Path | None, *, quick: bool) -> Path:
    return Path(Path(file).stem + (QUICK_SUFFIX if quick else SUFFIX)) if out is None else out


def _runs_max(planned: "PlannedExperiment") -> int:
    seeds = planned.experiment.seeds
    return len(planned.variants) * (seeds.count or seeds.most or 0)


def _repeat_command(file: str, folder: Path, *, quick: bool) -> str:
    """The command that repeats all runs. It needs a new folder, because `folder` has runs already."""
    numbered = (folder.with_name(f"{folder.stem}-{n}{folder.suffix}") for n in count(2))
    new = next(path for path in numbered if not path.exists())
    quick_option = ["--quick"] if quick else []
    return shlex.join(["lightwave", "experiment", "run", file, *quick_option, "--out", str(new)])


def _finished_runs(planned: "PlannedExperiment", file: str, folder: Path) -> "dict[RunKey, RunRow]":
    """Return the stored runs of a folder, if they belong to this document."""
    from ops.experiments.dataset import Dataset, require_same_identity

    if not folder.is_dir():
        raise NotFound(f"{folder}: there are no results yet; `lightwave experiment run {file}` creates them")
    require_same_identity(folder, planned)
    return Dataset(folder, planned.experiment.measure).done()


def _show(results: "Results", folder: Path, command: str, html: Path | None, output: Form) -> None:
    """Show the results of runs: as an HTML page, as text, or as JSON or YAML."""
    from ops.experiments.dataset import IDENTITY, Dataset, read_identity
    from ops.experiments.result_json import results_json

    build = str(read_identity(folder / IDENTITY).get("software"))
    if html is not None:
        from ops.experiments.html_report import html_report

        write_or_print(html_report(results, command, build), html)
    cpu_s = Dataset(folder, results.planned.experiment.measure).cpu_s()
    notes = results.planned.notes
    content = (
        results_json(results)
        | ({"notes": list(notes)} if notes else {})
        | {
            "folder": str(folder),
            "repeat": command,
            "software": build,
            "cpu_s": cpu_s,
        }
    )
    show(content, output, lambda: _results_text(results, command))


def _comparison_text(found: "ExperimentComparison") -> str:
    from ops.experiments.interval_text import figure_text
    from ops.experiments.result_text import difference_note

    rows = [
        [
            one.compared.variant.words,
            one.compared.measure,
            figure_text(one.first, one.compared.measure),
            figure_text(one.second, one.compared.measure),
            figure_text(one.compared.interval, one.compared.measure, difference=True),
            one.compared.interval.runs,
            "; ".join(
                filter(
                    None,
                    (
                        one.steadiness,
                        difference_note(one.compared),
                        f"{one.left_out} runs left out" if one.left_out else "",
                    ),
                )
            ),
        ]
        for one in found.contrasts
    ]
    lines = [f"{name}: {before} there, {after} here" for name, (before, after) in found.differs.items()]
    lines += [f"only one has {variant.words}" for variant in found.alone]
    headers = ("VARIANT", "MEASURE", "FIRST", "SECOND", "DIFFERENCE", "RUNS", "NOTE")
    table = _figure_table(headers, rows)
    return "\n".join([*lines, *([""] if lines else []), table])


def _results_text(results: "Results", command: str) -> str:
    from ops.experiments.interval_text import figure_text
    from ops.experiments.result_text import (
        BACKLOG_HEADERS,
        answer_text,
        backlog_rows,
        difference_note,
        estimate_note,
        halves_text,
        steadiness_lines,
    )

    rows = [
        [
            one.variant.words,
            one.measure,
            figure_text(one.interval, one.measure),
            one.interval.runs,
            *halves_text(one),
            estimate_note(one, results),
        ]
        for one in results.figures
    ]
    lines = [results.planned.experiment.question, answer_text(results), results.planned.method.sentence, ""]
    headers = ("VARIANT", "MEASURE", "FIGURE", "RUNS", "FIRST-HALF", "SECOND-HALF", "NOTE")
    lines.append(_figure_table(headers, rows))
    if results.compared:
        rows = [
            [
                one.variant.words,
                one.measure,
                figure_text(one.interval, one.measure, difference=True),
                difference_note(one, results),
            ]
            for one in results.compared
        ]
        lines += ["", f"against {results.compared[0].against.words}"]
        lines.append(_figure_table(("VARIANT", "MEASURE", "DIFFERENCE", "NOTE"), rows))
    if backlogs := backlog_rows(results.steadiness, is_quick=results.planned.is_quick):
        lines += ["", text_table(BACKLOG_HEADERS, backlogs, above="VARIANT", whole=("BACKLOG",))]
    lines += steadiness_lines([*results.unsteady.values()])
    if not results.is_enough:
        lines += ["", f"the requested precision was not reached with {count_text(results.seeds, 'seed')}"]
    lines += [f"failed: variant {row.variant}, seed {row.seed}: {row.error}" for row in results.failed]
    return "\n".join([*lines, "", f"repeat: {command}"])


def _figure_table(headers: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A table of figures of variants. A narrow one has each variant above its rows and notes below, so that
    variants, measures and figures stay whole."""
    return text_table(
        headers,
        rows,
        ("FIRST-HALF", "SECOND-HALF"),
        keep=("FIGURE", "DIFFERENCE"),
        below="NOTE",
        above="VARIANT",
        whole=("MEASURE", "FIGURE", "FIRST", "SECOND", "DIFFERENCE"),
    )


def _progress_text(found: "SweepProgress") -> str:
    left = "" if found.left_s is None else f", {format_duration(round(found.left_s) * US_PER_S)} left"
    failed = f", {found.failed} failed" if found.failed else ""
    return f"{found.done} of {found.wanted} runs{failed}{left}"
