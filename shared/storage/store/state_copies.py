"""Private copies of stored states. The caller may run them on without any effect on the twin."""

import time
from collections.abc import Callable, Sequence
from typing import Protocol

from shared.basics.errors import OperationFailed
from shared.engine.service import AnyService, Service
from shared.engine.site import Site
from shared.engine.state import StateT
from shared.engine.state_codec import decode_state, restore_instance
from shared.storage.store.sealed_commits import check_states
from shared.storage.store.state_digests import StateDigests
from shared.storage.store.state_store import (
    DocumentReader,
    FabricPlace,
    PartitionSnapshot,
    StateStore,
    fabric_not_in_store,
)

QUIET_S_MAX = 5.0
"""How long a copy of a site waits for a quiet point."""
POLL_S = 0.002

ServicesOf = Callable[[str], Sequence[AnyService]]


class CopyableStore(StateStore, DocumentReader, Protocol):
    """A store that also knows where fabrics are."""


class StateCopies:
    """Copies of the states in a store, as of the request. With `digests`, StateRefused if a state was changed
    outside of the twin."""

    def __init__(
        self, store: CopyableStore, services_of: ServicesOf, digests: StateDigests | None = None
    ) -> None:
        self._store = store
        self._services_of = services_of
        self._digests = digests

    def state(self, fabric: str, service: Service[StateT]) -> StateT:
        """The state of one service for a fabric; OperationFailed if it has none yet."""
        partition, key = self._place(fabric).partition, (service.name, fabric)
        snapshot = self._store.snapshot(partition, [key])
        self._check(partition, snapshot)
        stored = snapshot.states[key]
        if not stored:
            raise OperationFailed(f"fabric {fabric}: {service.name} has not started yet; try again")
        return decode_state(service.state, stored)

    def sites(self, fabric: str, count: int) -> list[Site]:
        """`count` copies of the whole site of a fabric, of one quiet point; OperationFailed if there is none
        soon."""
        place = self._place(fabric)
        places = {name: at for name, at in self._store.fabrics().items() if at.site == place.site}
        wanted = [
            (service.name, name) for name, at in places.items() for service in self._services_of(at.kind)
        ]
        snapshot = quiet_snapshot(self._store, place.partition, wanted, QUIET_S_MAX)
        self._check(place.partition, snapshot)
        copies = []
        for _ in range(count):
            instances = [
                restore_instance(service, name, snapshot.states[service.name, name])
                for name, at in places.items()
                for service in self._services_of(at.kind)
            ]
            copies.append(Site(place.site, self._services_of, instances))
        return copies

    def _check(self, partition: int, snapshot: PartitionSnapshot) -> None:
        if self._digests is not None:
            check_states(self._digests, partition, snapshot)

    def _place(self, fabric: str) -> FabricPlace:
        place = self._store.fabrics().get(fabric)
        if place is None:
            raise fabric_not_in_store(fabric)
        return place


def quiet_snapshot(
    store: StateStore,
    partition: int,
    wanted: Sequence[tuple[str, str]],
    wait_s: float,
    *,
    whole: bool = False,
) -> PartitionSnapshot:
    """The states of some (service, fabric) at a quiet point: all services have the same position and nothing
    is left to emit. With `whole` also all documents. OperationFailed if that does not happen within
    `wait_s`."""
    names = {service for service, _ in wanted}
    until_s = time.monotonic() + wait_s
    while True:
        snapshot = store.snapshot(partition, wanted, whole=whole)
        positions = {service: snapshot.positions.get(service, 0) for service in sorted(names)}
        read_all = min(positions.values()) >= int(snapshot.values.get("end", 0))
        if len(set(positions.values())) == 1 and read_all and not snapshot.outbox_size:
            return snapshot
        if time.monotonic() > until_s:
            behind = min(positions, key=lambda service: positions[service])
            raise OperationFailed(
                f"partition {partition}: not quiet within {wait_s:.0f} s, {behind} is at "
                f"{positions[behind]} of {max(positions.values())}; `lightwave clock pause` helps, "
                "`lightwave live status` shows what delays it"
            )
        time.sleep(POLL_S)
