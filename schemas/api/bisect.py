"""When a condition became true or false, in the HTTP API."""

from schemas.api.rows import LogMessage
from schemas.body import Model


class ConditionTransition(Model):
    """From `message` on, the condition `holds` (is true), or no longer is."""

    holds: bool
    message: LogMessage


class Bisection(Model):
    """The times at which a condition was true in a span of simulated time. `held_at_start` is its value at
    the start; `transitions` are all later changes, or only the first one to true. `messages` of the site's
    log were replayed so far, up to `reached_us`. `cursor` continues the search if the span is not
    finished."""

    condition: str
    site: str
    from_us: int
    to_us: int
    reached_us: int
    held_at_start: bool
    transitions: tuple[ConditionTransition, ...]
    messages: int
    cursor: str | None
