"""What every part says when Kafka does not answer."""

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

# Why a Kafka that listens does not let us in. Clients only say that they came nowhere: so it is asked again,
# by one connection, that tells.

PROBE_S_MAX = 2.0
ROOM_PAIRS = 8
_PROTOCOL = "see LIGHTWAVE_KAFKA_SECURITY_PROTOCOL"


def connection_refusal(brokers: Brokers) -> str | None:
    """What the first broker that takes a connection has against us, or why we can ask none; None if it has
    nothing, or none takes one."""
    try:
        _check_room()
    except OSError as error:
        return out_of_descriptors(error)
    with ThreadPoolExecutor(1) as beside:  # whoever asks may be in a loop of its own
        return beside.submit(asyncio.run, _first_refusal(brokers)).result()


def _check_room() -> None:
    """OSError unless there are as many file descriptors as a loop and a connection take: without them asyncio
    would write tracebacks, and uvloop would abort the process."""
    with contextlib.ExitStack() as room:
        for _ in range(ROOM_PAIRS):
            for end in socket.socketpair():
                room.enter_context(end)


async def _first_refusal(brokers: Brokers) -> str | None:
    for host, port, _ in collect_hosts(brokers.bootstrap):
        try:
            async with asyncio.timeout(PROBE_S_MAX):
                return await _refusal(brokers, host, port)
        except (OSError, OverflowError):  # a TimeoutError is one
            continue
    return None


async def _refusal(brokers: Brokers, host: str, port: int) -> str | None:
    """As above, of this one; OSError if nobody takes a connection there."""
    _, writer = await asyncio.open_connection(host, port)
    writer.close()
    arguments = {name: value for name, value in brokers.arguments().items() if name != "bootstrap_servers"}
    try:
        connection = await create_conn(host, port, **arguments)
    except ssl.SSLCertVerificationError as error:
        return f"its certificate is not trusted ({error.verify_message}); see LIGHTWAVE_KAFKA_CA_FILE"
    except SaslAuthenticationFailed:
        return f"refuses the login of user {brokers.user!r}; see LIGHTWAVE_KAFKA_USER and its password file"
    except UnsupportedSaslMechanismError:
        return f"takes no login by {brokers.mechanism}; see LIGHTWAVE_KAFKA_SASL_MECHANISM"
    except IllegalSaslStateError:
        return f"takes no logins there; {_PROTOCOL}"
    except (KafkaConnectionError, OSError):
        return f"ends the connection: it may {'not ' if brokers.is_tls else ''}want TLS there; {_PROTOCOL}"
    connection.close()
    if brokers.is_sasl:
        return None
    return f"takes the connection, but no request: it may want a login; {_PROTOCOL}"


_TOO_LARGE = ("MessageSizeTooLargeError", "RecordListTooLargeError")
_CAME_NOWHERE = "Unable to bootstrap"
_FORBIDDEN = "AuthorizationFailedError"
WORDS_MAX = 80
"""Of what a client says: some quote the whole request."""
_OUT_OF_RANGE = "OffsetOutOfRangeError"
"""By name: two clients have each a class of their own."""


class LogUnreachable(OperationFailed):
    """Kafka does not answer, or refuses. What was being appended may or may not stand on the log."""


def kafka_unreachable(brokers: Brokers, error: BaseException) -> LogUnreachable:
    """The sentence for whatever a client raised."""
    kind = type(error).__name__
    what = str(error) or kind
    why = out_of_descriptors(error) or (connection_refusal(brokers) if _CAME_NOWHERE in what else None)
    if why:
        return LogUnreachable(f"Kafka at {brokers}: {why}")
    if kind.endswith(_FORBIDDEN):
        return LogUnreachable(
            f"Kafka at {brokers}: user {brokers.user!r} may not do this: {what[:WORDS_MAX]}; the rights that "
            "a twin needs are in docs/security.md"
        )
    if kind in _TOO_LARGE:
        return LogUnreachable(
            f"Kafka at {brokers}: refuses a record as too large: {what}; see max.message.bytes of its topic"
        )
    if kind == _OUT_OF_RANGE:
        return LogUnreachable(
            f"Kafka at {brokers}: does not hold the offset that was asked for: {what}; see that nothing "
            "removes messages from its topic (retention)"
        )
    return LogUnreachable(f"Kafka at {brokers}: {what}; see that it runs there and takes requests")


def log_start_removed(topic: str, partition: int, begin: int) -> str:
    """The sentence for a partition of which Kafka has removed the beginning."""
    return (
        f"topic {topic}: partition {partition} begins at {begin}, not at 0: Kafka removed what stood before; "
        "what goes on does so from Redis, which cannot be made again: keep a copy of its files, and restore "
        "the topic from a backup, or make another twin (another LIGHTWAVE_PREFIX and Redis)"
    )
