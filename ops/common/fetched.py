"""The states of a living twin's site, as its gateway gives them."""

from dataclasses import dataclass

from ops.common.client import Client, escape
from ops.common.version import software
from services.fleet import services_of
from shared.basics.errors import OperationFailed, SnapshotRefused
from shared.engine.rules import RULES
from shared.storage.snapshots.site_snapshot import SiteSnapshot, from_bytes


@dataclass(frozen=True, slots=True)
class Fetched:
    """A snapshot, and the bytes that it came in, which every worker reads anew. `from_us` is the moment that
    was asked about: the site says nothing between what it said last and then."""

    held: bytes
    snapshot: SiteSnapshot
    from_us: int


def fetched(client: Client, site: str) -> Fetched:
    """Of the moment that the client asks about, which must ask about one. OperationFailed where code of other
    rules made it: its services say other things."""
    held = client.content(f"/v1/snapshots/{escape(site)}")
    snapshot = from_bytes(held)
    try:
        snapshot.check_code(services_of)
    except SnapshotRefused:
        raise OperationFailed(
            f"the twin runs build {snapshot.software} of rules {snapshot.rules}, and this command is of "
            f"{software()} of rules {RULES}: it cannot know its future; use the twin's own version"
        ) from None
    if client.of_us is None:
        raise client.foreign("its answer does not say of which moment it is")
    return Fetched(held, snapshot, client.of_us)
