"""Routes of resources: lists, single resources, descriptions, light paths, telemetry and configuration."""

import re
from collections.abc import Sequence
from inspect import Parameter, Signature
from typing import Annotated, Any, Unpack
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request, Response
from typing_extensions import TypedDict

from schemas.api.network_rows import TrunkPath
from schemas.api.ocs_management import OcsManagement
from schemas.api.rows import LightPath
from schemas.config.fabric_configs import AnyConfig
from services.gateway.fabrics import config_of
from services.gateway.http.responses import ArrowFrame, json_response, non_json_doc
from services.gateway.http.route_options import (
    READS_OTHER_PARAMETERS,
    ResponseDoc,
    ResponseDocs,
    RouteOptions,
)
from services.gateway.resources import lookup
from services.gateway.resources.kind_views import views_of
from services.gateway.resources.lookup import describe
from services.gateway.resources.ocs_management import ocs_management
from services.gateway.resources.parameters import current_config
from services.gateway.resources.row_fields import RowFields, plain_fields
from services.gateway.resources.selection import PAGE_MAX, Selection, chosen_fields, select
from services.gateway.resources.text_values import TextValues
from services.gateway.runtime_ports import KindView, TwinPorts
from services.gateway.telemetry.ocs_readings import ocs_frames_name
from shared.basics.checks import closest_match_hint
from shared.basics.errors import InvalidInput, NotFound
from shared.basics.field_tests import EQUAL, FieldTest, split_test
from shared.basics.spelling import truncated

TIME_US_MAX = 2**63 - 1
AfterUs = Annotated[
    int | None, Query(ge=-1, le=TIME_US_MAX, description="the first stored frame after this simulated time")
]
UntilUs = Annotated[int | None, Query(ge=0, le=TIME_US_MAX, description="but not after this simulated time")]
LIST_PARAMETERS = ("fabric", "sort", "fields", "limit", "cursor")
"""Query parameters of lists that are not tests."""
EMPTY_REASON_HEADER = "Lightwave-Empty-Reason"
PAGE_HEADERS = ResponseDocs(
    {
        200: ResponseDoc(
            headers={
                "X-Total-Count": "total number of rows on all pages",
                EMPTY_REASON_HEADER: "why there can be no such rows; missing if there can be some",
                "Link": 'the next page, as rel="next"; missing on the last one',
            },
            integers=frozenset({"X-Total-Count"}),
        )
    }
)


def routes(twin: TwinPorts, **common: Unpack[RouteOptions]) -> APIRouter:
    """Three routes for each kind of resource, and the routes that belong to no kind."""
    router = APIRouter(prefix="/v1", tags=["things"], **common)

    @router.get(
        "/trace/{end:path}",
        summary="The whole light path from a link end, or a trunk down to its circuits",
        response_model=LightPath | TrunkPath,
    )
    def trace(end: str) -> Response:
        return json_response(lookup.trace(twin, end))

    @router.get(
        "/telemetry/{fabric}",
        summary="The newest telemetry frame, or the first after a time; an Arrow IPC stream",
        response_class=Response,
        responses=non_json_doc(ArrowFrame, "the frame"),
    )
    def telemetry(fabric: str, after_us: AfterUs = None, until_us: UntilUs = None) -> ArrowFrame:
        config_of(twin, fabric)
        return _frame(twin, fabric, after_us, until_us)

    @router.get(
        "/telemetry/{fabric}/ocs",
        summary="The newest telemetry frame of OCSes, or the first after a time; an Arrow IPC stream",
        response_class=Response,
        responses=non_json_doc(ArrowFrame, "the frame"),
    )
    def ocs_telemetry(fabric: str, after_us: AfterUs = None, until_us: UntilUs = None) -> ArrowFrame:
        config_of(twin, fabric)
        return _frame(twin, ocs_frames_name(fabric), after_us, until_us)

    @router.get(
        "/config/{fabric}",
        summary="The current configuration of a fabric, without its recorded trace",
        response_model=AnyConfig,
    )
    def config(fabric: str) -> Response:
        text = current_config(twin, fabric).model_dump_json(exclude={"trace"})
        return Response(text, media_type="application/json")

    @router.get(
        "/ocs/{name:path}/management",
        summary="An OCS as a device: ports and cross-connects in the terms of SAI",
        response_model=OcsManagement,
    )
    def managed(name: str) -> Response:
        return json_response(ocs_management(twin, name))

    views = views_of(twin)
    for view in views.values():
        _add_kind(router, twin, view)

    @router.get("/describe/{kind}/{name:path}", include_in_schema=False)
    def unknown_kind(kind: str) -> Response:
        words = [repr(word) for word in views]
        allowed = f"{', '.join(words[:-1])} or {words[-1]}"
        raise InvalidInput(f"kind {truncated(repr(kind))}: must be {allowed}")

    return router


def _frame(twin: TwinPorts, name: str, after_us: int | None, until_us: int | None) -> ArrowFrame:
    """The newest frame of this name, or the first one in a range of times."""
    if after_us is None and until_us is None:
        frame = twin.telemetry(name)
        if frame is None:
            raise NotFound(f"{name}: no telemetry frame yet")
        return ArrowFrame(frame)
    first = next(twin.frames(name, -1 if after_us is None else after_us, until_us), None)
    if first is None:
        raise NotFound(f"{name}: no telemetry frame of that time is stored")
    return ArrowFrame(first[1])


