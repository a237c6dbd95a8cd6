"""A Kafka that is starting answers, and names no broker yet.

A consumer of aiokafka that meets this asserts that it cannot be, after which it looks for its group's
coordinator no more. Here it is told to ask again, as for any other answer that will be another soon.
"""

from typing import Any

from aiokafka.client import AIOKafkaClient
from aiokafka.consumer import consumer
from aiokafka.errors import GroupCoordinatorNotAvailableError


def ask_again_without_brokers() -> None:
    """Let the consumers of this process outlive such an answer; called before the first is made."""
    consumer.AIOKafkaClient = _PatientClient


class _PatientClient(AIOKafkaClient):  # type: ignore[misc]  # aiokafka ships no types
    async def coordinator_lookup(self, coordinator_type: int, coordinator_key: str) -> Any:
        if self.get_random_node() is None:
            raise GroupCoordinatorNotAvailableError("Kafka names no broker yet")
        return await super().coordinator_lookup(coordinator_type, coordinator_key)
