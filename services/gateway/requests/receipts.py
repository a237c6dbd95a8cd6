"""The receipt of a request on the log: accepted, or refused by a service."""

from collections.abc import Sequence

from schemas.api.requests import RefusalReceipt, RequestReceipt
from schemas.api.rows import LogMessage
from schemas.envelope import Envelope
from schemas.messages.workload import SliceRequested
from schemas.registry import REFUSALS
from shared.basics.field_text import with_readable_times


def receipt_of(
    request: Envelope, outcome: Sequence[LogMessage], *, repeated: bool, complete: bool
) -> RequestReceipt:
    """The receipt of a request on the log, from the messages that followed from it so far."""
    accepted = RequestReceipt(
        id=request.id,
        repeated=repeated,
        status="accepted",
        complete=complete,
        at_us=request.at_us,
        outcome=tuple(outcome),
    )
    refusal = find_refusal(request, outcome)
    if refusal is None:
        return accepted
    sentence = _sentence(refusal)
    refused = {"status": "refused", "refused_by": refusal.id, "reason": sentence, "error": sentence}
    return RefusalReceipt.model_validate(dict(accepted) | refused)


def find_refusal(request: Envelope, outcome: Sequence[Envelope]) -> Envelope | None:
    """The message that refuses the request itself. The request may also cause refusals of other slices; those
    do not count. A slice request is refused by the refusal of the slice that it created."""
    refusing = REFUSALS.get(request.type)
    created = {
        message.body.slice
        for message in outcome
        if message.cause == request.id and isinstance(message.body, SliceRequested)
    }
    for message in outcome:
        is_own = message.cause == request.id or getattr(message.body, "slice", None) in created
        if refusing is not None and isinstance(message.body, refusing) and is_own:
            return message
    return None


def _sentence(refusal: Envelope) -> str:
    """The reason, prefixed with the refused resource if the reason does not name it."""
    fields = dict(refusal.body)
    reason = with_readable_times(str(fields.pop("reason")))
    (subject,) = fields.values()
    return reason if str(subject) in reason else f"{subject}: {reason}"
