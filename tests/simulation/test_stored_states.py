"""Stored states of a real fleet under many faults: states, their changes, and documents."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from ops.lab.run import site_digest
from ops.sites.configuration import superpod_config
from schemas.envelope import Envelope
from schemas.messages.operator import (
    ClearFault,
    DrainCube,
    InjectFault,
    ReleaseSlice,
    RequestSlice,
    UndrainCube,
)
from shared.basics.units import US_PER_DAY, US_PER_HOUR
from shared.engine.dispatch import ServiceInstance
from shared.engine.service import DocumentKey
from shared.engine.site import Site
from shared.engine.site_driver import LabRequest
from shared.engine.state_codec import encode_instance, restore_instance
from shared.storage.store.change_tracking import StateTracker
from tests.support.fresh_documents import fresh_documents
from tests.support.pods import (
    POD,
    SUPERPOD,
    empty_site,
    first_message,
    fleet_of,
    next_tick,
    pod_lab,
    request_to,
)

CONFIG = superpod_config(
    [
        "pod.cubes=8",
        "workload.duration_mean_h=0.7",
        "failures.host_per_day=0.1",
        "failures.link_per_day=0.02",
        "failures.ocs_per_day=0.3",
        "repairs.ocs_repair_h=4",
        "repairs.host_repair_h=2",
        "repairs.link_repair_h=2",
    ],
    seed=21,
)
END_US = 2 * US_PER_DAY
BODIES = [
    InjectFault(kind="connector", target="pod-0/cube-1/+x/3", duration_us=3 * US_PER_HOUR),
    InjectFault(kind="port", target="pod-0/ocs-9/N2", duration_us=US_PER_HOUR),
    InjectFault(kind="chip", target="pod-0/cube-2/host-5/chip-1"),
    InjectFault(kind="cable", target="pod-0/cube-2/cable-7"),
    InjectFault(kind="cube-power", target="pod-0/cube-1"),
    InjectFault(kind="cooling", target="pod-0/cube-2"),
    InjectFault(kind="link", target="pod-0/cube-7/-z/15"),
    RequestSlice(shape=(4, 4, 8), twisted=True, priority=3, duration_us=5 * US_PER_HOUR),
    RequestSlice(shape=(2, 2, 1)),
    DrainCube(cube="pod-0/cube-4"),
    ReleaseSlice(slice="pod-0/slice-3"),
    ClearFault(fault="pod-0/fault-0"),
    UndrainCube(cube="pod-0/cube-4"),
    InjectFault(kind="ocs", target="pod-0/ocs-99"),
]
REQUESTS = [LabRequest((n + 1) * 3 * US_PER_HOUR + 17, POD, body, n + 1) for n, body in enumerate(BODIES)]


@dataclass
class Kept:
    """The data that a runtime stores after each root message."""

    site: Site
    stored: dict[str, dict[str, bytes]] = field(default_factory=dict)
    documents: dict[DocumentKey, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.trackers = {service.name: StateTracker() for service in SUPERPOD}
        self.stored = {service.name: {} for service in SUPERPOD}

    def commit(self, read_by: dict[str, ServiceInstance]) -> None:
        """Commit as the embedded runtime does: only for services that read a message."""
        for name, instance in read_by.items():
            change = self.trackers[name].changes(instance)
            if change is not None:
                for gone in change.removed:
                    self.stored[name].pop(gone, None)
                self.stored[name].update(change.written)
            if instance.state is not None:
                for key in instance.state.changed_documents:
                    self.documents[key] = instance.service.document(instance.state, key)
                instance.state.changed_documents.clear()


def all_documents(site: Site) -> dict[DocumentKey, Any]:
    return {key: text for one in site.instances for key, text in fresh_documents(one).items()}


def roots(site: Site) -> Iterator[Envelope]:
    """All root messages up to the end, in the lab's order."""
    yield first_message(CONFIG)
    waiting = [*REQUESTS]
    while (due := site.earliest()) is not None and due.due_us is not None:
        if waiting and waiting[0].at_us <= due.due_us:
            request = waiting.pop(0)
            yield request_to(site, request.body, request.number, request.at_us)
        elif due.due_us > END_US:
            return
        else:
            yield next_tick(site)


def test_incremental_changes_always_equal_the_full_states() -> None:
    """After every root message, the applied changes equal the states, and no other document than the touched
    ones changed."""
    site = empty_site()
    kept = Kept(site)
    read_by: dict[str, ServiceInstance] = {}
    count = 0
    kinds: set[str] = set()
    for root in roots(site):
        read_by.clear()
        log = site.cascade(
            root, lambda instance, message: read_by.__setitem__(instance.service.name, instance)
        )
        kinds.update(message.type for message in log)
        if not count:
            kept.documents.update(all_documents(site))
        kept.commit(read_by)
        for instance in site.instances:
            assert kept.stored[instance.service.name] == encode_instance(instance), (
                root.id,
                instance.service.name,
            )
        if count % 10 == 0:
            check_documents(kept, root)
        count += 1
    check_documents(kept, root)
    assert count > 500
    assert {
        "CubeSwapped",
        "SliceRecovering",
        "SliceDegraded",
        "PortDown",
        "OcsDown",
        "RepairCompleted",
    } <= kinds
    assert {"FaultRefused", "CubeDrained", "CubeUndrained", "FaultEnded", "HostDown", "SliceRefused"} <= kinds


def check_documents(kept: Kept, root: Envelope) -> None:
    stored = {key: document for key, document in kept.documents.items() if document is not None}
    fresh = all_documents(kept.site)
    assert stored.keys() == fresh.keys(), root.id
    differing = [key for key, document in fresh.items() if stored[key] != document]
    assert differing == [], root.id


@pytest.mark.parametrize("hours", [1, 7])
def test_a_lab_with_stored_and_loaded_states_writes_the_same_log(hours: int) -> None:
    lines: dict[str, list[bytes]] = {"whole": [], "again": []}
    whole = pod_lab(CONFIG, sink=lines["whole"].append)
    whole.run(END_US, REQUESTS)
    again = pod_lab(CONFIG, sink=lines["again"].append)
    step_us = hours * US_PER_HOUR
    for from_us in range(0, END_US, step_us):
        until_us = min(from_us + step_us, END_US)
        again.run(until_us, [request for request in REQUESTS if from_us < request.at_us <= until_us])
        stored = [restore_instance(i.service, POD, encode_instance(i)) for i in again.site.instances]
        again.site = Site(POD, fleet_of(SUPERPOD), stored)
    first = next((n for n, pair in enumerate(zip(*lines.values(), strict=False)) if pair[0] != pair[1]), None)
    assert first is None, (lines["whole"][first], lines["again"][first])
    assert again.log_sha256 == whole.log_sha256
    assert site_digest(again.site) == site_digest(whole.site)
    assert again.messages > 1_000
