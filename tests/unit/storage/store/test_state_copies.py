"""Private copies of states, all of one quiet point."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from services.fabric_kinds import services_of
from services.scheduler.service import SERVICE as SCHEDULER
from shared.basics.errors import OperationFailed
from shared.engine.state_codec import encode_instance
from shared.storage.store.memory_store import MemoryStore
from shared.storage.store.state_copies import StateCopies, quiet_snapshot
from shared.storage.store.state_store import PartitionSnapshot
from tests.support.gateway_twin import QUIET, DrivenTwin
from tests.support.pods import pod_place

pytestmark = pytest.mark.integration

READERS = [("ocs", "pod-0"), ("scheduler", "pod-0")]


@dataclass
class Looks(MemoryStore):
    """A store that is seen in these moments, one after the other; the last one stays."""

    moments: list[PartitionSnapshot]

    def __post_init__(self) -> None:
        super().__init__()

    def snapshot(self, _partition: int, _states: object, *, whole: bool = False) -> PartitionSnapshot:
        return self.moments.pop(0) if len(self.moments) > 1 else self.moments[0]


def moment(
    ocs: int, scheduler: int, *, outbox: int = 0, values: Mapping[str, str] | None = None
) -> PartitionSnapshot:
    return PartitionSnapshot({"ocs": ocs, "scheduler": scheduler}, values or {}, {}, {}, outbox)


def test_a_copy_waits_until_all_have_read_all_and_reported_all() -> None:
    quiet = moment(7, 7, values={"end": "7"})
    busy = [moment(6, 7), moment(7, 7, outbox=1), moment(7, 7, values={"end": "8"})]
    assert quiet_snapshot(Looks([*busy, quiet]), 0, READERS, wait_s=5.0) is quiet


def test_where_no_quiet_time_comes_that_is_reported() -> None:
    with pytest.raises(OperationFailed, match=r"partition 0: not quiet within 0 s, ocs is at 6 of 7"):
        quiet_snapshot(Looks([moment(6, 7)]), 0, READERS, wait_s=0.0)


def test_a_missing_state_has_no_copy() -> None:
    store = MemoryStore()
    copies = StateCopies(store, services_of)
    with pytest.raises(OperationFailed, match="fabric pod-0: not in this store"):
        copies.state("pod-0", SCHEDULER)
    store.place("pod-0", pod_place(0, "pod-0"))
    with pytest.raises(OperationFailed, match="fabric pod-0: scheduler has not started yet; try again"):
        copies.state("pod-0", SCHEDULER)


def test_a_change_of_a_copy_does_not_affect_others(tmp_path: Path) -> None:
    twin = DrivenTwin(tmp_path, ["pod.cubes=4", *QUIET])
    twin.advance(1)
    one, other = StateCopies(twin.store, services_of).sites("pod-0", 2)
    before = [encode_instance(instance) for instance in other.instances]
    root = one.next_root(None, clock_us=one.now_us + 10**12)
    assert root is not None
    one.cascade(root)
    assert [encode_instance(instance) for instance in other.instances] == before
    (again,) = StateCopies(twin.store, services_of).sites("pod-0", 1)
    assert [encode_instance(instance) for instance in again.instances] == before
    twin.close()
