"""Routes to things: all of a kind, one of them, one described, light paths, telemetry, configuration."""

from types import GenericAlias
from typing import Any

from fastapi import APIRouter, Response

from schemas.api import ImpactReport, LightPath
from schemas.config_by_kind import AnyConfig
from services.gateway import views
from services.gateway.describe import describe
from services.gateway.fabrics import config_of
from services.gateway.http.responses import ArrowFrame, answer, no_json
from services.gateway.impact import impact_of
from services.gateway.invalid import short
from services.gateway.kinds import VIEWS, KindView
from services.gateway.ports import TwinPorts
from shared.basics.errors import InvalidInput, NotFound


def routes(twin: TwinPorts) -> APIRouter:
    """Three routes for each kind of thing, and those that are of no kind."""
    router = APIRouter(prefix="/v1", tags=["things"])

    @router.get("/trace/{end:path}", summary="The whole light path from a link end", response_model=LightPath)
    def trace(end: str) -> Response:
        return answer(views.trace(twin, end))

    @router.get("/impact/{target:path}", summary="What hangs on a part", response_model=ImpactReport)
    def impact(target: str) -> Response:
        return answer(impact_of(twin, target))

    @router.get(
        "/telemetry/{fabric}",
        summary="The newest telemetry frame, an Arrow IPC stream",
        response_class=Response,
        responses=no_json(ArrowFrame, "the frame"),
    )
    def telemetry(fabric: str) -> ArrowFrame:
        config_of(twin, fabric)
        frame = twin.telemetry(fabric)
        if frame is None:
            raise NotFound(f"{fabric}: no telemetry frame yet")
        return ArrowFrame(frame)

    @router.get(
        "/config/{fabric}",
        summary="The configuration that a fabric was commissioned with, but for a recorded trace",
        response_model=AnyConfig,
    )
    def config(fabric: str) -> Response:
        text = config_of(twin, fabric).model_dump_json(exclude={"trace"})
        return Response(text, media_type="application/json")

    for view in VIEWS.values():
        _add_kind(router, twin, view)

    @router.get("/describe/{kind}/{name:path}", include_in_schema=False)
    def undescribed(kind: str) -> Response:
        words = [repr(word) for word in VIEWS]
        allowed = f"{', '.join(words[:-1])} or {words[-1]}"
        raise InvalidInput(f"kind {short(repr(kind))}: input should be {allowed}")

    return router


def _add_kind(router: APIRouter, twin: TwinPorts, view: KindView[Any, Any]) -> None:
    word = view.kind.word
    rows = GenericAlias(list, (view.row,))

    @router.get(f"/{word}/", include_in_schema=False, response_model=rows)
    @router.get(f"/{word}", summary=f"All {word}", name=f"list_{word}", response_model=rows)
    def listing(fabric: str | None = None) -> Response:
        return answer(views.listing(twin, view, fabric))

    @router.get(
        f"/{word}/{{name:path}}",
        summary=f"One of the {word}",
        name=f"get_{word}",
        response_model=view.row,
    )
    def one(name: str) -> Response:
        return answer(views.one(twin, view, name))

    @router.get(
        f"/describe/{word}/{{name:path}}",
        summary=f"One of the {word} with what stands around it",
        name=f"describe_{word}",
        response_model=view.description,
    )
    def described(name: str) -> Response:
        return answer(describe(twin, view, name))
