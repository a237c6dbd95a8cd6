"""Clients of kafka-python, made so that nothing of one is left behind that does not reach Kafka."""

from collections.abc import Callable
from typing import Any, TypeVar

from kafka.net.compat import KafkaNetClient

from shared.runtimes.live.kafka.brokers import Brokers

ClientT = TypeVar("ClientT")


def make_client(make: Callable[..., ClientT], brokers: Brokers, **settings: Any) -> ClientT:
    """A consumer or an admin client; raises what `make` raises. One that does not reach Kafka would leave its
    thread and its sockets behind for good, and whoever wants one asks again and again: so they are closed."""
    made: list[Any] = []

    def client(**given: Any) -> Any:
        made.append(KafkaNetClient(**given))
        return made[-1]

    try:
        return make(**brokers.arguments(), **settings, kafka_client=client)
    except BaseException:
        for one in made:
            one.close()
        raise
