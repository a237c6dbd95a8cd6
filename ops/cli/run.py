"""Commands that run something here: the living twin, audits, benchmarks, exports, completion scripts."""

import os
import sys
from pathlib import Path
from typing import Any

import click

from ops.cli.groups import Group
from ops.cli.output import output_option, show
from ops.cli.words import OneOf, Speed
from ops.common.tables import columns

SEED = click.IntRange(0, 2**63 - 1)
SHELLS = ("bash", "zsh", "fish")


class _File(click.Path):
    """A path that is not the empty word, which would mean the current folder."""

    name = "path"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not str(value) or "\0" in str(value):
            self.fail(f"{value!r} is no path", param, ctx)
        return super().convert(value, param, ctx)


class _OutFile(_File):
    """A file to be written: refused before any work is done for it."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        path = Path(super().convert(value, param, ctx))
        if path.is_dir():
            self.fail(f"{path} is a folder, not a file", param, ctx)
        if not path.parent.is_dir():
            self.fail(f"{path}: there is no folder {path.parent}", param, ctx)
        if not os.access(path if path.exists() else path.parent, os.W_OK):
            self.fail(f"{path} cannot be written", param, ctx)
        return path


FILE = _File(path_type=Path)
OUT_FILE = _OutFile(path_type=Path)
log_json_option = click.option("--log-json", is_flag=True, help="logs on stderr as JSON lines")


def configure_logs(as_json: bool, replica: str | None = None) -> None:
    from ops.common.logs import configure

    configure(as_json=as_json, replica=replica)


@click.command()
@click.option("--pods", type=click.IntRange(1, 1_000), help="superpods of a new twin [default: 1]")
@click.option(
    "--speed", type=Speed(), metavar="X", help="simulated over wall time [default: as before, or 1]"
)
@click.option("--seed", type=SEED, help="seed of a new twin [default: 0]")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="a parameter of a new twin")
@click.option("--fresh", is_flag=True, help="forget the twin in the data folder")
@click.option("--rebuild", is_flag=True, help="make every state again from the logs")
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option(
    "--port", type=click.IntRange(0, 65_535), default=8080, show_default=True, help="0: any free one"
)
@click.option(
    "--data", type=FILE, metavar="DIR", help="where the twin is kept [default: the user's state folder]"
)
@click.option("--redis", metavar="URL", help="a Redis of yours in place of the embedded server")
@click.option("--token", envvar="LIGHTWAVE_TOKEN", help="bearer token that clients must bring")
@log_json_option
def up(data: Path | None, log_json: bool, **options: Any) -> None:
    """Start a living twin, or resume it; Ctrl-C ends it."""
    from ops.twin.data import default_data
    from ops.twin.up import UpOptions, run_up

    configure_logs(log_json)
    run_up(UpOptions(data=data or default_data(), **options))


@click.command()
@click.option("--data", type=FILE, metavar="DIR", help="the twin's folder [default: the user's state folder]")
@click.option("--redis", metavar="URL", help="the Redis that the twin uses, if not its own")
@click.option("--live", is_flag=True, help="the twin on Kafka and Redis, instead of a folder's")
@click.option("--config", type=FILE, metavar="FILE", help="settings of the live twin as TOML")
@output_option
def audit(data: Path | None, redis: str | None, live: bool, config: Path | None, output: str) -> None:
    """Compare a twin's log and states with the lab on its root messages."""
    if live and (data is not None or redis is not None):
        raise click.UsageError("--live: goes by the live twin's settings, without --data and --redis")
    if config is not None and not live:
        raise click.UsageError("--config: belongs to --live")
    report = _audit_live(config) if live else _audit_folder(data, redis)
    show(report, output, lambda: _audited(report))
    if not report["clean"]:
        sys.exit(1)


def _audit_folder(data: Path | None, redis: str | None) -> dict[str, Any]:
    from ops.twin.audit import run_audit
    from ops.twin.data import default_data

    return run_audit(data=data or default_data(), redis=redis)


def _audit_live(config: Path | None) -> dict[str, Any]:
    from ops.live.audit import audit_live
    from ops.live.settings import live_settings

    return audit_live(live_settings(config))


def _audited(report: dict[str, Any]) -> str:
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
@click.option(
    "--only",
    multiple=True,
    help="lab, speed, resume, queries, live, topology, availability or optics; may be repeated",
)
@click.option("--quick", is_flag=True, help="shorter runs, for a first look")
@output_option
def bench(only: tuple[str, ...], quick: bool, output: str) -> None:
    """Measure the lab, a living twin and the models on this machine."""
    from ops.bench.run import run_bench

    result = run_bench(only=list(only), quick=quick)
    rows = [[f["name"], f"{f['value']:,}", f["unit"], f["goal"], f["how"]] for f in result["figures"]]
    show(result, output, lambda: columns(("FIGURE", "VALUE", "UNIT", "GOAL", "HOW"), rows))


@click.group(cls=Group)
def schema() -> None:
    """The messages, documents and configuration as JSON Schema."""


@schema.command(name="export")
@click.argument("directory", type=FILE, metavar="DIR")
def schema_export(directory: Path) -> None:
    """Write one JSON Schema file for everything that crosses a border, and index.json."""
    from ops.common.schema import export

    count = export(directory)
    click.echo(f"{count} schemas in {directory}")


@click.command()
@click.argument("shell", type=OneOf("shell", SHELLS), metavar="SHELL")
def completion(shell: str) -> None:
    """Print the completion script for bash, zsh or fish.

    bash: source <(lightwave completion bash)
    """
    from click.shell_completion import get_completion_class

    from ops.cli.main import COMPLETE, root

    found = get_completion_class(shell)
    if found is None:
        raise click.UsageError(f"no completion for {shell}")
    os.environ.pop(COMPLETE, None)
    click.echo(found(root, {}, "lightwave", COMPLETE).source())
