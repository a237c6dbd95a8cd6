"""What the HTTP API says of when a condition came to hold, and when it ceased to."""

from schemas.api.rows import LogMessage
from schemas.body import Model


class ConditionTransition(Model):
    """From `message` on the condition `holds`, or does so no longer."""

    holds: bool
    message: LogMessage


class Bisection(Model):
    """When a condition held in a span of simulated time: whether it `held` at its beginning, and every `turn`
    since, or only the first after which it holds. So far `messages` of the site's log were folded, up to
    `reached_us`; `cursor` leads on where that is not all of the span."""

    condition: str
    site: str
    from_us: int
    to_us: int
    reached_us: int
    held_at_start: bool
    transitions: tuple[ConditionTransition, ...]
    messages: int
    cursor: str | None
