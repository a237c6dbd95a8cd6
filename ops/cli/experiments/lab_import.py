"""`lightwave lab import-trace` and `import-faults`: public traces and failure records for the lab."""

from collections.abc import Callable, Collection
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ops.cli.common.command_groups import examples
from ops.cli.common.options import OutputOption
from ops.cli.common.output import show
from ops.cli.common.param_types import FILE, OUT_FILE, ChoiceParam, NumberParam
from ops.cli.common.progress import StatusLine
from ops.report.tables import text_table
from shared.models.faults.fault_kinds import FAULTS

if TYPE_CHECKING:
    from schemas.names import FaultKind

TRACE_FORMATS = ("philly", "helios", "acme", "pai", "swf")
FAULT_FORMATS = ("lanl", "backblaze")
Source = Annotated[Path, typer.Argument(click_type=FILE, metavar="FILE", help="the published file")]
Force = Annotated[bool, typer.Option("--force", help="replace OUT if it exists")]
Written = Annotated[Path, typer.Argument(click_type=OUT_FILE, metavar="OUT", help="the CSV file to write")]
ZoneOption = Annotated[
    str | None,
    typer.Option(
        "--time-zone",
        metavar="NAME",
        help="time zone of dates without one, such as UTC or Asia/Shanghai; required for these formats",
    ),
]


def _format_option(formats: Collection[str]) -> Any:
    """`--format`, one of these."""
    return typer.Option("--format", click_type=ChoiceParam("format", formats), help=", ".join(formats))


def import_trace(
    source: Source,
    out: Written,
    form: Annotated[str, _format_option(TRACE_FORMATS)],
    time_zone: ZoneOption = None,
    chips_per_gpu: Annotated[
        float,
        typer.Option(
            "--chips-per-gpu",
            click_type=NumberParam("chips", 0, 1_000, above=True),
            metavar="N",
            help="chips for each GPU, or for each processor of swf; rounded up to whole chips",
        ),
    ] = 1.0,
    max_chips: Annotated[
        int | None, typer.Option(min=1, help="leave out jobs of more chips [default: keep all]")
    ] = None,
    owner: Annotated[
        Literal["user", "group", "none"],
        typer.Option(help="owners are users, or groups: virtual clusters, job types, GPU types; or none"),
    ] = "user",
    jobs_table: Annotated[
        Path | None,
        typer.Option(
            click_type=FILE,
            metavar="FILE",
            help="pai_job_table.csv, for users and submission times of --format pai",
        ),
    ] = None,
    force: Force = False,
    output: OutputOption = "table",
) -> None:
    """Convert a public job trace for `lab run --trace`.

    Times count from the first job. The report shows what was left out, and why.
    """
    from ops.lab.imports.import_trace import TraceImport
    from ops.lab.imports.import_trace import import_trace as convert

    _check_out(source, out, force=force)
    options = TraceImport(form, time_zone, chips_per_gpu, max_chips, owner, jobs_table)
    with StatusLine() as line:
        report = convert(source, out, options, lambda jobs: line.say(f"{jobs:,} jobs read"))
    _show(asdict(report), output, out)


def import_faults(
    source: Source,
    out: Written,
    form: Annotated[str, _format_option(FAULT_FORMATS)],
    time_zone: ZoneOption = None,
    kind: Annotated[
        str,
        typer.Option(
            click_type=ChoiceParam("kind of fault", FAULTS),
            metavar="KIND",
            help="fault of each record",
        ),
    ] = "host",
    cubes: Annotated[int, typer.Option(min=4, max=144, help="cubes of the pod")] = 64,
    system: Annotated[
        str | None, typer.Option(metavar="NUMBER", help="take this system of lanl [default: all]")
    ] = None,
    cause: Annotated[
        list[str] | None,
        typer.Option(metavar="CAUSE", help="take this cause of lanl; may be repeated [default: all]"),
    ] = None,
    force: Force = False,
    output: OutputOption = "table",
) -> None:
    """Convert failure records for `lab run --faults`.

    Times count from the first failure. FILE of backblaze can be a folder of daily files. The report shows
    what was left out, and why.
    """
    from ops.lab.imports.import_faults import FaultImport
    from ops.lab.imports.import_faults import import_faults as convert

    _check_out(source, out, force=force)
    struck: FaultKind = next(word for word in FAULTS if word == kind)
    options = FaultImport(form, struck, cubes, time_zone, system, tuple(cause or ()))
    with StatusLine() as line:
        report = convert(source, out, options, lambda records: line.say(f"{records:,} records read"))
    _show(asdict(report), output, out)


def _check_out(source: Path, out: Path, *, force: bool) -> None:
    """Raise InvalidInput if OUT is in the folder that is read, or exists without --force."""
    from ops.local.output_file import check_new_file, real_path
    from shared.basics.errors import InvalidInput

    if source.is_dir() and real_path(source) in real_path(out).parents:
        raise InvalidInput(f"OUT {out}: is in the folder FILE {source}; must be outside of it")
    if not force:
        check_new_file(out, "OUT")


def _show(report: dict[str, Any], output: Any, out: Path) -> None:
    rows = [[name.replace("_", " "), value] for name, value in report.items() if name != "dropped"]
    rows += [[f"left out: {reason}", count] for reason, count in report["dropped"].items()]
    show(
        report | {"out": str(out)},
        output,
        lambda: text_table(("WHAT", "AMOUNT"), [*rows, ["file", str(out)]]),
    )


IMPORTS: dict[str, tuple[Callable[..., None], str]] = {
    "import-trace": (
        import_trace,
        examples(
            "lab import-trace jobs.json t.csv --format philly --time-zone UTC",
            "lab import-trace log.swf trace.csv --format swf --max-chips 4096",
        ),
    ),
    "import-faults": (
        import_faults,
        examples(
            "lab import-faults in.csv f.csv --format lanl --time-zone UTC",
            "lab import-faults data d.csv --format backblaze --time-zone UTC",
        ),
    ),
}
"""Name of a command → its function, and its examples."""
