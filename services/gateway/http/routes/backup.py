"""The route to where a backup of the twin is cut."""

from typing import Unpack

from fastapi import APIRouter, Response

from schemas.files.backup_manifest import BackupPoint
from services.gateway.http.responses import json_response
from services.gateway.http.route_options import RouteOptions
from services.gateway.ports import TwinPorts
from shared.basics.errors import NotFound


def routes(twin: TwinPorts, **common: Unpack[RouteOptions]) -> APIRouter:
    """Nothing changes; it is an administrator's to ask, for it tells all that waits."""
    router = APIRouter(prefix="/v1", tags=["twin"], **common)

    @router.get(
        "/backup",
        summary="Where a backup is cut: logs, clock and waiting requests at one quiet moment",
        response_model=BackupPoint,
    )
    def point() -> Response:
        if twin.backup_point is None:
            raise NotFound(
                "backup: this twin has no data folder; Kafka and Redis, which keep it, are backed up"
            )
        return json_response(twin.backup_point())

    return router
