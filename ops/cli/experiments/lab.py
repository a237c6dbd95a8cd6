"""`lightwave lab`: runs the services in virtual time."""

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click
import typer

from ops.cli.common.command_groups import command_app, examples
from ops.cli.common.options import (
    CalibrationOption,
    KindOfFabric,
    LogJson,
    OutputOption,
    Pods,
    SiteFiles,
    seed_option,
    settings_option,
)
from ops.cli.common.output import Form, show, write_or_print
from ops.cli.common.param_types import FILE, OUT_FILE, NumberParam
from ops.cli.common.progress import end_note, shows_progress
from ops.cli.experiments.lab_import import IMPORTS
from ops.report.tables import setting_text, text_table
from shared.basics.errors import Interrupted
from shared.basics.time_format import format_duration

if TYPE_CHECKING:
    from ops.lab.reports import LabReport
    from ops.lab.run import RunPlan

DAYS_MAX = 36_500
SLICES = ("requested", "balked", "completed", "evicted", "refused", "running", "queued", "swapped")
SLICE_HEADINGS = {"balked": "NOT-REQUESTED"}
"""Count of slices → its heading, if it differs from the count's name."""
TraceOption = Annotated[
    Path | None,
    typer.Option(
        click_type=FILE,
        metavar="FILE",
        help="CSV file of recorded requests, used in every pod instead of random arrivals; columns "
        "submit_s, duration_s, chips and optionally shape, twisted, priority, owner, tier and "
        "estimate_s",
    ),
]
TraceTimeOption = Annotated[
    str | None,
    typer.Option(
        "--trace-from",
        metavar="TIME",
        help="time in the trace at which the run starts; earlier rows are left out: seconds as in submit_s, "
        "3d12h, or a date with its zone if submit_s counts from 1970 [default: 0]",
    ),
]
TraceUntilOption = Annotated[
    str | None,
    typer.Option(
        "--trace-until",
        metavar="TIME",
        help="time in the trace from which rows are left out [default: play all rows in the run]",
    ),
]
FaultsOption = Annotated[
    Path | None,
    typer.Option(
        click_type=FILE,
        metavar="FILE",
        help="CSV file of recorded faults, in addition to the random ones; columns kind, target, "
        "begin_s, for_s and optionally severity and onset_s; times count like those of --inject",
    ),
]
WarmupOption = Annotated[
    float,
    typer.Option(
        click_type=NumberParam("days", 0, DAYS_MAX),
        metavar="DAYS",
        help="days to simulate before measuring starts",
    ),
]
InjectOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="KIND:TARGET@TIME+FOR[,severity=N][,onset=12h]",
        help="inject a fault, such as ocs:pod-0/ocs-17@2d+10m; TIME counts from the start, "
        "including the warm-up; without +FOR the fault lasts until repaired; severity and "
        "onset as in `lightwave inject`; may be repeated",
    ),
]
FromOption = Annotated[
    str | None,
    typer.Option(
        "--from",
        metavar="TWIN[@TIME]",
        help="start from a twin's state instead of new fabrics: its data folder, its URL or a "
        "fork's name, and a time as for --at [default: now]; or a .snapshot file",
    ),
]

app = command_app("lab")


@app.callback()
def lab() -> None:
    """Simulate fabrics in virtual time, faster than real time."""


@app.command(
    "run",
    epilog=examples(
        "lab run --days 30 --seed 7 --log month.jsonl.zst",
        "lab run --pods 4 --days 7 --inject ocs:pod-0/ocs-17@2d+10m",
    ),
)
def lab_run(
    pods: Pods = None,
    kind: KindOfFabric = None,
    site: SiteFiles = None,
    days: Annotated[
        float,
        typer.Option(
            click_type=NumberParam("days", 0, DAYS_MAX, above=True), help="days to simulate after the warm-up"
        ),
    ] = 1.0,
    seed: Annotated[
        int | None, seed_option("seed of the fabrics, unless a site file sets it [default: 0]")
    ] = None,
    trace: TraceOption = None,
    trace_from: TraceTimeOption = None,
    trace_until: TraceUntilOption = None,
    faults: FaultsOption = None,
    warmup: WarmupOption = 0.0,
    inject: InjectOption = None,
    log: Annotated[
        Path | None,
        typer.Option(click_type=FILE, metavar="FILE", help="write the log; .zst and .gz compress it"),
    ] = None,
    chart: Annotated[
        Path | None,
        typer.Option(click_type=OUT_FILE, metavar="FILE", help="draw goodput over time to this .html file"),
    ] = None,
    pairs: Annotated[
        list[str] | None,
        settings_option(
            "set a parameter; `lab config` lists them; with @TIME, such as failures.host_per_day=0.1@5d, "
            "change it during the run, if `set --list` has it; may be repeated"
        ),
    ] = None,
    calibration: CalibrationOption = None,
    start_from: FromOption = None,
    jobs: Annotated[int, typer.Option(min=1, max=64, help="number of worker processes")] = 1,
    output: OutputOption = "table",
    log_json: LogJson = False,
) -> None:
    """Simulate fabrics for a number of days and print a report.

    With --from, the random draws are the twin's own: the result is the twin's future if nobody requests
    anything else.
    """
    from ops.cli.common.log_format import configure_logging
    from ops.cli.experiments.lab_inputs import planned_run, run_inputs
    from ops.lab.run import partial_path, repeat_command, run_lab
    from ops.sites.site_plans import SIMPLE_WORLD, NewTwinOptions

    configure_logging(as_json=log_json)
    _check(chart)
    texts = (pairs or (), inject or ())
    inputs, fixed = run_inputs(trace, (trace_from, trace_until), faults, *texts)
    requested = NewTwinOptions(pods, kind, seed, fixed, tuple(site or ()), calibration)
    planned = planned_run(requested, inputs, days, warmup, start_from)
    plan = replace(planned.plan, spans=chart is not None)
    if chart is not None:
        check_chart(plan)
    with _progress_bar() as progress:
        words = repeat_command(requested, plan, inputs, planned.start)
        result = run_lab(plan, jobs=jobs, log=log, repeat=words, progress=progress, recorded=planned.recorded)
    if chart is not None:
        _draw(chart, result)
    is_simple = requested.is_simple_world and start_from is None
    note = f"{SIMPLE_WORLD}; --calibration field is closer to real fleets" if is_simple else ""
    show(result.json(), output, lambda: _summary(result, note))
    if result.interrupted:
        kept = "" if log is None else f"; its log up to there is {partial_path(log)}"
        raise Interrupted(f"the run was interrupted{kept}", 128 + (result.stop_signal or signal.SIGINT))


