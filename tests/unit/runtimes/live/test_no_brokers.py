"""How a worker's consumer handles a Kafka that is starting and names no broker yet."""

import asyncio

import pytest
from aiokafka import AIOKafkaConsumer
from aiokafka.client import AIOKafkaClient, CoordinationType
from aiokafka.consumer import consumer
from aiokafka.errors import KafkaError

from shared.runtimes.live.worker.faust_pump import retry_without_brokers


async def look() -> None:
    """The behaviour of a consumer that knows no broker and needs the coordinator of its group."""
    made = AIOKafkaConsumer(group_id="ocs", bootstrap_servers="127.0.0.1:9")
    client: AIOKafkaClient = made._client
    try:
        await client.coordinator_lookup(CoordinationType.GROUP, "ocs")
    finally:
        await client.close()
        made._closed = True


def test_no_broker_is_an_answer_after_which_it_requests_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consumer, "AIOKafkaClient", AIOKafkaClient)
    with pytest.raises(AssertionError):  # it ends the search; if that no longer works, there is nothing to do
        asyncio.run(look())
    retry_without_brokers()
    with pytest.raises(KafkaError) as found:
        asyncio.run(look())
    assert (found.value.retriable, str(found.value)) == (
        True,
        "[Error 15] GroupCoordinatorNotAvailableError: Kafka names no broker yet",
    )
