"""The command `python -m tools.bench`: measure how fast the twin runs on this machine."""

from typing import Annotated, NoReturn

import typer

from ops.cli import main as command_line
from ops.cli.common.command_groups import command_app
from ops.cli.common.options import OutputOption
from ops.cli.common.output import show
from ops.report.tables import text_table

app = command_app()


@app.command()
def bench(
    only: Annotated[
        list[str] | None,
        typer.Option(
            help="lab, speed, rules, resume, queries, streams, live, topology, availability, reliability, "
            "optics, scheduler, dcn, hardware, diagnosis, experiments, past, commits, digests or drills; may "
            "be repeated"
        ),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="shorter runs, for a first look")] = False,
    output: OutputOption = "table",
) -> None:
    """Measure the lab, a running twin and the models on this machine."""
    from tools.bench.run import run_bench

    result = run_bench(only=only or [], quick=quick)
    rows = [[f["name"], f"{f['value']:,}", f["unit"], f["goal"], f["how"]] for f in result["figures"]]
    show(result, output, lambda: text_table(("FIGURE", "VALUE", "UNIT", "GOAL", "HOW"), rows))


def main() -> NoReturn:
    """Run the benchmarks; exit codes and error sentences are those of `lightwave`."""
    command_line.main(typer.main.get_command(app), "python -m tools.bench")


if __name__ == "__main__":
    main()
