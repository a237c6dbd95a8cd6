"""The error for an object that the store does not have, with the reason."""

import re
from collections.abc import Sequence
from typing import Any

from schemas.names import number_of
from schemas.resource_kinds import DEMANDS, FABRICS, TRUNKS, ResourceKind
from services.gateway.fabrics import fabric_plant, site_of
from services.gateway.log.past_twin import not_yet_error
from services.gateway.runtime_ports import TwinPorts
from services.gateway.text.not_found import no_such_name_error
from shared.basics.errors import LightwaveError, OperationFailed
from shared.storage.log.log_reader import LogQuery


def missing_error(twin: TwinPorts, kind: ResourceKind[Any], name: str, fabric: str) -> LightwaveError:
    """The error for a name that the store does not have. Either it does not exist, or the store is behind the
    log, because it lost its last messages or is being rebuilt."""
    if not kind.parts and kind not in (FABRICS, TRUNKS, DEMANDS):
        rows = twin.log.find(site_of(twin, fabric), LogQuery(about=(name,)), 1, newest=True)
        if rows and rows[-1][1].at_us > twin.clock.show().now_us:
            return OperationFailed(f"{kind.title} {name}: is being read from the log again; try again")
        if not rows and (error := not_yet_error(twin, site_of(twin, fabric), kind.title, name)):
            return error
        near = _nearest(list(twin.documents.all(fabric, kind.documents[0])), name)
        return no_such_name_error(kind, name, fabric, fabric_plant(twin, fabric), near)
    return no_such_name_error(kind, name, fabric, fabric_plant(twin, fabric))


def _nearest(names: Sequence[str], name: str) -> str | None:
    """The existing name with the nearest number."""
    number = re.search(r"[0-9]{1,9}$", name)
    if number is None or not names:
        return None
    return min(names, key=lambda other: (abs(number_of(other) - int(number[0])), number_of(other)))
