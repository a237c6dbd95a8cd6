"""`lightwave live`: the twin on Kafka and Redis, process by process."""

import socket
import sys
from pathlib import Path
from typing import Any

import click

from ops.cli.groups import Group
from ops.cli.output import output_option, show
from ops.cli.run import FILE, SEED, configure_logs, log_json_option
from ops.cli.soak import soak
from ops.cli.words import OneOf, Speed

SERVICES = ("cubes", "failures", "ocs", "repairs", "scheduler", "transceivers", "workload")
"""Named here so that a worker starts without importing its neighbours; a test holds it to the fleet."""

config_option = click.option(
    "--config", type=FILE, metavar="FILE", help="settings as TOML [default: LIGHTWAVE_CONFIG]"
)
replica_option = click.option(
    "--replica",
    metavar="NAME",
    help="name of this process, its own among all of the twin's [default: its kind and the host's name]",
)
metrics_option = click.option(
    "--metrics-port", type=click.IntRange(0, 65_535), default=0, help="of /metrics and /healthz; 0: any"
)


@click.group(cls=Group)
def live() -> None:
    """Run and mind a twin of separate processes on Kafka and Redis.

    LIGHTWAVE_KAFKA, LIGHTWAVE_REDIS, LIGHTWAVE_PREFIX and the other settings are in docs/live.md.
    """


live.add_command(soak)


@live.command()
@click.option("--pods", type=click.IntRange(1, 1_000), default=1, show_default=True, help="superpods")
@click.option("--seed", type=SEED, help="seed [default: 0]")
@click.option("--set", "pairs", multiple=True, metavar="KEY=VALUE", help="a parameter of every pod")
@click.option("--partitions", type=click.IntRange(1, 1_000), default=16, show_default=True)
@click.option(
    "--replication", type=click.IntRange(1, 9), default=1, show_default=True, help="copies on Kafka"
)
@click.option("--speed", type=Speed(), default="1", show_default=True, help="simulated over wall time")
@click.option("--paused", is_flag=True, help="with simulated time standing still")
@click.option("--wait", is_flag=True, help="wait up to a minute for Kafka and Redis")
@click.option("--keep", is_flag=True, help="do nothing where there is a twin already")
@config_option
@output_option
def init(
    config: Path | None, output: str, pairs: tuple[str, ...], seed: int | None, pods: int, **options: Any
) -> None:
    """Make a twin: its topics, its fabrics, its clock."""
    from ops.common.sites import single_fabric_sites
    from ops.live.init import NewTwin, init_twin
    from ops.live.settings import live_settings

    new = NewTwin(sites=single_fabric_sites(pods, pairs=pairs, seed=seed), **options)
    made = init_twin(live_settings(config), new)
    show(made, output, lambda: _made(made))


def _made(made: dict[str, Any]) -> str:
    fabrics = made["fabrics"]
    named = fabrics[0] if len(fabrics) == 1 else f"{fabrics[0]} to {fabrics[-1]}"
    if made["kept"]:
        return f"twin {made['twin']}: is there already, {named}"
    return f"twin {made['twin']}: {named} on {made['partitions']} partitions, seed {made['seed']}"


@live.command()
@click.argument("service", type=OneOf("service", SERVICES), metavar="SERVICE")
@replica_option
@metrics_option
@config_option
@log_json_option
def worker(service: str, log_json: bool, **options: Any) -> None:
    """Run a worker of one service: cubes, failures, ocs, repairs, scheduler, transceivers or workload."""
    from services.fleet import by_kind, services_of
    from shared.runtimes.live.worker.fold import ServedService
    from shared.runtimes.live.worker.process import serve_worker

    found = _process(service, **options)
    configure_logs(log_json, found.replica)
    serve_worker(ServedService(service, by_kind(service), services_of), found)


@live.command()
@replica_option
@metrics_option
@config_option
@log_json_option
def sequencer(log_json: bool, **options: Any) -> None:
    """Run the only writer of the log."""
    from ops.live.sequencer import run_sequencer

    found = _process("sequencer", **options)
    configure_logs(log_json, found.replica)
    run_sequencer(found)


def _process(kind: str, config: Path | None, replica: str | None, metrics_port: int) -> Any:
    from ops.live.settings import live_settings
    from shared.runtimes.live.worker.process import ProcessOptions

    found = live_settings(config)
    name = replica or f"{kind}-{socket.gethostname()}"
    return ProcessOptions(found.endpoints, name, found.metrics_host, metrics_port)


@live.command()
@click.option("--host", help="[default: 127.0.0.1]")
@click.option("--port", type=click.IntRange(0, 65_535), help="[default: 8080]; 0: any free one")
@click.option("--token", envvar="LIGHTWAVE_TOKEN", help="bearer token that clients must bring")
@replica_option
@config_option
@log_json_option
def gateway(config: Path | None, replica: str | None, log_json: bool, **given: Any) -> None:
    """Run the HTTP API that every other command talks to."""
    from ops.live.gateway import run_gateway
    from ops.live.settings import live_settings

    found = live_settings(config)
    name = replica or f"gateway-{socket.gethostname()}"
    configure_logs(log_json, name)
    asked = {key: value for key, value in given.items() if value is not None}
    run_gateway(found.model_copy(update=asked), name)


@live.command()
@config_option
@output_option
def status(config: Path | None, output: str) -> None:
    """Show every process, and how far each service has come."""
    from ops.live.settings import live_settings
    from ops.live.status import live_status, status_table

    found = live_status(live_settings(config))
    show(found, output, lambda: status_table(found))


@live.command()
@click.argument("fabric", metavar="FABRIC")
@config_option
def skip(fabric: str, config: Path | None) -> None:
    """Let the service that stopped FABRIC pass over the message that it raises on."""
    from ops.live.settings import live_settings
    from ops.live.skip import skip_message

    click.echo(skip_message(live_settings(config), fabric))


@live.command()
@config_option
@output_option
def rebuild(config: Path | None, output: str) -> None:
    """Make every state in Redis again from the log on Kafka alone."""
    from ops.live.rebuild import rebuild_twin
    from ops.live.settings import live_settings

    found = rebuild_twin(live_settings(config), lambda line: click.echo(line, err=True))
    show(found, output, lambda: f"{found['messages']:,} messages read again, digest {found['state_sha256']}")


@live.command()
@config_option
def kafka(config: Path | None) -> None:
    """Run a Kafka broker for this machine in the foreground."""
    from ops.live.settings import live_settings
    from ops.servers.both import run_kafka

    sys.exit(run_kafka(live_settings(config)))


@live.command()
@config_option
def redis(config: Path | None) -> None:
    """Run a Redis for this machine in the foreground."""
    from ops.live.settings import live_settings
    from ops.servers.both import run_redis

    sys.exit(run_redis(live_settings(config)))


@live.command(context_settings={"ignore_unknown_options": True})
@click.argument("name")
@click.argument("command", nargs=-1, required=True, metavar="-- COMMAND…")
@click.option("--with-parent", is_flag=True, help="end when the process that started it ends")
@click.option("--after-init", is_flag=True, help="first wait until the Redis of the settings holds a twin")
@log_json_option
def supervise(
    name: str, command: tuple[str, ...], with_parent: bool, after_init: bool, log_json: bool
) -> None:
    """Run a command, and run it again whenever it ends badly."""
    from ops.live.await_twin import await_twin
    from ops.live.settings import live_settings
    from ops.live.supervise import supervise as run_supervised

    configure_logs(log_json)
    ready = (lambda: await_twin(live_settings())) if after_init else None
    sys.exit(run_supervised(name, command, ready, with_parent=with_parent))
