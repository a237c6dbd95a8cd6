"""`lightwave live`: runs and manages the processes of a twin on Kafka and Redis."""

import importlib
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ops.cli.common.command_groups import command_app, examples
from ops.cli.common.options import (
    PORT_MAX,
    CalibrationOption,
    Config,
    KindOfFabric,
    LogJson,
    MetricsPort,
    NewFaultsOption,
    OutputOption,
    Pods,
    Replica,
    SiteFiles,
    Token,
    Tokens,
    UpgradeCheck,
    seed_option,
    settings_option,
)
from ops.cli.common.output import echo, show
from ops.cli.common.param_types import ChoiceParam, SpeedParam
from ops.cli.common.progress import AuditProgress, end_note
from ops.cli.run.gc_pause import gc_paused
from services.service_names import service_names

if TYPE_CHECKING:
    from ops.live.init import CreatedTwin
    from shared.runtimes.live.process.startup import ProcessOptions

SERVICES = service_names()

app = command_app("live")

Wait = Annotated[
    bool, typer.Option("--wait", help="wait up to 90 s for Kafka, Redis and the twin, instead of exiting")
]


@app.callback()
def live() -> None:
    """Run and manage a multi-process twin on Kafka and Redis.

    LIGHTWAVE_KAFKA, LIGHTWAVE_REDIS, LIGHTWAVE_PREFIX and the other settings are in docs/reference/live.md.
    """


@app.command(
    epilog=examples("live init --pods 4 --seed 7", "live init --site ops/sites/campus.yaml --speed 60 --keep")
)
def init(
    pods: Pods = None,
    kind: KindOfFabric = None,
    site: SiteFiles = None,
    seed: Annotated[
        int | None, seed_option("seed of the fabrics, unless a site file sets it [default: 0]")
    ] = None,
    pairs: Annotated[
        list[str] | None, settings_option("set a parameter of every fabric; may be repeated")
    ] = None,
    calibration: CalibrationOption = None,
    faults: NewFaultsOption = None,
    partitions: Annotated[
        int | None, typer.Option(min=1, max=1_000, help="number of partitions [default: 16]")
    ] = None,
    replication: Annotated[
        int | None, typer.Option(min=1, max=9, help="Kafka's replication factor [default: 1]")
    ] = None,
    speed: Annotated[
        float | None, typer.Option(click_type=SpeedParam(), help="simulated time over wall time [default: 1]")
    ] = None,
    paused: Annotated[bool, typer.Option("--paused", help="start with simulated time paused")] = False,
    wait: Annotated[bool, typer.Option("--wait", help="wait up to a minute for Kafka and Redis")] = False,
    keep: Annotated[bool, typer.Option("--keep", help="do nothing if the twin exists already")] = False,
    config: Config = None,
    output: OutputOption = "table",
) -> None:
    """Create a twin: its topics, fabrics and clock.

    Run it again to complete a creation that was interrupted.
    """
    from ops.cli.run.new_faults import faults_reader
    from ops.live.init import NewTwin, init_twin
    from ops.live.settings import live_settings
    from ops.sites.site_plans import NewTwinOptions

    requested = NewTwinOptions(
        pods, kind, seed, tuple(pairs or ()), tuple(site or ()), calibration, faults_reader(faults)
    )
    new = NewTwin(
        sites=requested.sites(),
        requested=requested,
        partitions=partitions,
        replication=replication,
        speed=speed,
        paused=paused,
        wait=wait,
        keep=keep,
    )
    made = init_twin(live_settings(config), new)
    show(made, output, lambda: _made_text(made))


def _made_text(made: "CreatedTwin") -> str:
    fabrics = made["fabrics"]
    named = fabrics[0] if len(fabrics) == 1 else f"{fabrics[0]} to {fabrics[-1]}"
    if made["kept"]:
        return f"twin {made['twin']}: is there already, {named}; its clock stays as it is"
    seeds = "seeds of their own" if made["seed"] is None else f"seed {made['seed']}"
    return f"twin {made['twin']}: {named} on {made['partitions']} partitions, {seeds}"


