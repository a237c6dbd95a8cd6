"""How the leader of a worker's group shares the partitions of the log among its members."""

from collections.abc import Mapping
from typing import Any

from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor

Assignor = type[RoundRobinPartitionAssignor]


def sharing_of(topic: str, partitions: int) -> Assignor:
    """Round robin, over the partitions that a topic is known to have whatever the leader's client was told.

    After a broker that stood still, a leader may join before its client has heard of the topic. It would then
    give nobody anything; and Kafka keeps what a member has for one that comes back under its name, so that a
    worker which ends for that and is started again would be given nothing again, for ever.
    """
    known = _Known({topic: set(range(partitions))})

    class Sharing(RoundRobinPartitionAssignor):  # type: ignore[misc]  # aiokafka ships no types
        @classmethod
        def assign(cls, _cluster: Any, members: Mapping[str, Any]) -> Mapping[str, Any]:
            found: Mapping[str, Any] = super().assign(known, members)
            return found

    return Sharing


class _Known:
    """As much of a client's metadata as is asked for."""

    def __init__(self, partitions: Mapping[str, set[int]]) -> None:
        self._partitions = partitions

    def partitions_for_topic(self, topic: str) -> set[int] | None:
        return self._partitions.get(topic)
