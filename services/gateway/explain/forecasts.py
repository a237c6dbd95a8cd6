"""Starts forecasts: checks the request, and finds the site and the time from which the futures run."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from schemas.api.forecast import ForecastOrder, ForecastReport, ForecastRequest
from schemas.limits import IDEMPOTENCY_KEY_MAX
from services.gateway.explain.changes import timed_changes
from services.gateway.fabrics import living_fabrics, site_of, sites
from services.gateway.log.past_twin import parse_point_in_time
from services.gateway.requested_time import REQUESTED_TIME, PointInTime
from services.gateway.runtime_ports import ForecastsPort, PastPort, TwinPorts
from shared.basics.errors import InvalidInput
from shared.basics.spelling import truncated
from shared.basics.time_grammar import NOW
from shared.basics.units import US_PER_DAY, US_PER_S


def forecasts_of(twin: TwinPorts) -> ForecastsPort:
    """The forecasts of a twin; raise InvalidInput if it makes none."""
    if twin.forecasts is None:
        raise InvalidInput("forecasts: must not be used; this twin makes none")
    return twin.forecasts


def start_forecast(
    twin: TwinPorts, request: ForecastRequest, requested_by: str | None, key: str | None = None
) -> ForecastReport:
    """Queue a forecast; `key` is its idempotency key. Raise InvalidInput if it is not possible, and
    RateLimited if too many wait."""
    forecasts, past = forecasting_ports(twin, key)
    _check_in_time(request)
    point = parse_point_in_time(request.at, twin.clock.show().now_us, sites(twin), twin.log)
    with _answering_at(None if request.at == NOW else point):
        site_by_fabric = {fabric: site_of(twin, fabric) for fabric in living_fabrics(twin)}
        _check_site(request.site, site_by_fabric)
        requests = tuple(timed_changes(twin, request.changes, request.site))
        site = _site(request, site_by_fabric, [one.fabric for one in requests])
    position = point.positions[site]
    return forecasts.start(
        ForecastOrder(
            request=request,
            requested_by=requested_by,
            site=site,
            from_us=point.at_us,
            snapshot=lambda: past.site(site, position).snapshot(),
            requests=requests,
            key=key,
        )
    )


def forecasting_ports(twin: TwinPorts, key: str | None) -> tuple[ForecastsPort, PastPort]:
    """The forecasts and the past of a twin. Raise InvalidInput if it lacks one of them, or if the idempotency
    key is not valid."""
    forecasts, past = forecasts_of(twin), twin.past
    if key is not None and not 0 < len(key) <= IDEMPOTENCY_KEY_MAX:
        raise InvalidInput(
            f"Idempotency-Key: has {len(key)} characters; must have 1 to {IDEMPOTENCY_KEY_MAX}"
        )
    if past is None:
        raise InvalidInput("forecasts: must not be used; this twin keeps no snapshots of the past")
    return forecasts, past


def _check_in_time(request: ForecastRequest) -> None:
    """Raise InvalidInput if the futures have no length, or if a change comes after their end."""
    if round(request.days * US_PER_DAY) < 1:
        raise InvalidInput(f"days {request.days:g}: is less than 1 µs; must be at least 1 µs")
    span_s = request.days * US_PER_DAY / US_PER_S
    for place, change in enumerate(request.changes):
        if change.after_s > span_s:
            raise InvalidInput(
                f"changes.{place}.after_s {change.after_s:g}: is after the end of the futures; must be at "
                f"most {span_s:g} s ({request.days:g} {'day' if request.days == 1 else 'days'})"
            )


def _check_site(site: str | None, site_by_fabric: Mapping[str, str]) -> None:
    """Raise InvalidInput unless a fabric of the site runs, if one is named."""
    running = list(dict.fromkeys(site_by_fabric.values()))
    if site is not None and site not in running:
        raise InvalidInput(f"site {truncated(repr(site))}: no such site; must be one of {', '.join(running)}")


def _site(request: ForecastRequest, site_by_fabric: Mapping[str, str], fabrics: list[str]) -> str:
    """The site to forecast: that of the changes, the named one, or the first one. Raise InvalidInput if these
    differ, or if no fabric runs."""
    changed = list(dict.fromkeys(site_by_fabric[fabric] for fabric in fabrics))
    if len(changed) > 1:
        raise InvalidInput(
            f"changes: are of {', '.join(changed)}; must be of one site; use one forecast for each"
        )
    if request.site is not None and changed not in ([], [request.site]):
        raise InvalidInput(f"site {request.site!r}: the changes are of {changed[0]}; must be the same site")
    running = list(dict.fromkeys(site_by_fabric.values()))
    wanted = [request.site] if request.site is not None else changed
    if not wanted and not running:
        raise InvalidInput("site: every fabric has retired; must have a running fabric")
    return wanted[0] if wanted else running[0]


@contextmanager
def _answering_at(point: PointInTime | None) -> Iterator[None]:
    """Answer queries as of a past time; as of now without one."""
    before = REQUESTED_TIME.set(point)
    try:
        yield
    finally:
        REQUESTED_TIME.reset(before)
