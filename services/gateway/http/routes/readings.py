"""Routes of the readings of modules and OCSes."""

from typing import Annotated, Unpack

from fastapi import APIRouter, Query, Response

from schemas.api.sensor_readings import AnyFieldName, OcsReadingRow, ReadingRow, ReadingSample
from services.gateway.fabrics import fabric_of, living_fabrics, part_of
from services.gateway.http.responses import json_response
from services.gateway.http.route_options import RouteOptions
from services.gateway.log.history import parse_time
from services.gateway.resources.selection import PAGE_MAX, Selection, select
from services.gateway.runtime_ports import TwinPorts
from services.gateway.telemetry.module_readings import module_samples, reading_rows
from services.gateway.telemetry.ocs_readings import ocs_reading_rows, ocs_samples
from shared.basics.errors import InvalidInput
from shared.basics.field_tests import FieldTest, split_test
from shared.basics.time_grammar import POINTS_ALLOWED

Fabric = Annotated[str | None, Query(description="only of this fabric")]
Sort = Annotated[
    str | None, Query(description="sort by these columns, descending with a leading -: `rx_power_dbm,-ber`")
]
Where = Annotated[
    list[str] | None, Query(description="only rows that pass this test, such as `ber>1e-6`; repeatable")
]
Limit = Annotated[int | None, Query(ge=1, le=PAGE_MAX, description="maximum number of rows; default all")]
Since = Annotated[
    str | None,
    Query(description=f"{POINTS_ALLOWED}; default all stored samples"),
]
OcsSort = Annotated[
    str | None, Query(description="sort by these columns, descending with a leading -: `-mirror_error_urad`")
]
Of = Annotated[
    str | None,
    Query(
        max_length=8,
        description="for an OCS: this mirror (N24), camera (S), supply or fan (1); default the worst",
    ),
]
Lane = Annotated[int | None, Query(ge=0, le=7, description="this lane; default the worst")]


def _tests(where: list[str] | None) -> list[FieldTest]:
    return [split_test(text) for text in where or ()]


def routes(twin: TwinPorts, **common: Unpack[RouteOptions]) -> APIRouter:
    """The routes of the newest telemetry frame as rows."""
    router = APIRouter(prefix="/v1", tags=["things"], **common)

    @router.get(
        "/readings",
        summary="Newest readings of the modules of all connected link ends",
        response_model=list[ReadingRow],
    )
    def readings(
        fabric: Fabric = None, where: Where = None, sort: Sort = None, limit: Limit = None
    ) -> Response:
        fabrics = living_fabrics(twin) if fabric is None else [fabric]
        rows = [row for name in fabrics for row in reading_rows(twin, name)]
        return json_response(select(ReadingRow, rows, Selection(_tests(where), sort, limit)).rows)

    @router.get(
        "/ocs-readings",
        summary="Newest readings of all OCSes",
        response_model=list[OcsReadingRow],
    )
    def ocs_readings(
        fabric: Fabric = None, where: Where = None, sort: OcsSort = None, limit: Limit = None
    ) -> Response:
        fabrics = living_fabrics(twin) if fabric is None else [fabric]
        rows = [row for name in fabrics for row in ocs_reading_rows(twin, name)]
        return json_response(select(OcsReadingRow, rows, Selection(_tests(where), sort, limit)).rows)

    @router.get(
        "/readings/{name:path}",
        summary="Samples of a field of a link end or an OCS over the stored telemetry frames",
        response_model=list[ReadingSample],
    )
    def history(
        name: str,
        field: AnyFieldName | None = None,
        since: Since = None,
        lane: Lane = None,
        of: Of = None,
        limit: Limit = None,
    ) -> Response:
        part, fabric = part_of(twin, name), fabric_of(twin, name)
        if part.kind not in ("end", "ocs"):
            raise InvalidInput(
                f"{name}: must be a link end like pod-0/cube-12/+y/7, or an OCS like pod-0/ocs-17"
            )
        since_us = 0 if since is None else parse_time(twin, "since", since)[0]
        if part.kind == "ocs":
            if lane is not None:
                raise InvalidInput(f"lane {lane}: must not be given for an OCS; use `of`, such as N24")
            samples = ocs_samples(twin, fabric, part.number, field or "mirror_error_urad", since_us, of)
        else:
            if of is not None:
                raise InvalidInput(f"of {of}: must not be given for a link end; use `lane`, 0 to 7")
            samples = module_samples(twin, fabric, part.number, field or "rx_power_dbm", since_us, lane)
        return json_response(samples if limit is None else samples[-limit:])

    return router
