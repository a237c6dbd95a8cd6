"""Limits how many reads run at once, by name and in total, so that one client cannot starve the others: each
read takes a thread, and most of its work is done under Python's one interpreter lock."""

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from services.gateway.http.access.caller import READ_METHODS, Caller
from services.gateway.http.fair_limit import FairLimit, Lane, Shares
from services.gateway.http.middleware import COMMISSION, may_be_large
from services.gateway.http.past_queries import API_PREFIX, has_requested_time
from services.gateway.http.responses import error_response, status_of
from shared.basics.errors import RateLimited

READS = Shares("reads", total=24, per_name=16, per_lane=8, waiting=64, wait_s=10.0)
"""All reads below /v1/ and /metrics; the paths of one collection, such as /v1/links, are a lane. Writes and
probes always find a free thread, because there are 40."""
PAST = Shares("queries of past times", total=3, per_name=2, per_lane=2, waiting=8, wait_s=5.0)
"""Each folds a part of the log, one at a time, and keeps some megabytes."""
QUESTIONS = Shares("questions", total=3, per_name=2, per_lane=2, waiting=4, wait_s=5.0)
"""Each runs copies of a scheduler or of a whole site, for up to seconds, and takes about 10 MB."""
BISECTIONS = Shares("bisections", total=2, per_name=1, per_lane=1, waiting=2, wait_s=5.0)
"""Each folds the log without a pause, except when it yields to other threads, for up to 15 s."""
SNAPSHOTS = Shares("snapshots and backups", total=2, per_name=1, per_lane=1, waiting=2, wait_s=5.0)
"""Each encodes all states of a site, or copies all pending requests."""
COMMISSIONS = Shares("commissionings with a trace", total=1, per_name=1, per_lane=1, waiting=2, wait_s=15.0)
"""Each may have a body of 8 MiB, which takes some hundred megabytes while it is checked."""

KINDS: dict[str, Shares] = {
    "explain": QUESTIONS,
    "impact": QUESTIONS,
    "plan": QUESTIONS,
    "what-if": QUESTIONS,
    "bisect": BISECTIONS,
    "snapshots": SNAPSHOTS,
    "backup": SNAPSHOTS,
}
"""First part of the path below /v1/ → its limit besides that of all reads."""
STREAMS = frozenset({"/v1/events/stream", "/v1/telemetry/stream"})
"""Their number is limited by name. They use a thread only briefly."""


class ReadLimits:
    """ASGI middleware: a request waits until it has a slot of its kind, and holds it until its response
    starts. It needs the caller that the guard attaches."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        kinds = (READS, PAST, COMMISSIONS, *KINDS.values())
        self._limits = {shares.what: FairLimit(shares) for shares in kinds}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        held: list[tuple[FairLimit, Lane]] = []

        def release() -> None:
            while held:
                limit, lane = held.pop()
                limit.leave(lane)

        async def send_and_release(message: Message) -> None:
            # From here on the client sets the pace; a slow one must not keep a slot.
            release()
            await send(message)

        try:
            for shares in kinds_of(scope):
                lane = (_name(scope), _collection(scope["path"]))
                await self._limits[shares.what].enter(lane)
                held.append((self._limits[shares.what], lane))
            await self._app(scope, receive, send_and_release)
        except RateLimited as error:
            headers = {"Retry-After": str(error.retry_after_s)}
            await error_response(str(error), status_of(error), headers)(scope, receive, send)
        finally:
            release()


def kinds_of(scope: Scope) -> list[Shares]:
    """The limits of a request, the narrowest first: a request that waits there takes nothing from others."""
    if scope["type"] != "http":
        return []
    path: str = scope["path"]
    if scope["method"] not in READ_METHODS:
        is_commission = (scope["method"], path) == COMMISSION
        return [COMMISSIONS] if is_commission and may_be_large(Headers(scope=scope)) else []
    if path in STREAMS or not (path.startswith(API_PREFIX) or path == "/metrics"):
        return []
    kinds = []
    if (kind := KINDS.get(_collection(path))) is not None:
        kinds.append(kind)
    if has_requested_time(scope):
        kinds.append(PAST)
    return [*kinds, READS]


def _collection(path: str) -> str:
    return path.removeprefix(API_PREFIX).partition("/")[0]


def _name(scope: Scope) -> str | None:
    caller: Caller | None = scope.get("state", {}).get("caller")
    return None if caller is None else caller.name