def _check(chart: Path | None) -> None:
    if chart is not None and chart.suffix.lower() != ".html":
        raise click.UsageError(f"--chart {chart}: is not a page; must end in .html")


def check_chart(plan: "RunPlan") -> None:
    """Raise UsageError if a run has no pods, because the chart shows the goodput of pods."""
    from schemas.config.pods import AnyPodConfig

    kinds = {config.kind: config for site in plan.sites for config in site.fabrics.values()}
    if not any(isinstance(config, AnyPodConfig) for config in kinds.values()):
        raise click.UsageError(
            f"--chart: draws the goodput of pods, and a {' or a '.join(kinds)} has none; leave it out"
        )


def _draw(chart: Path, result: "LabReport") -> None:
    """Draw goodput over time on the page, and do not print it."""
    from ops.report.goodput_page import goodput_page

    charts = [
        (report.fabric, past.span.model_dump(), [span.model_dump() for span in past.spans])
        for report in result.fabrics
        if (past := report.history) is not None
    ]
    note = f"Made by `{result.repeat}`; {result.warmup_days:g} days of warm-up are left out."
    write_or_print(goodput_page("Where chip-time went", note, charts), chart)


@contextmanager
def _progress_bar() -> Iterator[Callable[[float], None] | None]:
    """Show a progress bar on stderr if the run may show progress; None otherwise."""
    if not shows_progress():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    end_note()
    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("lab", total=1.0)
        yield lambda done: bar.update(task, completed=done)


def _summary(result: "LabReport", note: str = "") -> str:
    """The tables, the digests and how to repeat the run; `note` is a sentence about it."""
    rate = f"{result.messages_per_s:,} a second"
    whole, covered = "repeat", []
    if result.interrupted:
        whole = "the whole run, which has other digests"
        covered = [f"interrupted: figures of {result.fabric_days:.2f} fabric-days behind the warm-up"]
    tables = [table for table in (_pod_table(result), _network_table(result)) if table]
    return "\n".join(
        [
            "\n\n".join(tables) or "no figures: it ended within its warm-up",
            *covered,
            *([note] if note else []),
            "",
            f"{result.messages:,} messages in {result.wall_s:.1f} s, {rate}",
            f"log {result.log_sha256}",
            f"state {result.state_sha256}",
            f"{whole}: {result.repeat}",
        ]
    )


def _pod_table(result: "LabReport") -> str:
    """Format the table of pods: slices, utilisation, availability, faults, repairs, and the durations of
    slices."""
    from ops.lab.reports import cube_availability, productive_share
    from services.totals.fabric_spans import PodSpan

    headers = (
        *("FABRIC", "KIND", "SITE", *(SLICE_HEADINGS.get(word, word.upper()) for word in SLICES)),
        *("USED", "PRODUCTIVE", "CUBES-UP", "FAULTS", "REPAIRS", "STARTUP", "RECOVERY"),
    )
    rows = [
        [
            *(report.fabric, report.kind, report.site),
            *(pod.slices[word] for word in SLICES),
            f"{100 * pod.utilisation:.1f}%",
            f"{100 * productive_share(pod):.1f}%",
            f"{100 * cube_availability(pod):.2f}%",
            sum(pod.faults.values()),
            pod.repairs,
            *(
                format_duration(report.durations.quantiles[what]["p50_us"])
                for what in ("startups", "recoveries")
            ),
        ]
        for report in result.fabrics
        if isinstance(pod := report.span, PodSpan) and report.durations is not None
    ]
    keep = ("USED", "PRODUCTIVE", "RUNNING")
    return text_table(headers, rows, ("KIND", "SITE"), keep=keep) if rows else ""


