"""The states of a site as a twin gives them, by code that may know what comes of them or not."""

from dataclasses import replace

import pytest

from ops.client.http_client import Client
from ops.client.remote_snapshot import fetch_snapshot
from services.fabric_kinds import services_of
from shared.basics.errors import OperationFailed
from shared.engine.code_version import RULES
from shared.storage.snapshots.site_snapshot import SiteSnapshot, take_snapshot, to_bytes
from tests.support.pods import POD, pod_lab


class Given(Client):
    """Answers with a snapshot."""

    def __init__(self, snapshot: SiteSnapshot) -> None:
        super().__init__("http://127.0.0.1:9")
        self._snapshot = snapshot

    def content(self, path: str, **query: object) -> bytes:
        assert (path, query) == (f"/v1/snapshots/{POD}", {})
        return to_bytes(self._snapshot)


def lived() -> SiteSnapshot:
    lab = pod_lab()
    lab.run(1_000_000)
    return take_snapshot(lab.site, lab.messages, b"", software="another", kinds={POD: "superpod"})


def test_another_build_of_the_same_rules_is_as_good() -> None:
    found = fetch_snapshot(Given(lived()), POD)
    assert found.software == "another"
    assert found.restored(services_of).fabrics == [POD]


def test_of_other_rules_it_cannot_know() -> None:
    with pytest.raises(
        OperationFailed, match=f"build another with rules {RULES + 1}, but this command is build"
    ):
        fetch_snapshot(Given(replace(lived(), rules=RULES + 1)), POD)