def _add_kind(router: APIRouter, twin: TwinPorts, view: KindView[Any, Any]) -> None:
    word = view.kind.word
    _add_listing(router, twin, view)

    @router.get(
        f"/{word}/{{name:path}}",
        summary=f"One of the {word}",
        name=f"get_{word}",
        response_model=view.row,
    )
    def one(name: str) -> Response:
        return json_response(lookup.find_resource(twin, view, name))

    @router.get(
        f"/describe/{word}/{{name:path}}",
        summary=f"One of the {word} with related resources and messages",
        name=f"describe_{word}",
        response_model=view.description,
    )
    def described(name: str) -> Response:
        return json_response(describe(twin, view, name))


def _add_listing(router: APIRouter, twin: TwinPorts, view: KindView[Any, Any]) -> None:
    """Add the list of a kind, with a query parameter for each of its columns."""
    word, row = view.kind.word, view.row
    kinds = {name: field.annotation for name, field in row.model_fields.items()}
    some_fields: Any = TypedDict(f"{row.__name__}Fields", kinds, total=False)  # type: ignore[misc]  # made here

    def listing(
        request: Request,
        fabric: str | None,
        sort: str | None,
        fields: str | None,
        limit: int | None,
        cursor: str | None,
        **_: list[str] | None,
    ) -> Response:
        tests = [test for pair in request.query_params.multi_items() if (test := _test(view, *pair))]
        names = chosen_fields(row, fields) if fields is not None else None
        page = select(
            row,
            lookup.list_resources(twin, view, fabric, _names_in(tests)),
            Selection(tests, sort, limit, cursor),
            kind=view.kind,
            now_us=twin.clock.show().now_us,
            check=TextValues(twin, view, fabric),
        )
        headers = {"X-Total-Count": str(page.total)}
        if not page.total and (reason := lookup.empty_reason(twin, view.kind, fabric)) is not None:
            headers[EMPTY_REASON_HEADER] = reason
        if page.cursor is not None:
            parameters = [
                (name, value) for name, value in request.query_params.multi_items() if name != "cursor"
            ]
            headers["Link"] = f'</v1/{word}?{urlencode([*parameters, ("cursor", page.cursor)])}>; rel="next"'
        if names is None:
            return json_response(page.rows, headers=headers)
        return json_response([{n: getattr(item, n) for n in names} for item in page.rows], headers=headers)

    setattr(listing, READS_OTHER_PARAMETERS, True)
    listing.__signature__ = _signature(view)  # type: ignore[attr-defined]  # for FastAPI, which goes by it
    rows: Any = list[row] | list[some_fields]  # type: ignore[valid-type]  # as this kind has them
    router.get(f"/{word}/", include_in_schema=False, response_model=rows)(listing)
    router.get(
        f"/{word}", summary=f"All {word}", name=f"list_{word}", response_model=rows, responses=PAGE_HEADERS
    )(listing)


def _test(view: KindView[Any, Any], parameter: str, value: str) -> FieldTest | None:
    """The test of a query parameter: a field with its value, `where` with a test, or a test whose operator is
    part of the name: `?chips>=512`. None for another parameter of lists; raise InvalidInput for an unknown
    one."""
    if parameter in LIST_PARAMETERS:
        return None
    if parameter == "where":
        return split_test(value)
    if re.search(r"[!<>]", parameter):
        return split_test(f"{parameter}={value}" if re.search(r"[!<>]$", parameter) else parameter)
    fields = RowFields(view.row, view.kind)
    if not fields.find(parameter):
        known = [*LIST_PARAMETERS, "where", *fields.names]
        hint = closest_match_hint(parameter, known)
        raise InvalidInput(
            f"query {truncated(repr(parameter))}: no such parameter; must be one of {', '.join(known)}{hint}"
        )
    return FieldTest(f"{parameter}={value}", parameter, "=", (value,))


def _names_in(tests: Sequence[FieldTest]) -> list[str] | None:
    """The names that rows must have; None if they may have any."""
    named = [test.values for test in tests if test.field == "name" and test.sign in EQUAL]
    return [name for values in named for name in values] if named else None


def _signature(view: KindView[Any, Any]) -> Signature:
    """The query parameters of a list: the common ones, and one for each column."""
    common_parameters = {
        "fabric": Annotated[str | None, Query(description="only of this fabric")],
        "sort": Annotated[
            str | None,
            Query(description="sort by these columns, descending with a leading -: `state,-changed_us`"),
        ],
        "where": Annotated[
            list[str] | None,
            Query(
                description="only rows that pass this test: `chips>512`, `state!=queued`, `LEFT<2h`, "
                "`state in [up, down]`; repeatable; fields as in JSON, or as headings of the table of "
                "`lightwave get`"
            ),
        ],
        "fields": Annotated[str | None, Query(description="only these fields: `name,state`")],
        "limit": Annotated[int | None, Query(ge=1, le=PAGE_MAX, description="rows per page; default all")],
        "cursor": Annotated[str | None, Query(description="cursor of the next page, from `Link`")],
    }
    column_parameters = {
        name: Annotated[
            list[str] | None, Query(description="only rows with this value; repeatable; `null` for no value")
        ]
        for name in plain_fields(view.row)
    }
    return Signature(
        [
            Parameter("request", Parameter.KEYWORD_ONLY, annotation=Request),
            *(
                Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=kind)
                for name, kind in (common_parameters | column_parameters).items()
            ),
        ]
    )
