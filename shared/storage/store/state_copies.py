"""Private copies of what a store holds: whoever has one may drive it on, and the twin knows nothing of it."""

import time
from collections.abc import Callable, Sequence
from typing import Protocol

from shared.basics.errors import OperationFailed
from shared.engine.service import AnyService, Service
from shared.engine.site import Site
from shared.engine.state import StateT
from shared.engine.state_codec import decode_state, restore_instance
from shared.storage.store.state_store import (
    DocumentReader,
    FabricPlace,
    PartitionSnapshot,
    StateStore,
    fabric_not_in_store,
)

QUIET_S_MAX = 5.0
"""How long a copy of a site waits for a quiet moment."""
POLL_S = 0.002

ServicesOf = Callable[[str], Sequence[AnyService]]


class CopyableStore(StateStore, DocumentReader, Protocol):
    """A store that tells where fabrics live, too."""


class StateCopies:
    """Copies of the states that a store holds, of the moment at which they are asked for."""

    def __init__(self, store: CopyableStore, services_of: ServicesOf) -> None:
        self._store = store
        self._services_of = services_of

    def state(self, fabric: str, service: Service[StateT]) -> StateT:
        """What one service holds of a fabric; OperationFailed where that is nothing yet."""
        stored = self._store.load(self._place(fabric).partition, service.name, fabric)
        if not stored:
            raise OperationFailed(f"fabric {fabric}: {service.name} has not begun yet; ask again")
        return decode_state(service.state, stored)

    def sites(self, fabric: str, count: int) -> list[Site]:
        """So many copies of the whole site of a fabric, of one quiet moment; OperationFailed where none comes
        soon."""
        place = self._place(fabric)
        places = {name: at for name, at in self._store.fabrics().items() if at.site == place.site}
        wanted = [
            (service.name, name) for name, at in places.items() for service in self._services_of(at.kind)
        ]
        snapshot = quiet_snapshot(self._store, place.partition, wanted, QUIET_S_MAX)
        copies = []
        for _ in range(count):
            instances = [
                restore_instance(service, name, snapshot.states[service.name, name])
                for name, at in places.items()
                for service in self._services_of(at.kind)
            ]
            copies.append(Site(place.site, self._services_of, instances))
        return copies

    def _place(self, fabric: str) -> FabricPlace:
        place = self._store.fabrics().get(fabric)
        if place is None:
            raise fabric_not_in_store(fabric)
        return place


def quiet_snapshot(
    store: StateStore, partition: int, wanted: Sequence[tuple[str, str]], wait_s: float
) -> PartitionSnapshot:
    """These states, (service, fabric), of one moment at which all that hold them stood at one position and
    nothing was left to say; OperationFailed where that does not come within so many seconds."""
    names = {service for service, _ in wanted}
    until_s = time.monotonic() + wait_s
    while True:
        snapshot = store.snapshot(partition, wanted)
        positions = {service: snapshot.positions.get(service, 0) for service in sorted(names)}
        read_all = min(positions.values()) >= int(snapshot.values.get("end", 0))
        if len(set(positions.values())) == 1 and read_all and not snapshot.outbox_size:
            return snapshot
        if time.monotonic() > until_s:
            behind = min(positions, key=lambda service: positions[service])
            raise OperationFailed(
                f"partition {partition}: not quiet for {wait_s:.0f} s, {behind} stands at "
                f"{positions[behind]} of {max(positions.values())}; `lightwave clock pause` helps, "
                "`lightwave live status` says who holds it up"
            )
        time.sleep(POLL_S)
