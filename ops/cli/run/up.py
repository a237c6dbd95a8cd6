"""`lightwave up`: runs the embedded twin of this machine."""

from pathlib import Path
from typing import Annotated

import click
import typer

from ops.cli.common.command_groups import command_app, examples
from ops.cli.common.name_completion import ForkNameParam
from ops.cli.common.options import (
    PORT,
    PORT_MAX,
    CalibrationOption,
    KindOfFabric,
    LogJson,
    NewFaultsOption,
    Pods,
    SiteFiles,
    Token,
    Tokens,
    seed_option,
    settings_option,
)
from ops.cli.common.param_types import FILE, SpeedParam
from ops.cli.common.progress import end_note
from ops.cli.run.gc_pause import gc_paused

PortOption = Annotated[
    int | None,
    typer.Option(
        min=0,
        max=PORT_MAX,
        help=f"port to listen on; 0 takes any free port [default: {PORT}; for a fork any free "
        "port, which is printed]",
    ),
]
ForkOption = Annotated[
    str | None,
    typer.Option(
        click_type=ForkNameParam(),
        metavar="NAME",
        help="run this fork instead of --data; `fork list` lists them",
    ),
]
SpeedOption = Annotated[
    float | None,
    typer.Option(
        click_type=SpeedParam(), metavar="X", help="simulated time over wall time [default: as before, or 1]"
    ),
]
RedisOption = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        envvar="LIGHTWAVE_UP_REDIS",
        help="use this Redis instead of the embedded server; other users can see the command line",
    ),
]

app = command_app()


@app.command(
    epilog=examples(
        "up --speed 600 --seed 7", "up --faults outages.csv --set failures.enabled=false", "up --fork drill"
    )
)
def up(
    pods: Pods = None,
    kind: KindOfFabric = None,
    site: SiteFiles = None,
    speed: SpeedOption = None,
    seed: Annotated[
        int | None, seed_option("seed of a new twin's fabrics, unless a site file sets it [default: 0]")
    ] = None,
    settings: Annotated[
        list[str] | None, settings_option("set a parameter of a new twin; may be repeated")
    ] = None,
    calibration: CalibrationOption = None,
    faults: NewFaultsOption = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="delete the twin in the data folder and start a new one")
    ] = False,
    rebuild: Annotated[
        bool,
        typer.Option(
            "--rebuild", help="rebuild all states from the newest snapshots and the logs after them"
        ),
    ] = False,
    rebuild_all: Annotated[
        bool, typer.Option("--rebuild-all", help="rebuild all states from the logs alone, without snapshots")
    ] = False,
    host: Annotated[str, typer.Option(help="address to listen on")] = "127.0.0.1",
    port: PortOption = None,
    data: Annotated[
        Path | None,
        typer.Option(
            click_type=FILE, metavar="DIR", help="the twin's data folder [default: the user's state folder]"
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
        from ops.cli.run.new_faults import faults_reader
        from ops.client.token_variables import token_from_environment, tokens_file_from_environment
        from ops.sites.site_plans import NewTwinOptions
        from ops.twin.data_folder import default_data
        from ops.twin.forks.fork_folders import existing_fork_folder
        from ops.twin.up import UpOptions, run_up

    configure_logging(as_json=log_json, keep_note=True)
    if fork is not None and (data is not None or fresh):
        raise click.UsageError(
            "--fork: cannot be combined with --data, because a fork has its own folder, or with --fresh; "
            "`lightwave fork rm` removes it"
        )
    if fresh and (rebuild or rebuild_all):
        raise click.UsageError(
            "--fresh: deletes the twin, which --rebuild and --rebuild-all need; leave one out"
        )
    place = existing_fork_folder(fork) if fork is not None else data or default_data()
    options = UpOptions(
        data=place,
        requested=NewTwinOptions(
            pods, kind, seed, tuple(settings or ()), tuple(site or ()), calibration, faults_reader(faults)
        ),
        speed=speed,
        fresh=fresh,
        rebuild=rebuild,
        rebuild_all=rebuild_all,
        host=host,
        port=port if port is not None else PORT if fork is None else 0,
        redis=redis,
        token=token_from_environment() if token is None else token,
        tokens=tokens_file_from_environment() if tokens is None else tokens,
    )
    run_up(options, on_serving=end_note)
