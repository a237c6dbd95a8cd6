"""The version of a Kafka broker."""

from shared.runtimes.live.kafka import topic_admin
from shared.runtimes.live.kafka.brokers import Brokers


def broker_version(brokers: Brokers) -> tuple[int, ...]:
    """Return the version of the broker that answers, from its protocol. Raises OperationFailed if it is too
    old."""
    with topic_admin._admin(brokers) as admin:
        return topic_admin._version(admin)
