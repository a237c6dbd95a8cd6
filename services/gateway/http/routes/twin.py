"""Routes of the twin itself: all states of a site, which twin it is, the point of a backup, its archive."""

from typing import Annotated, Unpack

from fastapi import APIRouter, Path, Response

from schemas.api.rows import TwinInfo
from schemas.files.backup_manifest import BackupPoint
from schemas.files.log_archive import ArchiveRequest, ArchiveResult
from services.gateway.admin.dead_letters import ANONYMOUS
from services.gateway.fabrics import sites
from services.gateway.http.access.caller import CurrentCaller
from services.gateway.http.responses import StatesFile, json_response, non_json_doc
from services.gateway.http.route_options import RouteOptions, StrictJsonRoute
from services.gateway.runtime_ports import TwinPorts
from shared.basics.errors import InvalidInput, NotFound
from shared.basics.spelling import truncated

Site = Annotated[str, Path(description="a site such as pod-0, as in `GET /v1/fabrics`")]


def routes(twin: TwinPorts, **common: Unpack[RouteOptions]) -> APIRouter:
    """The routes of snapshots, of the twin, of backups and of the archive, in this order."""
    router = APIRouter()
    for add in (_snapshot_routes, _twin_routes, _archive_routes):
        router.routes += add(twin, **common).routes
    return router


def _snapshot_routes(twin: TwinPorts, **common: Unpack[RouteOptions]) -> APIRouter:
    """The snapshot route, for now or the requested time."""
    router = APIRouter(prefix="/v1", tags=["questions"], **common)

    @router.get(
        "/snapshots/{site}",
        summary="All states of a site's services, to run a copy elsewhere",
        response_class=Response,
        responses=non_json_doc(StatesFile, "a compressed snapshot with its digest"),
    )
    def snapshot(site: Site) -> Response:
        if twin.past is None:
            raise InvalidInput("snapshots: must not be used; this twin keeps none")
        known = sites(twin)
        if site not in known:
            raise NotFound(f"site {truncated(repr(site))}: no such site; must be one of {', '.join(known)}")
        return StatesFile(twin.past.site(site, twin.log.end(site)).snapshot())

    return router


def _twin_routes(twin: TwinPorts, **common: Unpack[RouteOptions]) -> APIRouter:
    """The twin's runtime, version and data folder, and the point of a backup. The latter changes nothing, but
    only administrators may read it, because it shows all pending requests."""
    router = APIRouter(prefix="/v1", tags=["twin"], **common)

    @router.get("/twin", summary="Which twin this is", response_model=TwinInfo)
    def about() -> Response:
        return json_response(twin.about)

    @router.get(
        "/backup",
        summary="The point of a backup: logs, clock and pending requests at one quiet time",
        response_model=BackupPoint,
    )
    def point() -> Response:
        if twin.backup_point is None:
            raise NotFound("backup: this twin has no data folder; back up its Kafka and Redis instead")
        return json_response(twin.backup_point())

    return router


def _archive_routes(twin: TwinPorts, **common: Unpack[RouteOptions]) -> APIRouter:
    """The archive route, for administrators. Readers of the log see no change."""
    router = APIRouter(prefix="/v1", tags=["twin"], route_class=StrictJsonRoute, **common)

    @router.post(
        "/archive",
        summary="Drop from a site's log file what its archive holds, as `lightwave archive` does",
        response_model=ArchiveResult,
    )
    def archive(request: ArchiveRequest, caller: CurrentCaller) -> Response:
        if twin.archive is None:
            raise NotFound("archive: this twin has no data folder; its log is stored in Kafka")
        return json_response(twin.archive(request.site, request.offset, caller.name or ANONYMOUS))

    return router
