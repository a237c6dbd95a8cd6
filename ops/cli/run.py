"""Commands that run something here: the living twin, the lab, audits, benchmarks, exports."""

import math
import os
import sys
from pathlib import Path
from typing import Any

import click

from ops.cli.output import columns, output_option, show

SEED = click.IntRange(0, 2**63 - 1)
PATH = click.Path(path_type=Path)


def _configure_logs(as_json: bool) -> None:
    from ops.logs import configure

    configure(as_json=as_json)


log_json_option = click.option("--log-json", is_flag=True, help="logs on stderr as JSON lines")


@click.command()
@click.option("--pods", type=click.IntRange(1, 1_000), help="superpods of a new twin [default: 1]")
@click.option("--speed", type=float, metavar="X", help="simulated over wall time [default: as before, or 1]")
@click.option("--seed", type=SEED, help="seed of a new twin [default: 0]")
@click.option("--set", "pairs", multiple=True, metavar="KEY=VALUE", help="a parameter of a new twin")
@click.option("--fresh", is_flag=True, help="forget the twin in the data folder")
@click.option("--rebuild", is_flag=True, help="make every state again from the logs")
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", type=int, default=8080, show_default=True, help="0 takes any free one")
@click.option(
    "--data", type=PATH, metavar="DIR", help="where the twin is kept [default: the user's state folder]"
)
@click.option("--redis", metavar="URL", help="a Redis of yours in place of the embedded server")
@click.option("--token", envvar="LIGHTWAVE_TOKEN", help="bearer token that clients must bring")
@log_json_option
def up(data: Path | None, pairs: tuple[str, ...], log_json: bool, **options: Any) -> None:
    """Start a living twin, or resume it; Ctrl-C ends it."""
    from ops.data import default_data
    from ops.up import UpOptions, run_up

    _configure_logs(log_json)
    run_up(UpOptions(data=data or default_data(), settings=pairs, **options))


@click.group()
def lab() -> None:
    """Run the same services in virtual time."""


def _days(_ctx: click.Context, _param: click.Parameter, value: float) -> float:
    if not math.isfinite(value) or not 0 < value <= 36_500:
        raise click.BadParameter(f"{value:g} is not allowed; allowed are days above 0 up to 36,500")
    return value


@lab.command(name="run")
@click.option("--pods", type=click.IntRange(1, 1_000), default=1, show_default=True)
@click.option("--days", type=float, default=1.0, show_default=True, callback=_days)
@click.option("--seed", type=SEED, default=0, show_default=True)
@click.option(
    "--trace", type=PATH, metavar="FILE", help="CSV of recorded requests, played in place of arrivals"
)
@click.option("--log", type=PATH, metavar="FILE", help="write the log; .zst and .gz compress it")
@click.option(
    "--set", "pairs", multiple=True, metavar="KEY=VALUE", help="a parameter; `lab config` lists them"
)
@click.option("--jobs", type=click.IntRange(1, 64), default=1, show_default=True, help="worker processes")
@output_option
@log_json_option
def lab_run(
    pods: int,
    days: float,
    seed: int,
    trace: Path | None,
    log: Path | None,
    pairs: tuple[str, ...],
    jobs: int,
    output: str,
    log_json: bool,
) -> None:
    """Run superpods for simulated days and print what came of them."""
    from ops.lab import run_lab
    from ops.settings import settings
    from ops.trace import read_trace

    _configure_logs(log_json)
    rows = read_trace(trace) if trace is not None else None
    config = settings(list(pairs), seed=seed, trace=rows)
    words = ["lightwave", "lab", "run", "--pods", str(pods), "--days", f"{days:.17g}", "--seed", str(seed)]
    words += [word for pair in pairs for word in ("--set", pair)]
    if trace is not None:
        words += ["--trace", str(trace)]
    with _progress() as progress:
        result = run_lab(
            config=config,
            pods=pods,
            days=days,
            jobs=jobs,
            log=log,
            repeat=[*words, "-o", "json"],
            progress=progress,
        )
    show(result, output, lambda: _lab_table(result))


class _progress:  # noqa: N801 -- used as a statement, `with _progress() as …`
    """A bar on stderr where that is a terminal; nothing elsewhere."""

    def __enter__(self) -> Any:
        if not sys.stderr.isatty():
            return None
        from rich.console import Console
        from rich.progress import Progress

        self._bar = Progress(console=Console(stderr=True), transient=True)
        self._bar.start()
        task = self._bar.add_task("lab", total=1.0)
        return lambda done: self._bar.update(task, completed=done)

    def __exit__(self, *_: object) -> None:
        if hasattr(self, "_bar"):
            self._bar.stop()


