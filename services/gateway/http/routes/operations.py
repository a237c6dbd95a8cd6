"""The route to the operations log: what concerns all of the twin, with who did it and when."""

from typing import Annotated, Any, Unpack

from fastapi import APIRouter, Query, Response

from schemas.files.operations_log import NumberedOperation, encode_numbered_operation
from schemas.limits import COUNT_MAX
from services.gateway.http.route_options import RouteOptions
from services.gateway.ports import TwinPorts

OPERATIONS_MAX = 1_000
OPERATIONS_DEFAULT = 100

Start = Annotated[
    int | None, Query(ge=0, le=COUNT_MAX, description="the number of the first; without it, the last ones")
]
Limit = Annotated[int, Query(ge=1, le=OPERATIONS_MAX, description="operations at most")]
PAGED: dict[int | str, dict[str, Any]] = {
    200: {
        "headers": {
            "Link": {
                "description": "where there are more: the addresses of the next page, `rel=next`, and of the "
                "one before, `rel=prev`",
                "schema": {"type": "string"},
            }
        }
    }
}


def routes(twin: TwinPorts, **common: Unpack[RouteOptions]) -> APIRouter:
    """What was done, oldest first."""
    router = APIRouter(prefix="/v1", tags=["operations"], **common)

    @router.get(
        "/operations",
        summary="Clock changes, rebuilds, skips and the like, oldest first",
        response_model=list[NumberedOperation],
        responses=PAGED,
    )
    def operations(start: Start = None, limit: Limit = OPERATIONS_DEFAULT) -> Response:
        """The next page begins at the last number and one."""
        found = twin.operations.read(start or 0, None if start is None else limit + 1)
        page = found[-limit:] if start is None else found[:limit]
        rows = [encode_numbered_operation(number, row) for number, row in page]
        numbers = [number for number, _ in page]
        headers = {"Link": link} if (link := _link(numbers, limit, more=page[-1:] != found[-1:])) else {}
        return Response(b"[%b]" % b",".join(rows), media_type="application/json", headers=headers)

    return router


def _link(numbers: list[int], limit: int, *, more: bool) -> str:
    """The header that leads to the pages around this one, by RFC 8288; empty where there are none."""
    ways = [("next", numbers[-1] + 1, limit)] if more else []
    if numbers and numbers[0] > 0:
        ways.append(("prev", max(0, numbers[0] - limit), min(limit, numbers[0])))
    return ", ".join(f'</v1/operations?start={start}&limit={most}>; rel="{way}"' for way, start, most in ways)