@app.command(epilog=examples("live worker scheduler --wait", "live worker cubes --replica cubes-2"))
def worker(
    service: Annotated[
        str,
        typer.Argument(
            click_type=ChoiceParam("service", SERVICES), metavar="SERVICE", help=", ".join(SERVICES)
        ),
    ],
    replica: Replica = None,
    metrics_port: MetricsPort = 0,
    wait: Wait = False,
    config: Config = None,
    log_json: LogJson = False,
) -> None:
    """Run a worker of one service."""
    with gc_paused():
        from ops.cli.common.log_format import configure_logging
        from services.service_names import kinds_with, services_by_name
        from shared.runtimes.live.worker.partition_fold import ServedService
        from shared.runtimes.live.worker.worker_process import serve_worker

        own = importlib.import_module(f"services.{service}.service").SERVICE  # and not its neighbours

    options = _process_options(service, config, replica, metrics_port, wait)
    configure_logging(as_json=log_json, replica=options.replica)
    by_kind = dict.fromkeys(kinds_with(service), own)
    serve_worker(ServedService(service, by_kind, services_by_name), options)


@app.command(epilog=examples("live sequencer --wait", "live sequencer --replica sequencer-2"))
def sequencer(
    replica: Replica = None,
    metrics_port: MetricsPort = 0,
    wait: Wait = False,
    config: Config = None,
    log_json: LogJson = False,
) -> None:
    """Run a sequencer, the single writer of the log."""
    with gc_paused():
        from ops.cli.common.log_format import configure_logging
        from ops.live.sequencer import run_sequencer

    options = _process_options("sequencer", config, replica, metrics_port, wait)
    configure_logging(as_json=log_json, replica=options.replica)
    run_sequencer(options, config)


@app.command(epilog=examples("live historian --wait", "live historian --replica historian-1"))
def historian(
    replica: Replica = None,
    metrics_port: MetricsPort = 0,
    wait: Wait = False,
    config: Config = None,
    log_json: LogJson = False,
) -> None:
    """Run the historian: keep snapshots and audit the log.

    Snapshots answer queries about the past.
    """
    with gc_paused():
        from ops.cli.common.log_format import configure_logging
        from ops.live.historian import run_historian
        from ops.live.settings import live_settings

    options = _process_options("historian", config, replica, metrics_port, wait)
    configure_logging(as_json=log_json, replica=options.replica)
    run_historian(live_settings(config), options)


def _process_options(
    kind: str, config: Path | None, replica: str | None, metrics_port: int, wait: bool
) -> "ProcessOptions":
    with gc_paused():
        from ops.live.settings import live_settings
        from ops.local.software_version import software_version
        from shared.runtimes.live.process.startup import WAIT_S_MAX, ProcessOptions

    found = live_settings(config)
    name = replica or f"{kind}-{socket.gethostname()}"
    wait_s = WAIT_S_MAX if wait else 0.0
    return ProcessOptions(found.endpoints, name, software_version(), found.metrics_host, metrics_port, wait_s)


@app.command(epilog=examples("live gateway --wait", "live gateway --port 8081 --replica gateway-2"))
def gateway(
    host: Annotated[str | None, typer.Option(help="address to listen on [default: 127.0.0.1]")] = None,
    port: Annotated[
        int | None,
        typer.Option(min=0, max=PORT_MAX, help="port to listen on; 0 takes any free port [default: 8080]"),
    ] = None,
    token: Token = None,
    tokens: Tokens = None,
    replica: Replica = None,
    wait: Wait = False,
    config: Config = None,
    log_json: LogJson = False,
) -> None:
    """Run the HTTP API that all other commands use."""
    with gc_paused():
        from ops.cli.common.log_format import configure_logging
        from ops.live.gateway import run_gateway
        from ops.live.settings import live_settings
        from shared.runtimes.live.process.startup import WAIT_S_MAX

    found = live_settings(config)
    name = replica or f"gateway-{socket.gethostname()}"
    configure_logging(as_json=log_json, replica=name)
    given = {"host": host, "port": port, "token": token, "tokens": tokens}
    if token is not None:
        found = found.model_copy(update={"token_file": None})
    run_gateway(
        found.model_copy(update={key: value for key, value in given.items() if value is not None}),
        name,
        wait_s=WAIT_S_MAX if wait else 0.0,
    )


@app.command(epilog=examples("live status", "live status -o json"))
def status(config: Config = None, output: OutputOption = "table") -> None:
    """Show all processes and the progress of each service."""
    from ops.live.settings import live_settings
    from ops.live.status import live_status, status_table

    found = live_status(live_settings(config))
    show(found, output, lambda: status_table(found))