def _lab_table(result: dict[str, Any]) -> str:
    rows = [
        [
            pod["fabric"],
            *(
                pod["slices"][s]
                for s in ("requested", "completed", "evicted", "refused", "running", "waiting")
            ),
            f"{100 * pod['utilisation']:.1f}%",
            f"{100 * pod['cube_availability']:.2f}%",
            sum(pod["faults"].values()),
            pod["repairs"],
        ]
        for pod in result["fabrics"]
    ]
    headers = (
        "FABRIC",
        "REQUESTED",
        "COMPLETED",
        "EVICTED",
        "REFUSED",
        "RUNNING",
        "WAITING",
        "USED",
        "CUBES-UP",
    )
    table = columns((*headers, "FAULTS", "REPAIRS"), rows)
    speed = (
        f"{result['messages']:,} messages in {result['wall_s']:.1f} s ({result['messages_per_s']:,} a second)"
    )
    digests = f"log {result['log_sha256']}\nstate {result['state_sha256']}"
    return f"{table}\n\n{speed}\n{digests}\nrepeat: {result['repeat']}"


@lab.command(name="replay")
@click.argument("file", type=PATH, metavar="FILE")
@output_option
def lab_replay(file: Path, output: str) -> None:
    """Fold a recorded log again and report the first difference, if any."""
    from ops.replay import replay

    report = replay(file).report()
    show(report, output, lambda: _replay_text(report))
    if not report["clean"]:
        sys.exit(1)


def _replay_text(report: dict[str, Any]) -> str:
    lines = [f"{report['messages']:,} messages of {', '.join(report['fabrics']) or 'no fabric'}"]
    if report["clean"]:
        lines.append(f"clean: every message is what the services say; state {report['state_sha256']}")
    elif report["first_difference"]:
        found = report["first_difference"]
        lines += [f"differs in {found['fabric']} at position {found['position']}"]
        lines += [f"  expected {found['expected']}", f"  found    {found['found']}"]
    else:
        lines.append("not a log of this twin: no message of it could be read")
    lines += [f"violation: {problem}" for problem in report["violations"]]
    lines += [
        f"dead letter, line {letter['line']}: {letter['error']}" for letter in report["dead_letters"][:10]
    ]
    return "\n".join(lines)


@lab.command(name="config")
@output_option
def lab_config(output: str) -> None:
    """List every parameter that --set takes, with unit, default and source."""
    from ops.settings import parameters

    rows = [
        {
            "name": p.name,
            "default": p.default,
            "unit": p.unit,
            "allowed": p.allowed,
            "source": p.source,
            "meaning": p.meaning,
        }
        for p in parameters()
    ]
    table = [[row["name"], str(row["default"]), row["unit"], row["source"], row["meaning"]] for row in rows]
    show(rows, output, lambda: columns(("NAME", "DEFAULT", "UNIT", "SOURCE", "MEANING"), table))


@click.command()
@click.option("--data", type=PATH, metavar="DIR", help="the twin's folder [default: the user's state folder]")
@click.option("--redis", metavar="URL", help="the Redis that the twin uses, if not its own")
@output_option
def audit(data: Path | None, redis: str | None, output: str) -> None:
    """Compare a twin's log and states with the lab on its root messages."""
    from ops.audit import run_audit
    from ops.data import default_data

    report = run_audit(data=data or default_data(), redis=redis)
    show(report, output, lambda: _audit_text(report))
    if not report["clean"]:
        sys.exit(1)


def _audit_text(report: dict[str, Any]) -> str:
    lines = []
    for fabric in report["fabrics"]:
        verdict = "clean" if fabric["log_clean"] and fabric["states_clean"] else "NOT CLEAN"
        counts = f"{fabric['messages']:,} messages, {fabric['requests']:,} requests"
        lines.append(f"{fabric['fabric']}: {verdict}; {counts}, {fabric['dead_letters']} dead letters")
        if fabric["first_difference"]:
            lines.append(f"  {fabric['first_difference']}")
        lines += [f"  {field}" for field in fabric["differing_states"][:20]]
    return "\n".join(lines)


@click.command()
@click.option("--only", multiple=True, help="lab, speed, resume or queries; may be repeated")
@click.option("--quick", is_flag=True, help="shorter runs, for a first look")
@output_option
def bench(only: tuple[str, ...], quick: bool, output: str) -> None:
    """Measure the lab and a living twin on this machine."""
    from ops.bench import run_bench

    result = run_bench(only=list(only), quick=quick)
    rows = [[f["name"], f"{f['value']:,}", f["unit"], f["goal"], f["how"]] for f in result["figures"]]
    show(result, output, lambda: columns(("FIGURE", "VALUE", "UNIT", "GOAL", "HOW"), rows))


@click.group()
def schema() -> None:
    """The messages, documents and configuration as JSON Schema."""


@schema.command(name="export")
@click.argument("directory", type=PATH, metavar="DIR")
def schema_export(directory: Path) -> None:
    """Write one JSON Schema file for everything that crosses a border."""
    from ops.schema import export

    count = export(directory)
    click.echo(f"{count} schemas in {directory}")


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the completion script: `source <(lightwave completion bash)`."""
    from click.shell_completion import get_completion_class

    from ops.cli.main import root

    found = get_completion_class(shell)
    if found is None:
        raise click.UsageError(f"no completion for {shell}")
    os.environ.pop("_LIGHTWAVE_COMPLETE", None)
    click.echo(found(root, {}, "lightwave", "_LIGHTWAVE_COMPLETE").source())
