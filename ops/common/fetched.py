"""The states of a living twin's site, as its gateway gives them."""

from dataclasses import dataclass

from ops.common.client import Client, escape
from ops.common.version import software
from shared.basics.errors import OperationFailed
from shared.storage.snapshots.site_snapshot import SiteSnapshot, from_bytes


@dataclass(frozen=True, slots=True)
class Fetched:
    """A snapshot, and the bytes that it came in, which every worker reads anew."""

    held: bytes
    snapshot: SiteSnapshot


def fetched(client: Client, site: str) -> Fetched:
    """Of now, or of the moment that the client asks about. OperationFailed where another build made it: its
    services may say other things."""
    held = client.content(f"/v1/snapshots/{escape(site)}")
    snapshot = from_bytes(held)
    if snapshot.software != software():
        raise OperationFailed(
            f"the twin runs build {snapshot.software}, and this command is of {software()}: it cannot know "
            "its future; use the twin's own version"
        )
    return Fetched(held, snapshot)
