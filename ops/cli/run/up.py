"""`lightwave up`: the living twin of this machine."""

from pathlib import Path
from typing import Annotated

import click
import typer

from ops.cli.common.command_groups import command_app, examples
from ops.cli.common.options import (
    PORT,
    PORT_MAX,
    CalibrationOption,
    KindOfFabric,
    LogJson,
    Pods,
    SiteFiles,
    Token,
    Tokens,
    seed_option,
    settings_option,
)
from ops.cli.common.param_types import FILE, SpeedParam
from ops.cli.run.fast_imports import gc_paused

PortOption = Annotated[
    int | None,
    typer.Option(
        min=0,
        max=PORT_MAX,
        help=f"0: any free one [default: {PORT}; of a fork any free one, which it says]",
    ),
]
ForkOption = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="the fork of this name (`fork list` has them), in place of --data"),
]
SpeedOption = Annotated[
    float | None,
    typer.Option(
        click_type=SpeedParam(), metavar="X", help="simulated over wall time [default: as before, or 1]"
    ),
]
RedisOption = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        envvar="LIGHTWAVE_UP_REDIS",
        help="a Redis of yours in place of the embedded server; a command line is not secret",
    ),
]

app = command_app()


@app.command(epilog=examples("up --speed 600 --seed 7", "up --fork drill"))
def up(
    pods: Pods = None,
    kind: KindOfFabric = None,
    site: SiteFiles = None,
    speed: SpeedOption = None,
    seed: Annotated[
        int | None, seed_option("of every fabric of a new twin that has none of its own [default: 0]")
    ] = None,
    settings: Annotated[list[str] | None, settings_option("a parameter of a new twin")] = None,
    calibration: CalibrationOption = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="forget the twin in the data folder")] = False,
    rebuild: Annotated[
        bool,
        typer.Option(
            "--rebuild", help="make every state again from the newest snapshots and the logs behind them"
        ),
    ] = False,
    rebuild_all: Annotated[
        bool, typer.Option("--rebuild-all", help="the same from the logs alone, without snapshots")
    ] = False,
    host: str = "127.0.0.1",
    port: PortOption = None,
    data: Annotated[
        Path | None,
        typer.Option(
            click_type=FILE, metavar="DIR", help="where the twin is kept [default: the user's state folder]"
        ),
    ] = None,
    fork: ForkOption = None,
    redis: RedisOption = None,
    token: Token = None,
    tokens: Tokens = None,
    log_json: LogJson = False,
) -> None:
    """Start a twin, or resume it; stop it with Ctrl-C."""
    with gc_paused():
        from ops.cli.common.log_format import configure_logging
        from ops.client.token_variables import token_from_environment, tokens_file_from_environment
        from ops.sites.site_plans import NewTwinOptions
        from ops.twin.data_folder import default_data
        from ops.twin.forks.fork_folders import existing_fork_folder
        from ops.twin.up import UpOptions, run_up

    configure_logging(as_json=log_json)
    if fork is not None and (data is not None or fresh):
        raise click.UsageError(
            "--fork: goes without --data, for it has a folder of its own, and without --fresh: "
            "`lightwave fork rm` forgets it"
        )
    if fresh and (rebuild or rebuild_all):
        raise click.UsageError(
            "--fresh: forgets the twin, of which --rebuild and --rebuild-all make states again; leave one out"
        )
    place = existing_fork_folder(fork) if fork is not None else data or default_data()
    options = UpOptions(
        data=place,
        requested=NewTwinOptions(pods, kind, seed, tuple(settings or ()), tuple(site or ()), calibration),
        speed=speed,
        fresh=fresh,
        rebuild=rebuild,
        rebuild_all=rebuild_all,
        host=host,
        port=port if port is not None else PORT if fork is None else 0,
        redis=redis,
        token=token or token_from_environment(),
        tokens=tokens or tokens_file_from_environment(),
    )
    run_up(options)
