"""The route that gives the point of a backup."""

from typing import Unpack

from fastapi import APIRouter, Response

from schemas.files.backup_manifest import BackupPoint
from services.gateway.http.responses import json_response
from services.gateway.http.route_options import RouteOptions
from services.gateway.runtime_ports import TwinPorts
from shared.basics.errors import NotFound


def routes(twin: TwinPorts, **common: Unpack[RouteOptions]) -> APIRouter:
    """The backup route. It changes nothing, but only administrators may read it, because it shows all waiting
    requests."""
    router = APIRouter(prefix="/v1", tags=["twin"], **common)

    @router.get(
        "/backup",
        summary="The point of a backup: logs, clock and waiting requests at one quiet time",
        response_model=BackupPoint,
    )
    def point() -> Response:
        if twin.backup_point is None:
            raise NotFound("backup: this twin has no data folder; back up its Kafka and Redis instead")
        return json_response(twin.backup_point())

    return router
