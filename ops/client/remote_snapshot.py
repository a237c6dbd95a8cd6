"""Fetches the states of a running twin's site from its gateway."""

from ops.client.http_client import Client, escape_path
from ops.local.software_version import software_version
from services.fabric_kinds import services_of
from shared.basics.errors import OperationFailed, SnapshotRefused
from shared.engine.code_version import RULES
from shared.storage.snapshots.site_snapshot import SiteSnapshot, from_bytes


def fetch_snapshot(client: Client, site: str) -> SiteSnapshot:
    """Fetch the snapshot of a site at the client's time; the client must have one (`at`).

    Raises OperationFailed if code with other rules made it, because its services would emit different
    messages.
    """
    snapshot = from_bytes(client.content(f"/v1/snapshots/{escape_path(site)}"))
    try:
        snapshot.check_code(services_of)
    except SnapshotRefused:
        raise OperationFailed(
            f"the twin runs build {snapshot.software} with rules {snapshot.rules}, but this command is build "
            f"{software_version()} with rules {RULES}; use the command of the twin's version"
        ) from None
    return snapshot
