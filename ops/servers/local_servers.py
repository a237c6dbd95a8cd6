"""`lightwave live kafka` and `lightwave live redis`: a local server in the foreground, for one machine."""

import signal
import sys
from types import FrameType
from urllib.parse import urlsplit

from ops.live.settings import LiveSettings
from ops.servers.kafka_server import LocalKafka
from ops.servers.redis_server import LocalRedis
from ops.servers.tcp_server import TcpServer
from services.gateway.http.access.loopback import is_loopback
from shared.basics.errors import InvalidInput, OperationFailed
from shared.runtimes.live.kafka.brokers import PLAINTEXT
from shared.runtimes.poll import poll_until

__all__ = ["LocalKafka", "LocalRedis", "run_kafka", "run_redis"]

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)
CLIENTS_S_MAX = 3.0
"""How long a server waits for its clients to disconnect before it stops; honcho kills after 5 s."""


def run_kafka(settings: LiveSettings) -> int:
    """Run the broker of the settings until SIGTERM or SIGINT; returns the exit code."""
    return _run(LocalKafka(settings.data / "kafka", *kafka_address(settings)))


def run_redis(settings: LiveSettings) -> int:
    """Run the Redis of the settings until SIGTERM or SIGINT; returns the exit code."""
    return _run(LocalRedis(settings.data / "redis", *redis_address(settings)))


def kafka_address(settings: LiveSettings) -> tuple[str, int]:
    """Host and port of the broker; raises InvalidInput if a local server cannot have these settings."""
    host, _, port = settings.kafka.rpartition(":")
    if not host or not port.isdecimal() or "," in settings.kafka:
        raise InvalidInput(
            f"LIGHTWAVE_KAFKA: {settings.kafka!r} is not allowed for a local Kafka; must be one HOST:PORT"
        )
    if settings.kafka_security_protocol != PLAINTEXT:
        raise InvalidInput(
            f"LIGHTWAVE_KAFKA_SECURITY_PROTOCOL: {settings.kafka_security_protocol} is not allowed for a "
            f"local Kafka; must be {PLAINTEXT}"
        )
    return _checked_loopback("LIGHTWAVE_KAFKA", host.removeprefix("[").removesuffix("]")), int(port)


def redis_address(settings: LiveSettings) -> tuple[str, int]:
    """Host and port of the Redis; raises InvalidInput if a local server cannot have these settings."""
    parts = urlsplit(settings.redis)
    plain = parts.scheme == "redis" and parts.hostname and "@" not in parts.netloc
    if not plain or settings.redis_cluster:
        raise InvalidInput(
            f"LIGHTWAVE_REDIS: {parts.scheme}://{parts.hostname or ''} is not allowed for a local Redis; "
            "must be redis://HOST:PORT/NUMBER, without a password, and not a cluster"
        )
    return _checked_loopback("LIGHTWAVE_REDIS", parts.hostname or ""), parts.port or 6379


def _checked_loopback(variable: str, host: str) -> str:
    """The host, if it is a loopback address: a local server requires no password."""
    if not is_loopback(host):
        raise InvalidInput(
            f"{variable}: {host} is not allowed for a local server, which requires no password; must be "
            "127.0.0.1, ::1 or localhost"
        )
    return host


class _StopSignal(Exception):
    """SIGTERM or SIGINT was received."""


def _on_stop_signal(_sign: int, _frame: FrameType | None) -> None:
    """The first signal stops the server; further signals are ignored."""
    for sign in STOP_SIGNALS:
        signal.signal(sign, signal.SIG_IGN)
    raise _StopSignal


def _wait_for_clients(server: TcpServer) -> None:
    """Ctrl-C reaches all processes of a twin at once: let the server's clients shut down first."""
    poll_until(lambda: not (server.runs and server.clients()), CLIENTS_S_MAX, 0.05)


def _run(server: TcpServer) -> int:
    for sign in STOP_SIGNALS:
        signal.signal(sign, _on_stop_signal)
    try:
        server.start()
        sys.stderr.write(f"{server.name} listens at {server.address}, data in {server.folder}\n")
        sys.stderr.flush()
        code = server.wait_end()
        raise OperationFailed(
            f"{server.name} in {server.folder} exited with code {code}: {server.log_tail()}"
        )
    except _StopSignal:
        _wait_for_clients(server)
        return 0
    finally:
        server.stop()
