"""The route to the operations log: what concerns all of the twin, with who did it and when."""

from typing import Annotated

from fastapi import APIRouter, Query, Response

from schemas.bounds import COUNT_MAX
from schemas.operations import NumberedOperation, numbered
from services.gateway.ports import TwinPorts

OPERATIONS_MAX = 1_000
OPERATIONS_DEFAULT = 100

Start = Annotated[
    int | None, Query(ge=0, le=COUNT_MAX, description="the number of the first; without it, the last ones")
]
Limit = Annotated[int, Query(ge=1, le=OPERATIONS_MAX, description="operations at most")]


def routes(twin: TwinPorts) -> APIRouter:
    """What was done, oldest first."""
    router = APIRouter(prefix="/v1", tags=["operations"])

    @router.get(
        "/operations",
        summary="Clock changes, rebuilds, skips and the like, oldest first",
        response_model=list[NumberedOperation],
    )
    def operations(start: Start = None, limit: Limit = OPERATIONS_DEFAULT) -> Response:
        """The next page begins at the last number and one."""
        found = twin.operations.read(start or 0, None if start is None else limit)
        rows = [numbered(number, row) for number, row in found[-limit:]]
        return Response(b"[%b]" % b",".join(rows), media_type="application/json")

    return router
