"""Starts the search for the time from which a past event was likely: finds the event, the times before it
from which futures start, and the operators' requests that they repeat."""

from collections.abc import Sequence

from schemas.api.changes import TimedRequest
from schemas.api.forecast import (
    FUTURES_MAX,
    SIMULATED_DAYS_MAX,
    ForecastReport,
    InevitabilityOrder,
    InevitabilityRequest,
    PastEvent,
    StartPoint,
)
from schemas.envelope import Envelope
from schemas.messages.operator import OperatorBody
from schemas.registry import TYPES
from services.gateway.explain.forecasts import forecasting_ports
from services.gateway.fabrics import site_of
from services.gateway.log.history import cause_chain, verdict_target
from services.gateway.runtime_ports import PastPort, TwinPorts
from services.gateway.text.messages import log_message
from shared.basics.errors import InvalidInput
from shared.basics.spelling import truncated
from shared.basics.time_format import format_duration
from shared.basics.units import US_PER_DAY, US_PER_MIN, US_PER_S
from shared.storage.log.log_reader import LogQuery

LAST_US = US_PER_MIN
"""Time between the last start point and the event."""
REQUESTS_MAX = 100_000
"""Maximum number of operators' requests that futures repeat."""


def start_inevitability(
    twin: TwinPorts, request: InevitabilityRequest, requested_by: str | None, key: str | None = None
) -> ForecastReport:
    """Queue the futures; `key` is the idempotency key. Raise NotFound if there is no such event, InvalidInput
    if there is no time before it or if the futures are too many, and RateLimited if too many forecasts
    wait."""
    forecasts, past = forecasting_ports(twin, key)
    event = _event(twin, request.event)
    spans_us = _spans_us(event, request.back_s * US_PER_S, request.moments)
    until_us = event.at_us + request.within_s * US_PER_S
    _check_size(request, [span_us + request.within_s * US_PER_S for span_us in spans_us])
    site, since_us = site_of(twin, event.fabric), event.at_us - spans_us[0]
    positions = [twin.log.position_at(site, event.at_us - span_us + 1) for span_us in spans_us]
    requests = _operators_requests(twin, site, positions[0], event.at_us)
    return forecasts.start(
        InevitabilityOrder(
            request=request,
            requested_by=requested_by,
            site=site,
            from_us=since_us,
            until_us=until_us,
            days=(until_us - since_us) / US_PER_DAY,
            event=event,
            moments=len(spans_us),
            starts=lambda: [
                _start_point(past, site, position, event.at_us, span_us, requests)
                for span_us, position in zip(spans_us, positions, strict=True)
            ],
            key=key,
        )
    )


def start_spans_us(back_us: int, count: int) -> list[int]:
    """`count` spans before the event, from the longest to a minute, in a geometric sequence."""
    if count == 1:
        return [back_us]
    shrinks = (LAST_US / back_us) ** (1 / (count - 1))
    spans = [
        max(LAST_US, round(back_us * shrinks**place / US_PER_MIN) * US_PER_MIN) for place in range(count)
    ]
    return list(dict.fromkeys([back_us, *spans[1:]]))


def _event(twin: TwinPorts, requested: str) -> PastEvent:
    chain = cause_chain(twin, requested)
    message = chain[0]
    about = log_message(twin, message, verdict_target(chain)).about
    if not about:
        raise InvalidInput(
            f"event {truncated(repr(requested))}: is not about an object that copies can have; name another "
            "message"
        )
    return PastEvent(message.id, message.at_us, message.fabric, message.type, about[0])


def _spans_us(event: PastEvent, back_us: int, moments: int) -> list[int]:
    """The spans between the start points and the event. Raise InvalidInput if there is no time before it."""
    if event.at_us < LAST_US:
        raise InvalidInput(
            f"event {truncated(repr(event.id))}: happened in the twin's first {format_duration(LAST_US)}; no "
            "time before it is left from which futures could start"
        )
    most_us = min(back_us, event.at_us)
    return [span_us for span_us in start_spans_us(most_us, moments) if span_us <= most_us]


def _check_size(request: InevitabilityRequest, lengths_us: Sequence[int]) -> None:
    """Raise InvalidInput if the futures are too many, or too long together."""
    what = f"futures {request.futures}: {len(lengths_us)} start points × {request.futures} futures"
    if len(lengths_us) * request.futures > FUTURES_MAX:
        raise InvalidInput(f"{what} are too many; must be at most {FUTURES_MAX:,} in total")
    days = request.futures * sum(lengths_us) / US_PER_DAY
    if days > SIMULATED_DAYS_MAX:
        raise InvalidInput(
            f"{what} simulate {days:,.0f} days; must be at most {SIMULATED_DAYS_MAX:,} days in total"
        )


def _operators_requests(twin: TwinPorts, site: str, start: int, until_us: int) -> list[Envelope]:
    """The operators' requests on a site's log from a position up to and including `until_us`."""
    types = tuple(name for name, body in TYPES.items() if issubclass(body, OperatorBody))
    query = LogQuery(start=start, end=twin.log.position_at(site, until_us + 1), types=types)
    found = twin.log.find(site, query, REQUESTS_MAX + 1)
    if len(found) > REQUESTS_MAX:
        raise InvalidInput(
            f"back_s: operators made more than {REQUESTS_MAX:,} requests in this time; must be shorter"
        )
    return [message for _, message in found]


def _start_point(
    past: PastPort, site: str, position: int, event_us: int, before_us: int, requests: Sequence[Envelope]
) -> StartPoint:
    past_site, from_us = past.site(site, position), event_us - before_us
    return StartPoint(
        before_us,
        past_site.snapshot(),
        from_us,
        tuple(
            TimedRequest(message.at_us - from_us, message.fabric, message.body)
            for message in requests
            if message.at_us > from_us and message.fabric in past_site.fabrics
        ),
    )
