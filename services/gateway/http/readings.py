"""Routes to what modules read of themselves."""

from typing import Annotated, Unpack

from fastapi import APIRouter, Query, Response

from schemas.api_readings import ReadingRow
from services.gateway.fabrics import living
from services.gateway.http.common import Common
from services.gateway.http.responses import answer
from services.gateway.ports import TwinPorts
from services.gateway.readings import reading_rows
from services.gateway.selection import PAGE_MAX, Selection, select

Fabric = Annotated[str | None, Query(description="only of this fabric")]
Sort = Annotated[
    str | None, Query(description="by these columns, downwards with - in front: `rx_power_dbm,-ber`")
]
Limit = Annotated[int | None, Query(ge=1, le=PAGE_MAX, description="only so many; all without")]


def routes(twin: TwinPorts, **common: Unpack[Common]) -> APIRouter:
    """The newest telemetry frame as rows."""
    router = APIRouter(prefix="/v1", tags=["things"], **common)

    @router.get(
        "/readings",
        summary="What the modules of all connected link ends read of themselves, newest",
        response_model=list[ReadingRow],
    )
    def readings(fabric: Fabric = None, sort: Sort = None, limit: Limit = None) -> Response:
        fabrics = living(twin) if fabric is None else [fabric]
        rows = [row for name in fabrics for row in reading_rows(twin, name)]
        return answer(select(ReadingRow, rows, Selection({}, sort, limit)).rows)

    return router
