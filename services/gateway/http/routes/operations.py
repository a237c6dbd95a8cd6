"""The route of the operations log: operations on the twin as a whole, with operator and time."""

from typing import Annotated, Unpack

from fastapi import APIRouter, Query, Response

from schemas.files.operations_log import NumberedOperation, encode_numbered_operation
from schemas.limits import COUNT_MAX
from services.gateway.http.route_options import ResponseDoc, ResponseDocs, RouteOptions
from services.gateway.runtime_ports import TwinPorts

OPERATIONS_MAX = 1_000
OPERATIONS_DEFAULT = 100

Start = Annotated[
    int | None, Query(ge=0, le=COUNT_MAX, description="number of the first operation; default the last ones")
]
Limit = Annotated[int, Query(ge=1, le=OPERATIONS_MAX, description="maximum number of operations")]
NEXT_PAGE = "if there are more: the URLs of the next page, `rel=next`, and of the previous one, `rel=prev`"
PAGED = ResponseDocs({200: ResponseDoc(headers={"Link": NEXT_PAGE})})


def routes(twin: TwinPorts, **common: Unpack[RouteOptions]) -> APIRouter:
    """The route of the operations log, oldest first."""
    router = APIRouter(prefix="/v1", tags=["operations"], **common)

    @router.get(
        "/operations",
        summary="Clock changes, rebuilds, skips and the like, oldest first",
        response_model=list[NumberedOperation],
        responses=PAGED,
    )
    def operations(start: Start = None, limit: Limit = OPERATIONS_DEFAULT) -> Response:
        """The next page starts at the last number plus one."""
        rows_read = twin.operations.read(start or 0, None if start is None else limit + 1)
        page = rows_read[-limit:] if start is None else rows_read[:limit]
        rows = [encode_numbered_operation(number, row) for number, row in page]
        numbers = [number for number, _ in page]
        headers = {"Link": link} if (link := _link(numbers, limit, more=page[-1:] != rows_read[-1:])) else {}
        return Response(b"[%b]" % b",".join(rows), media_type="application/json", headers=headers)

    return router


def _link(numbers: list[int], limit: int, *, more: bool) -> str:
    """The Link header of the pages around this one (RFC 8288); empty if there are none."""
    links = [("next", numbers[-1] + 1, limit)] if more else []
    if numbers and numbers[0] > 0:
        links.append(("prev", max(0, numbers[0] - limit), min(limit, numbers[0])))
    return ", ".join(
        f'</v1/operations?start={start}&limit={size}>; rel="{relation}"' for relation, start, size in links
    )
