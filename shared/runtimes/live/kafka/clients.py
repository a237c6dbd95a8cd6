"""Creates clients of kafka-python that find a running broker, and leave nothing behind if there is none."""

import dataclasses
import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from kafka.cluster import collect_hosts
from kafka.net.compat import KafkaNetClient

from shared.runtimes.live.kafka.brokers import Brokers

LISTEN_S_MAX = 4.0
"""How long a broker may take to accept a connection."""
ClientT = TypeVar("ClientT")


def make_client(make: Callable[..., ClientT], brokers: Brokers, **settings: Any) -> ClientT:
    """Create a consumer or an admin client; raises what `make` raises, and OSError if no broker accepts a
    connection.

    The client gets only the brokers that do: kafka-python tries one of its list at random, waits longer after
    each failure, and may spend its whole time on one that is down. A client that cannot reach Kafka would
    leak its thread and sockets, and callers retry often, so this closes it."""
    listening = dataclasses.replace(brokers, bootstrap=_listening(brokers))
    made: list[Any] = []

    def client(**arguments: Any) -> Any:
        made.append(KafkaNetClient(**arguments))
        return made[-1]

    try:
        return make(**listening.arguments(), **settings, kafka_client=client)
    except BaseException:
        for network_client in made:
            network_client.close()
        raise


def _listening(brokers: Brokers) -> str:
    """HOST:PORT of the brokers that accept a connection, comma-separated; OSError if there are none."""
    addresses = brokers.addresses
    with ThreadPoolExecutor(len(addresses)) as executor:
        refusals = list(executor.map(_refusal, addresses))
    listening = [address for address, refusal in zip(addresses, refusals, strict=True) if refusal is None]
    if not listening:
        raise refusals[0] or OSError("no broker is named")
    return ",".join(listening)


def _refusal(address: str) -> OSError | None:
    """The error of a connection to this address."""
    ((host, port, _),) = collect_hosts(address)
    try:
        socket.create_connection((host, port), timeout=LISTEN_S_MAX).close()
    except OSError as error:
        return error
    except OverflowError as error:  # a port above 65535
        return OSError(str(error))
    return None
