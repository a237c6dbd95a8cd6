"""Names of objects as users write them, completed with the fabric of the running twin."""

from ops.client.http_client import Client, rows_path
from ops.requests.name_expansion import lacks_fabric, with_fabric, without_kind
from schemas.name_parts import fabric_part
from schemas.resource_kinds import FABRICS
from shared.basics.errors import InvalidInput, NotFound


def expand_name(client: Client, name: str) -> str:
    """A name without KIND/, prefixed with its fabric if it has none and only one fabric fits: a living one
    or, if no living one does, a retired one. NotFound if several fit."""
    name = without_kind(name)
    if not lacks_fabric(name):
        return name
    try:
        rows = client.rows(rows_path(FABRICS), "name")
    except NotFound:  # not a twin: the next query reports that
        return name
    kinds: dict[str, str | None] = {str(row.name): getattr(row, "kind", None) for row in rows}
    retired = [str(row.name) for row in rows if getattr(row, "retired_us", None) is not None]
    if fabric_part(name) in kinds:
        return name
    living = {one: kind for one, kind in kinds.items() if one not in retired}
    try:
        full = with_fabric(name, living)
        return (
            full if full != name else with_fabric(name, {one: kinds[one] for one in kinds if one in retired})
        )
    except InvalidInput as error:
        raise NotFound(str(error)) from None
