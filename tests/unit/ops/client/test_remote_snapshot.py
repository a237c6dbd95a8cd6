"""A site's states fetched from a twin, by software that may or may not be able to continue them."""

from dataclasses import replace

import pytest

from ops.client.http_client import Client
from ops.client.remote_snapshot import fetch_snapshot
from services.fabric_kinds import services_of
from shared.basics.errors import OperationFailed
from shared.engine.code_version import RULES
from shared.storage.snapshots.site_snapshot import SiteSnapshot, take_snapshot, to_bytes
from tests.support.pods import POD, pod_lab


class SnapshotClient(Client):
    """A client that answers with a snapshot."""

    def __init__(self, snapshot: SiteSnapshot) -> None:
        super().__init__("http://127.0.0.1:9")
        self._snapshot = snapshot

    def content(self, path: str, **query: object) -> bytes:
        assert (path, query) == (f"/v1/snapshots/{POD}", {})
        return to_bytes(self._snapshot)


def snapshot_of_lab() -> SiteSnapshot:
    lab = pod_lab()
    lab.run(1_000_000)
    return take_snapshot(lab.site, lab.messages, b"", software="another", kinds={POD: "superpod"})


def test_a_build_with_the_same_rules_is_accepted() -> None:
    snapshot = fetch_snapshot(SnapshotClient(snapshot_of_lab()), POD)
    assert snapshot.software == "another"
    assert snapshot.restored(services_of).fabrics == [POD]


def test_a_build_with_other_rules_is_refused() -> None:
    with pytest.raises(
        OperationFailed, match=f"build another with rules {RULES + 1}, but this command is build"
    ):
        fetch_snapshot(SnapshotClient(replace(snapshot_of_lab(), rules=RULES + 1)), POD)
