"""What a worker's consumer makes of a Kafka that is starting, and names no broker yet."""

import asyncio

import pytest
from aiokafka import AIOKafkaConsumer
from aiokafka.client import AIOKafkaClient, CoordinationType
from aiokafka.consumer import consumer
from aiokafka.errors import KafkaError

from shared.runtimes.live.kafka.no_brokers import ask_again_without_brokers


async def refusal() -> BaseException | None:
    """What a consumer that knows no broker meets when it looks for the coordinator of its group."""
    made = AIOKafkaConsumer(group_id="ocs", bootstrap_servers="127.0.0.1:9")
    client: AIOKafkaClient = made._client
    try:
        await client.coordinator_lookup(CoordinationType.GROUP, "ocs")
    except BaseException as error:  # noqa: BLE001 -- whichever it is
        return error
    finally:
        await client.close()
        made._closed = True
    return None


def test_no_broker_is_an_answer_after_which_it_asks_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consumer, "AIOKafkaClient", AIOKafkaClient)
    assert isinstance(asyncio.run(refusal()), AssertionError), "it ends the search, if this still holds"
    ask_again_without_brokers()
    error = asyncio.run(refusal())
    assert isinstance(error, KafkaError)
    assert (error.retriable, str(error)) == (
        True,
        "[Error 15] GroupCoordinatorNotAvailableError: Kafka names no broker yet",
    )
