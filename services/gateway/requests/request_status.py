"""The status of an earlier request, by its idempotency key or message id, and its cancellation while it
waits."""

from collections.abc import Iterator
from dataclasses import dataclass

from schemas.api.requests import RequestReport
from schemas.body import Body
from schemas.request_metadata import METADATA_FIELDS, RequestBody
from services.gateway.fabrics import site_of, sites
from services.gateway.hidden_truth import hides_type
from services.gateway.requests.operator_requests import INBOX_MAX, MESSAGE_ID, receipt_at
from services.gateway.runtime_ports import TwinPorts
from shared.basics.errors import NotFound, TooLate
from shared.basics.spelling import truncated
from shared.engine.message_order import request_id
from shared.storage.inbox.request_inbox import CancelOutcome


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A request in an inbox, with its report."""

    partition: int
    number: int
    report: RequestReport


def waiting_requests(twin: TwinPorts) -> list[RequestReport]:
    """All requests that wait in the twin's inboxes, oldest first in each inbox."""
    return [row.report for row in _waiting(twin)]


def request_report(twin: TwinPorts, name: str) -> RequestReport:
    """The request with this key or message id; raise NotFound if it neither waits nor is on the log."""
    row = _find_waiting(twin, name)
    # A pending request may also be on the log, if its sequencer has just appended it.
    on_log = _find_on_log(twin, name if row is None else row.report.id)
    if on_log is None and row is None:
        unknown = "no request has this key or message id"
        why = "was cancelled" if twin.inbox.was_cancelled(name) else unknown
        raise NotFound(f"request {truncated(repr(name))}: {why}")
    return on_log or row.report  # type: ignore[union-attr]  # one of them is there


def cancel_request(twin: TwinPorts, name: str) -> RequestReport:
    """Cancel a pending request; raise TooLate if it is on the log, or about to be appended."""
    report = request_report(twin, name)
    row = _find_waiting(twin, name) if report.status == "received" else None
    if row is None or twin.inbox.cancel(row.partition, row.number) is not CancelOutcome.DONE:
        raise TooLate(
            f"request {truncated(repr(name))}: is on the log or about to be appended, as {report.id}"
        )
    return row.report.model_copy(update={"status": "cancelled", "ahead": None})


def _find_waiting(twin: TwinPorts, name: str) -> _Waiting | None:
    return next((row for row in _waiting(twin) if name in (row.report.key, row.report.id)), None)


def _waiting(twin: TwinPorts) -> Iterator[_Waiting]:
    places = twin.documents.fabrics()
    for partition in sorted({place.partition for place in places.values()}):
        for ahead, request in enumerate(twin.inbox.waiting(partition, INBOX_MAX)):
            place = places.get(request.fabric)
            site, kind = request.fabric if place is None else place.site, type(request.body).__name__
            if hides_type(kind):
                continue
            message_id = request_id(site, request.fabric, kind, request.number)
            report = _report(message_id, request.fabric, kind, request.body)
            report = report.model_copy(update={"ahead": ahead})
            yield _Waiting(partition, request.number, report)


def _find_on_log(twin: TwinPorts, name: str) -> RequestReport | None:
    """The request with this key or message id, as far as the gateway's log has it."""
    known = twin.inbox.find(name)
    if known is not None and hides_type(known.kind):
        return None
    if known is not None and known.place is not None:
        site = site_of(twin, known.fabric)
        message_id = known.message_id(site)
        # The gateway's copy of the log may be behind what the sequencer has stored.
        behind = _report(message_id, known.fabric, known.kind).model_copy(
            update={"key": name, "status": "accepted"}
        )
        return _on_log(twin, site, message_id) or behind
    match = MESSAGE_ID.fullmatch(name)
    if match is None:
        return None
    places, owner = twin.documents.fabrics(), match[2]
    if match[1] == "sequencer":
        return _on_log(twin, places[owner].site, name) if owner in places else None
    return _on_log(twin, owner, name) if owner in sites(twin) else None


def _on_log(twin: TwinPorts, site: str, message_id: str) -> RequestReport | None:
    place = twin.log.position_of(site, message_id)
    if place is None:
        return None
    _, message = next(twin.log.read(site, place))
    if not isinstance(message.body, RequestBody):
        return None
    receipt = receipt_at(twin, message.fabric, site, place)
    return _report(message_id, message.fabric, message.type, message.body).model_copy(
        update={
            "status": receipt.status,
            "complete": receipt.complete,
            "at_us": receipt.at_us,
            "outcome": receipt.outcome,
            "reason": getattr(receipt, "reason", None),
        }
    )


def _report(message_id: str, fabric: str, kind: str, body: Body | None = None) -> RequestReport:
    """The report of a request that is not on the log yet."""
    metadata = {name: getattr(body, name, None) for name in METADATA_FIELDS}
    return RequestReport(
        **metadata,
        id=message_id,
        fabric=fabric,
        type=kind,
        status="received",
        ahead=None,
        complete=False,
        at_us=None,
        reason=None,
        outcome=(),
    )