@app.command(epilog=examples("live skip pod-0", "live skip pod-0 --config twin.toml"))
def skip(
    fabric: Annotated[str, typer.Argument(metavar="FABRIC", help="such as pod-0")], config: Config = None
) -> None:
    """Skip the message at which a service of FABRIC fails."""
    from ops.live.settings import live_settings
    from ops.live.skip import skip_message
    from shared.runtimes.live.kafka.operations_topic import KafkaOperations

    settings = live_settings(config)
    echo(skip_message(settings, fabric, KafkaOperations(settings.endpoints)))


@app.command(epilog=examples("live rebuild", "live rebuild --all --jobs 4"))
def rebuild(
    jobs: Annotated[
        int | None,
        typer.Option(min=1, max=64, help="partitions to rebuild in parallel [default: the number of cores]"),
    ] = None,
    whole: Annotated[
        bool, typer.Option("--all", help="rebuild from the whole log, without snapshots")
    ] = False,
    config: Config = None,
    output: OutputOption = "table",
) -> None:
    """Rebuild all states in Redis from snapshots and the log."""
    from ops.live.rebuild import rebuild_twin
    from ops.live.settings import live_settings

    settings = live_settings(config)
    found = rebuild_twin(settings, lambda line: echo(line, to_stderr=True), jobs, by_snapshots=not whole)
    show(found, output, lambda: f"{found['messages']:,} messages read again, digest {found['state_sha256']}")


@app.command(epilog=examples("live upgrade --check", "live upgrade"))
def upgrade(
    check: UpgradeCheck = False,
    config: Config = None,
    output: OutputOption = "table",
) -> None:
    """Upgrade a stopped live twin to this version.

    The upgrade is recorded on the log, and snapshots of that time are kept next to the historian's. With
    --check, the exit code is 5 if this version would have produced another log.
    """
    from ops.cli.run.upgrade import NOTHING_TO_UPGRADE, show_check, upgraded_text
    from ops.live.settings import live_settings
    from ops.live.upgrade import check_live_upgrade, upgrade_live

    settings = live_settings(config)
    if check:
        with AuditProgress() as progress:
            rows = check_live_upgrade(
                settings, lambda line: echo(line, to_stderr=True), progress.report_progress
            )
        show_check(rows, output, NOTHING_TO_UPGRADE)
        return
    upgraded = upgrade_live(settings, lambda line: echo(line, to_stderr=True))
    show(upgraded, output, lambda: upgraded_text(upgraded) or NOTHING_TO_UPGRADE)


@app.command(epilog=examples("live kafka", "live kafka --config twin.toml"))
def kafka(config: Config = None) -> None:
    """Run a local Kafka broker in the foreground."""
    end_note()
    from ops.live.settings import live_settings
    from ops.servers.local_servers import run_kafka

    sys.exit(run_kafka(live_settings(config)))


@app.command(epilog=examples("live redis", "live redis --config twin.toml"))
def redis(config: Config = None) -> None:
    """Run a local Redis in the foreground."""
    end_note()
    from ops.live.settings import live_settings
    from ops.servers.local_servers import run_redis

    sys.exit(run_redis(live_settings(config)))


@app.command(
    context_settings={"ignore_unknown_options": True},
    epilog=examples(
        "live supervise scheduler -- lightwave live worker scheduler",
        "live supervise --drills cubes -- lightwave live worker cubes",
    ),
)
def supervise(
    name: Annotated[str, typer.Argument(metavar="NAME", help="name in the log lines of the command")],
    command: Annotated[
        list[str], typer.Argument(metavar="-- COMMAND…", help="the command with its arguments")
    ],
    with_parent: Annotated[
        bool, typer.Option("--with-parent", help="stop when the parent process ends")
    ] = False,
    drills: Annotated[
        bool, typer.Option("--drills", help="let drills pause and kill the process; needs the twin's Redis")
    ] = False,
    config: Config = None,
    log_json: LogJson = False,
) -> None:
    """Run a command and restart it whenever it fails."""
    from ops.cli.common.log_format import configure_logging
    from ops.live.supervisor import supervise as run_supervised

    configure_logging(as_json=log_json)
    if not drills:
        sys.exit(run_supervised(name, tuple(command), with_parent=with_parent))
    from functools import partial

    from ops.live.obeyed_orders import ObeyedOrders
    from ops.live.settings import live_settings

    obeyed = partial(ObeyedOrders, notes=live_settings(config).store())
    sys.exit(run_supervised(name, tuple(command), with_parent=with_parent, beside=obeyed))
