"""Fetches the states of a running twin's site from its gateway."""

from dataclasses import dataclass

from ops.client.http_client import Client, escape_path
from ops.local.software_version import software_version
from services.fleet import services_of
from shared.basics.errors import OperationFailed, SnapshotRefused
from shared.engine.compatibility import RULES
from shared.storage.snapshots.site_snapshot import SiteSnapshot, from_bytes


@dataclass(frozen=True, slots=True)
class RemoteSnapshot:
    """A snapshot, and the bytes that it came in, which every worker reads anew. `from_us` is the moment that
    was asked about: the site says nothing between what it said last and then."""

    snapshot_bytes: bytes
    snapshot: SiteSnapshot
    from_us: int


def fetch_snapshot(client: Client, site: str) -> RemoteSnapshot:
    """Of the moment that the client asks about, which must ask about one. OperationFailed where code of other
    rules made it: its services say other things."""
    snapshot_bytes = client.content(f"/v1/snapshots/{escape_path(site)}")
    snapshot = from_bytes(snapshot_bytes)
    try:
        snapshot.check_code(services_of)
    except SnapshotRefused:
        raise OperationFailed(
            f"the twin runs build {snapshot.software} of rules {snapshot.rules}, and this command is of "
            f"{software_version()} of rules {RULES}: use the command of the twin's version"
        ) from None
    if client.answered_at_us is None:
        raise client.not_a_twin("its answer does not say of which moment it is")
    return RemoteSnapshot(snapshot_bytes, snapshot, client.answered_at_us)