def _network_table(result: "LabReport") -> str:
    """Format the table of networks: served traffic, use of the fullest trunk and overload time, paths, and
    rewirings."""
    from services.totals.fabric_spans import NetworkSpan

    headers = (
        *("FABRIC", "KIND", "SITE", "SERVED", "MEAN-USE", "OVERFULL", "DIRECT", "PATH", "WEIGHTS"),
        *("REWIRED", "BROKEN-OFF", "KEPT", "CIRCUITS", "FAULTS", "REPAIRS"),
    )
    rows = [
        [
            *(report.fabric, report.kind, report.site),
            *(f"{100 * share:.2f}%" for share in (found.served, found.use, found.overfull, found.direct)),
            f"{found.mean_path:.3f}",
            found.weights_solved,
            found.rewirings["completed"],
            sum(n for word, n in found.rewirings.items() if word != "completed"),
            found.plans_not_worth_it,
            found.cross_connects,
            sum(found.faults.values()),
            found.repairs,
        ]
        for report in result.fabrics
        if isinstance(found := report.span, NetworkSpan)
    ]
    return text_table(headers, rows, ("KIND", "SITE"), keep=("SERVED",)) if rows else ""


for _name, (_command, _examples) in IMPORTS.items():
    app.command(_name, epilog=_examples)(_command)


@app.command("replay", epilog=examples("lab replay month.jsonl.zst", "lab replay month.jsonl.zst -o json"))
def lab_replay(
    file: Annotated[
        Path, typer.Argument(click_type=FILE, metavar="FILE", help="a log written by `lab run --log`")
    ],
    output: OutputOption = "table",
) -> None:
    """Replay a recorded log and report the first difference."""
    from ops.lab.replay import replay

    report = replay(file).report()
    show(report, output, lambda: _replay_text(report))
    if not report["clean"]:
        sys.exit(1)


def _replay_text(report: dict[str, Any]) -> str:
    lines = [f"{report['messages']:,} messages of {', '.join(report['sites']) or 'no site'}"]
    if report["clean"]:
        lines.append(f"clean: the services reproduce every message; state {report['state_sha256']}")
    elif found := report["first_difference"]:
        lines += [
            f"differs in {found['site']} at position {found['position']}",
            f"  expected {found['expected']}",
            f"  found    {found['found']}",
        ]
    elif not report["messages"] and not report["not_commissioned"]:
        lines.append("not a log of this twin: no message of it could be read")
    lines += [
        f"{row['fabric']} was never commissioned in this file before line {row['line']}: its messages "
        "from there on cannot be folded"
        for row in report["not_commissioned"]
    ]
    lines += [f"violation: {problem}" for problem in report["violations"]]
    if report["torn"]:
        lines.append("cut off: the last line has no end")
    lines += [
        f"cut off: {count:,} messages of {site} must follow its last one"
        for site, count in report["unfinished"].items()
    ]
    shown = report["dead_letters"][:10]
    lines += [f"dead letter, line {letter['line']}: {letter['error']}" for letter in shown]
    if report["dead_letters_count"] > len(shown):
        lines.append(f"and {report['dead_letters_count'] - len(shown):,} more dead letters")
    return "\n".join(lines)


@app.command("config", epilog=examples("lab config", "lab config --kind dcn -o yaml"))
def lab_config(
    kind: KindOfFabric = None, calibration: CalibrationOption = None, output: OutputOption = "table"
) -> None:
    """List the parameters of a kind of fabric or a calibration.

    Each with its unit, default and source. --set takes every parameter except lists, which a site file
    (--site) takes.
    """
    from dataclasses import asdict

    if calibration is not None and kind is not None:
        raise click.UsageError("--kind: cannot be combined with --calibration, which is for all kinds")
    if calibration is not None:
        _show_calibration(calibration, output)
        return
    from ops.sites.configuration import DEFAULT_KIND, parameters

    rows = [asdict(parameter) for parameter in parameters(kind or DEFAULT_KIND)]
    fields = ("name", "default", "unit", "source", "meaning")
    table = [[setting_text(row[field]) for field in fields] for row in rows]
    show(rows, output, lambda: text_table([field.upper() for field in fields], table, below="MEANING"))


def _show_calibration(name: str, output: Form) -> None:
    """List the values of a calibration, each with its confidence."""
    from dataclasses import asdict

    from ops.sites.calibration import read_calibration

    rows = [asdict(one) for one in read_calibration(name)]
    fields = ("name", "value", "sure", "source")
    table = [[setting_text(row[field]) for field in fields] for row in rows]
    show(rows, output, lambda: text_table(("NAME", "VALUE", "CONFIDENCE", "SOURCE"), table, below="SOURCE"))
