"""Starts a drill on a running twin, follows it, and fetches its journal."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ops.client.answers import ApiPath
from ops.client.http_client import Client, RequestFailed, escape_path, receipt_path, row_path
from ops.client.waiting import WaitTerms, wait_until
from schemas.resource_kinds import DRILLS
from shared.basics.json_types import JsonObject

if TYPE_CHECKING:
    from schemas.api.drills import SafetyReceipt, SafetyRow
    from schemas.api.requests import RequestReceipt
    from schemas.api.rows import DrillRow

ROW_FIELDS = ("name", "title", "phase", "status", "deviated", "lamps", "steps", "active_faults")
SAFETY: "ApiPath[SafetyRow]" = ApiPath("/v1/safety")
POLL_S, POLL_S_MAX = 0.2, 1.0


def begun_drill(answer: "RequestReceipt") -> str | None:
    """The drill that a request started; None if the log does not have it yet."""
    for message in answer.outcome:
        if message.type == "DrillBegun":
            body: Any = message.body
            return str(body["drill"])
    return None


def scheduled_drill(answer: "RequestReceipt") -> tuple[str, int] | None:
    """(name of the schedule that a request made, time of its first run); None if the log does not have it
    yet."""
    for message in answer.outcome:
        if message.type == "DrillScheduled":
            body: Any = message.body
            return str(body["schedule"]), int(body["next_us"])
    return None


def drill_row(client: Client, name: str) -> "DrillRow":
    """The status of a drill."""
    return client.resource(row_path(DRILLS, name), *ROW_FIELDS)


def follow_drill(
    client: Client,
    name: str,
    seen: "Callable[[DrillRow], None]",
    timeout_s: float | None = None,
    note: Callable[[str], None] | None = None,
) -> "DrillRow | None":
    """Poll a drill until it has ended, and call `seen` for each status; None at the timeout. `note` receives
    one sentence if simulated time is stopped meanwhile. Raises RequestFailed if the twin stops."""

    def look() -> "DrillRow | None":
        row = drill_row(client, name)
        seen(row)
        return None if row.status is None else row

    return wait_until(client, look, WaitTerms(timeout_s, POLL_S, POLL_S_MAX, note))


def fetch_journal(client: Client, name: str) -> JsonObject:
    """The journal of a drill, in the form of the Chaos Toolkit."""
    return client.resource(f"/v1/drills/{escape_path(name)}/journal", "experiment", "lightwave")


def change_safety(
    client: Client, body: dict[str, object], comment: str | None, key: str | None
) -> "list[SafetyReceipt]":
    """Send the kill switch, or its release, to all sites. Raises RequestFailed if a site refuses."""
    path = str(receipt_path("/v1/safety", comment))
    receipts: Any = client.post_list(path, "site", "receipt", body=body, key=key)
    refused = [row.receipt.reason for row in receipts if row.receipt.status == "refused"]
    if refused:
        raise RequestFailed("; ".join(map(str, refused)))
    found: list[SafetyReceipt] = receipts
    return found
