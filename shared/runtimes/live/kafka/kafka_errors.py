"""Error texts for a Kafka that does not answer, or refuses.

Clients report only that they could not connect. To find the reason, `connection_refusal` opens one more
connection.
"""

import asyncio
import contextlib
import socket
import ssl
from concurrent.futures import ThreadPoolExecutor

from aiokafka.conn import create_conn
from aiokafka.errors import (
    IllegalSaslStateError,
    KafkaConnectionError,
    SaslAuthenticationFailed,
    UnsupportedSaslMechanismError,
)
from kafka.cluster import collect_hosts

from shared.basics.errors import OperationFailed
from shared.runtimes.live.kafka.brokers import Brokers
from shared.storage.files.fd_limits import out_of_descriptors

PROBE_S_MAX = 2.0
ROOM_PAIRS = 8
_PROTOCOL = "check LIGHTWAVE_KAFKA_SECURITY_PROTOCOL"


def connection_refusal(brokers: Brokers) -> str | None:
    """Why the first reachable broker refuses us, or why we cannot connect. None if it does not refuse, or no
    broker is reachable."""
    try:
        _check_room()
    except OSError as error:
        return out_of_descriptors(error)
    with ThreadPoolExecutor(1) as executor:  # the caller may run in an event loop
        return executor.submit(asyncio.run, _first_refusal(brokers)).result()


def _check_room() -> None:
    """OSError unless enough file descriptors for an event loop and a connection are free. Without them,
    asyncio would log tracebacks, and uvloop would abort the process."""
    with contextlib.ExitStack() as room:
        for _ in range(ROOM_PAIRS):
            for end in socket.socketpair():
                room.enter_context(end)


async def _first_refusal(brokers: Brokers) -> str | None:
    for host, port, _ in collect_hosts(brokers.bootstrap):
        try:
            async with asyncio.timeout(PROBE_S_MAX):
                return await _refusal(brokers, host, port)
        except (OSError, OverflowError):  # a TimeoutError is an OSError
            continue
    return None


async def _refusal(brokers: Brokers, host: str, port: int) -> str | None:
    """Why this broker refuses us, or None; OSError if it is not reachable."""
    _, writer = await asyncio.open_connection(host, port)
    writer.close()
    arguments = {name: value for name, value in brokers.arguments().items() if name != "bootstrap_servers"}
    try:
        connection = await create_conn(host, port, **arguments)
    except ssl.SSLCertVerificationError as error:
        return f"its certificate is not trusted ({error.verify_message}); check LIGHTWAVE_KAFKA_CA_FILE"
    except SaslAuthenticationFailed:
        return f"refuses the login of user {brokers.user!r}; check LIGHTWAVE_KAFKA_USER and its password file"
    except UnsupportedSaslMechanismError:
        return f"does not support login by {brokers.mechanism}; check LIGHTWAVE_KAFKA_SASL_MECHANISM"
    except IllegalSaslStateError:
        return f"does not support login on this port; {_PROTOCOL}"
    except (KafkaConnectionError, OSError):
        tls = "not use" if brokers.is_tls else "require"
        return f"closes the connection: this port may {tls} TLS; {_PROTOCOL}"
    connection.close()
    if brokers.is_sasl:
        return None
    return f"accepts the connection, but no request: it may require a login; {_PROTOCOL}"


_TOO_LARGE = ("MessageSizeTooLargeError", "RecordListTooLargeError")
_NOT_CONNECTED = "Unable to bootstrap"
_FORBIDDEN = "AuthorizationFailedError"
WORDS_MAX = 80
"""Length limit for a client's text: some quote the whole request."""
_OUT_OF_RANGE = "OffsetOutOfRangeError"
"""By name: the two clients have different classes."""


class LogUnreachable(OperationFailed):
    """Kafka does not answer, or refuses. A pending append may or may not be on the log."""


def kafka_unreachable(brokers: Brokers, error: BaseException) -> LogUnreachable:
    """The error for an exception of a client."""
    kind = type(error).__name__
    what = str(error) or kind
    why = out_of_descriptors(error) or (connection_refusal(brokers) if _NOT_CONNECTED in what else None)
    if why:
        return LogUnreachable(f"Kafka at {brokers}: {why}")
    if kind.endswith(_FORBIDDEN):
        return LogUnreachable(
            f"Kafka at {brokers}: user {brokers.user!r} may not do this: {what[:WORDS_MAX]}; "
            "docs/how-to/secure.md lists the rights that a twin needs"
        )
    if kind in _TOO_LARGE:
        return LogUnreachable(
            f"Kafka at {brokers}: refuses a record as too large: {what}; check max.message.bytes of its topic"
        )
    if kind == _OUT_OF_RANGE:
        return LogUnreachable(
            f"Kafka at {brokers}: does not have the requested offset: {what}; make sure that nothing "
            "removes messages from its topic (retention)"
        )
    return LogUnreachable(f"Kafka at {brokers}: {what}; check that it runs there and accepts requests")


def log_start_removed(topic: str, partition: int, begin: int) -> str:
    """The sentence for a partition whose oldest records Kafka has removed."""
    return (
        f"topic {topic}: partition {partition} starts at {begin}, not at 0: Kafka removed the older records; "
        "the twin continues from Redis, which cannot be rebuilt: copy its files, and restore the topic from "
        "a backup, or create another twin (another LIGHTWAVE_PREFIX and Redis)"
    )
