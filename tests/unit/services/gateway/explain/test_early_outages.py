"""A slice that starts degraded because an OCS was already down: `why` and `explain` name the OCS."""

from pathlib import Path

import pytest

from tests.support.gateway_twin import QUIET, DrivenTwin, get

pytestmark = pytest.mark.integration

WAIT = {"wait": 20}
SLICE = {"shape": "4x4x8", "owner": "team-7"}


@pytest.mark.parametrize(
    ("kind", "target", "type_of_cause"),
    [("ocs", "pod-0/ocs-17", "OcsDown"), ("cpu", "pod-0/ocs-33/cpu", "OcsHeld")],
)
def test_the_ocs_that_was_down_before_the_start_is_the_cause(
    tmp_path: Path, kind: str, target: str, type_of_cause: str
) -> None:
    twin = DrivenTwin(tmp_path, ["pod.cubes=4", *QUIET])
    try:
        client = twin.client()
        answer = client.post("/v1/faults", json={"kind": kind, "target": target}, params=WAIT)
        assert answer.status_code == 200, answer.text
        twin.advance(0.1)
        answer = client.post("/v1/slices", json=SLICE, params=WAIT)
        assert answer.status_code == 200, answer.text
        twin.advance(0.1)
        (row,) = get(client, "slices")
        assert row["state"] == "degraded"
        types = [message["type"] for message in get(client, f"why/{row['name']}")]
        assert types == ["SliceDegraded", type_of_cause, "FaultBegan", "InjectFault"]
        obstacles = get(client, f"explain/slices/{row['name']}")["obstacles"]
        ocs = "/".join(target.split("/")[:2])
        (why,) = [one["why"] for one in obstacles if one["name"] == ocs]
        assert "already so when the slice started, since 0d00:00:00" in why

        events = get(client, f"events?for={row['name']}&type=SliceDegraded&type=SliceRecovering")
        for event in events:
            chain = [message["type"] for message in get(client, f"why/{event['id']}")]
            assert chain == [event["type"], *types[1:]]

        # A fault that ends and another one later are found by the causes on the log.
        fault = get(client, "faults")[0]["name"]
        client.post(f"/v1/faults/{fault}/clear", params=WAIT)
        twin.advance(0.1)
        client.post("/v1/faults", json={"kind": "ocs", "target": "pod-0/ocs-18"}, params=WAIT)
        twin.advance(0.1)
        later = get(client, f"events?for={row['name']}&type=SliceDegraded&type=SliceRecovering")[
            len(events) :
        ]
        assert later
        for event in later:
            chain = get(client, f"why/{event['id']}")
            assert (chain[-1]["type"], chain[-1]["body"]["target"]) == ("InjectFault", "pod-0/ocs-18")
    finally:
        twin.close()
