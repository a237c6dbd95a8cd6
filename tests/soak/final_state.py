"""Whether a twin is quiet, and what its states and documents say then, for the proof."""

import json
import time
from typing import Any

from shared.basics.errors import LightwaveError, OperationFailed
from shared.engine.state_codec import restore_instance
from shared.storage.store.fabric_registry import registered_fabrics, services_in_partition
from tests.soak.checks import FinalState
from tests.soak.whole_twin import WholeTwin

LINKED = ("trunks", "blocks")
"""Lists of kinds that have links."""


def is_quiet(twin: WholeTwin) -> bool:
    """Whether all services of all partitions have reached the sequencer's end of the log, with an empty
    outbox and no request waiting. It must be so twice, because the sequencer may be about to append."""
    for _ in range(2):
        try:
            for partition in {place.partition for place in twin.store.fabrics().values()}:
                snapshot = twin.store.snapshot(partition, [])
                stands = {
                    snapshot.positions.get(name, 0)
                    for name in services_in_partition(
                        registered_fabrics(snapshot.values), twin.options.services_of
                    )
                }
                read_all = len(stands) == 1 and min(stands) >= int(snapshot.values.get("end", 0))
                if not read_all or snapshot.outbox_size or twin.store.size(partition):
                    return False
        except LightwaveError:
            return False
        time.sleep(0.5)
    return True


def read_final_state(twin: WholeTwin) -> FinalState:
    """What states and documents say of a twin that is quiet."""
    books, positions, ticks = {}, {}, {}
    faults, slices = {}, {}
    for fabric, place in twin.store.fabrics().items():
        partition = place.partition
        begun, progress = twin.store.positions(partition), twin.store.progress(partition)
        for service in twin.options.services_of(place.kind):
            stored = twin.store.load(partition, service.name, fabric)
            books[service.name, fabric] = restore_instance(service, fabric, stored).seen
            positions[service.name, partition] = begun.get(service.name, 0)
            row = progress.get((service.name, fabric))
            ticks[service.name, fabric] = None if row is None else row.ticks
        faults[fabric] = sum(_summary(twin, fabric, "failures")["begun"].values())
        if any(service.name == "workload" for service in twin.options.services_of(place.kind)):
            slices[fabric] = _summary(twin, fabric, "workload")["requested"]
    # A cube with a requested drain that still runs a slice is shown as draining.
    drained = {cube["name"]: cube["drained"] or cube["draining"] for cube in twin.get("/v1/cubes")}
    trunks, blocks = ({row["name"]: row["links"] for row in twin.get(f"/v1/{kind}")} for kind in LINKED)
    rewirings = frozenset(row["name"] for row in twin.get("/v1/rewirings"))
    return FinalState(drained, books, faults, slices, positions, ticks, trunks, blocks, rewirings)


def _summary(twin: WholeTwin, fabric: str, service: str) -> dict[str, Any]:
    text = twin.store.one(fabric, "summaries", f"{fabric}/{service}")
    if text is None:
        raise OperationFailed(f"{fabric}: {service} has written no summary")
    found: dict[str, Any] = json.loads(text)
    return found
