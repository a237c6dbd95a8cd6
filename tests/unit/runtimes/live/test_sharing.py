"""Every partition of the log is assigned to a member, whatever the group leader knows of the topic."""

from typing import Any

import pytest
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from aiokafka.coordinator.protocol import ConsumerProtocolMemberMetadata

from shared.runtimes.live.worker.faust_pump import partition_assignor

TOPIC = "lightwave.log"


class Cluster:
    """A client's knowledge of the topic."""

    def __init__(self, partitions: set[int] | None) -> None:
        self._partitions = partitions

    def partitions_for_topic(self, _topic: str) -> set[int] | None:
        return self._partitions


def shared(assignor: Any, told: set[int] | None, *members: str) -> dict[str, list[int]]:
    """Member → the partitions that it is given."""
    metadata = {name: ConsumerProtocolMemberMetadata(0, [TOPIC], b"") for name in members}
    found = assignor.assign(Cluster(told), metadata)
    return {name: [n for _, numbers in row.assignment for n in numbers] for name, row in found.items()}


@pytest.mark.parametrize("expected", [None, set(), {0}, {0, 1, 2, 3}])
def test_nothing_is_left_out_by_a_leader_that_was_reported_nothing_yet(expected: set[int] | None) -> None:
    sharing = partition_assignor(TOPIC, 4)
    assert shared(sharing, expected, "ocs-a") == {"ocs-a": [0, 1, 2, 3]}
    assert shared(sharing, expected, "ocs-a", "ocs-b") == {"ocs-a": [0, 2], "ocs-b": [1, 3]}


def test_it_shares_as_the_client_s_own_where_that_was_reported_all() -> None:
    names = ("ocs-a", "ocs-b", "ocs-c")
    plain = shared(RoundRobinPartitionAssignor, {0, 1, 2, 3}, *names)
    assert shared(partition_assignor(TOPIC, 4), {0, 1, 2, 3}, *names) == plain
    assert shared(RoundRobinPartitionAssignor, None, *names) == {name: [] for name in names}, (
        "what it was for"
    )
