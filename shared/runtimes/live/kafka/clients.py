"""Creates clients of kafka-python that leave nothing behind if they cannot reach Kafka."""

from collections.abc import Callable
from typing import Any, TypeVar

from kafka.net.compat import KafkaNetClient

from shared.runtimes.live.kafka.brokers import Brokers

ClientT = TypeVar("ClientT")


def make_client(make: Callable[..., ClientT], brokers: Brokers, **settings: Any) -> ClientT:
    """Create a consumer or an admin client; raises what `make` raises. A client that cannot reach Kafka would
    leak its thread and sockets, and callers retry often, so this closes it."""
    made: list[Any] = []

    def client(**arguments: Any) -> Any:
        made.append(KafkaNetClient(**arguments))
        return made[-1]

    try:
        return make(**brokers.arguments(), **settings, kafka_client=client)
    except BaseException:
        for network_client in made:
            network_client.close()
        raise
