"""Turns a snapshot into the commit that creates its states in an empty store."""

from collections.abc import Mapping

from shared.engine.site import Site
from shared.storage.store.change_tracking import changes_of
from shared.storage.store.fabric_registry import FabricRegistration, registration_value
from shared.storage.store.state_store import Commit


def site_commit(site: Site, kinds: Mapping[str, str], partition: int) -> Commit:
    """States, documents, clocks and registrations of a site restored from a snapshot. `kinds` has the kind of
    each fabric. The caller sets the positions."""
    changes = changes_of(site.instances, {})
    fields: dict[str, str | None] = {}
    for fabric, kind in kinds.items():
        fields |= registration_value(fabric, FabricRegistration(site.name, kind, _retired_us(site, fabric)))
    return Commit(
        partition=partition,
        expected={},
        positions={},
        states=changes.states,
        documents=changes.documents,
        progress=changes.clocks,
        fields=fields,
    )


def _retired_us(site: Site, fabric: str) -> int | None:
    """When a fabric read its last message; its time stops there. None while it is active."""
    return next(
        (
            instance.state.now_us
            for instance in site.instances
            if instance.fabric == fabric and instance.is_retired and instance.state is not None
        ),
        None,
    )
