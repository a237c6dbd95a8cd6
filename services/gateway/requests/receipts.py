"""What a request on the log came to: it happened, or a service said no to it."""

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
    """The receipt of a request on the log, by what followed from it so far."""
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
    said = {"status": "refused", "refused_by": refusal.id, "reason": sentence, "error": sentence}
    return RefusalReceipt.model_validate(dict(accepted) | said)


def find_refusal(request: Envelope, outcome: Sequence[Envelope]) -> Envelope | None:
    """The message that says no to the request itself. Another slice may be refused by what it brings about: a
    slice that is asked for is refused as the slice that it became."""
    refusing = REFUSALS.get(request.type)
    became = {
        message.body.slice
        for message in outcome
        if message.cause == request.id and isinstance(message.body, SliceRequested)
    }
    for message in outcome:
        is_own = message.cause == request.id or getattr(message.body, "slice", None) in became
        if refusing is not None and isinstance(message.body, refusing) and is_own:
            return message
    return None


def _sentence(refusal: Envelope) -> str:
    """Its reason, with what was refused in front where the reason does not name it."""
    fields = dict(refusal.body)
    reason = with_readable_times(str(fields.pop("reason")))
    (subject,) = fields.values()
    return reason if str(subject) in reason else f"{subject}: {reason}"
