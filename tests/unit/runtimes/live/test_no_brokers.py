"""How a worker's clients handle a Kafka that is starting and names no broker yet."""

import asyncio
from types import ModuleType

import pytest
from aiokafka import AIOKafkaConsumer
from aiokafka.client import AIOKafkaClient, CoordinationType
from aiokafka.consumer import consumer
from aiokafka.errors import KafkaConnectionError, KafkaError
from aiokafka.producer import producer

from shared.runtimes.live.kafka.brokers import Brokers
from shared.runtimes.live.worker import faust_pump
from shared.runtimes.live.worker.faust_pump import wait_for_kafka

BROKERS = Brokers("127.0.0.1:9")


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
    restore_afterwards(monkeypatch)
    with pytest.raises(AssertionError):  # it ends the search; if that no longer works, there is nothing to do
        asyncio.run(look())
    wait_for_kafka(BROKERS)
    with pytest.raises(KafkaError) as found:
        asyncio.run(look())
    assert (found.value.retriable, str(found.value)) == (
        True,
        "[Error 15] GroupCoordinatorNotAvailableError: Kafka names no broker yet",
    )


class Exited(Exception):
    """Replaces the exit of the process."""


def exit_with(code: int) -> None:
    raise Exited(code)


@pytest.mark.parametrize("module", [consumer, producer])
@pytest.mark.parametrize("failures", [0, 3])
def test_a_client_that_starts_waits_for_kafka(
    failures: int, module: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = [failures]

    async def bootstrap(_client: AIOKafkaClient) -> None:
        if left[0]:
            left[0] -= 1
            raise KafkaConnectionError("Unable to bootstrap from 127.0.0.1:9")

    restore_afterwards(monkeypatch)
    monkeypatch.setattr(AIOKafkaClient, "bootstrap", bootstrap)
    monkeypatch.setattr(faust_pump, "BOOTSTRAP_RETRY_S", 0.0)
    monkeypatch.setattr(faust_pump, "_exit", exit_with)
    wait_for_kafka(BROKERS)
    asyncio.run(start(module))
    assert left == [0]


@pytest.mark.parametrize("module", [consumer, producer])
def test_a_client_that_cannot_reach_kafka_exits_with_one_sentence(
    module: ModuleType, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    restore_afterwards(monkeypatch)
    monkeypatch.setattr(faust_pump, "BOOTSTRAP_S_MAX", 0.0)
    monkeypatch.setattr(faust_pump, "BOOTSTRAP_RETRY_S", 0.0)
    monkeypatch.setattr(faust_pump, "_exit", exit_with)
    wait_for_kafka(BROKERS)
    with pytest.raises(Exited, match=r"^1$"):
        asyncio.run(start(module))
    sentences = [record.getMessage() for record in caplog.records if record.name == "lightwave.live"]
    assert len(sentences) == 1
    assert "127.0.0.1:9" in sentences[0]
    assert "Traceback" not in caplog.text


async def start(module: ModuleType) -> None:
    """Start the client of a consumer or a producer; nothing listens at the address."""
    client: AIOKafkaClient = module.AIOKafkaClient(bootstrap_servers="127.0.0.1:9")
    try:
        await client.bootstrap()
    finally:
        await client.close()


def restore_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the clients of aiokafka be its own ones again after the test."""
    for module in (consumer, producer):
        monkeypatch.setattr(module, "AIOKafkaClient", AIOKafkaClient)
