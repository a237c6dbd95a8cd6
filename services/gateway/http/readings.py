"""Routes to what modules read of themselves."""

from typing import Annotated, Unpack

from fastapi import APIRouter, Query, Response

from schemas.api_readings import FieldName, ReadingRow, Sample
from services.gateway.fabrics import fabric_of, living, part_of
from services.gateway.history import moment_of
from services.gateway.http.common import Common
from services.gateway.http.responses import answer
from services.gateway.ports import TwinPorts
from services.gateway.readings import reading_rows, samples
from services.gateway.selection import PAGE_MAX, Selection, select
from shared.basics.errors import InvalidInput

Fabric = Annotated[str | None, Query(description="only of this fabric")]
Sort = Annotated[
    str | None, Query(description="by these columns, downwards with - in front: `rx_power_dbm,-ber`")
]
Limit = Annotated[int | None, Query(ge=1, le=PAGE_MAX, description="only so many; all without")]
Since = Annotated[
    str | None,
    Query(
        description="simulated time back from now, 30s, 15m, 2h, 1d12h, or a moment like 3d02:15:04; "
        "without it all that is kept"
    ),
]
Lane = Annotated[int | None, Query(ge=0, le=7, description="of this lane; without it the worst")]


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

    @router.get(
        "/readings/{end:path}",
        summary="How a field of a link end went over the telemetry frames that are kept",
        response_model=list[Sample],
    )
    def history(
        end: str,
        field: FieldName = "rx_power_dbm",
        since: Since = None,
        lane: Lane = None,
        limit: Limit = None,
    ) -> Response:
        part = part_of(twin, end)
        if part.kind != "end":
            raise InvalidInput(f"{end}: is no link end; allowed are those like pod-0/cube-12/+y/7")
        since_us = 0 if since is None else moment_of(twin, "since", since)[0]
        found = samples(twin, fabric_of(twin, end), part.number, field, since_us, lane)
        return answer(found if limit is None else found[-limit:])

    return router
