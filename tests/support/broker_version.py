"""The version of a Kafka broker."""

from shared.runtimes.live.kafka import topic_admin
from shared.runtimes.live.kafka.brokers import Brokers


def broker_version(brokers: Brokers) -> tuple[int, ...]:
    """The version of the answering broker, from its protocol; OperationFailed if it is too old."""
    with topic_admin._admin(brokers) as admin:
        return topic_admin._version(admin)
