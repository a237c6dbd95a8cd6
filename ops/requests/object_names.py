"""Names of objects as users write them, completed with the fabric of the running twin."""

from ops.client.http_client import Client, rows_path
from ops.requests.name_expansion import lacks_fabric, with_fabric, without_kind
from schemas.fabric_names import can_have
from schemas.resource_kinds import FABRICS
from shared.basics.errors import NotFound


def expand_name(client: Client, name: str) -> str:
    """Prefix a name without KIND/ with its fabric if it has none and only one fabric fits."""
    name = without_kind(name)
    if not lacks_fabric(name):
        return name
    try:
        rows = client.rows(rows_path(FABRICS), "name")
    except NotFound:  # not a twin: the next query reports that
        return name
    fits = [row.name for row in rows if can_have(str(getattr(row, "kind", None)), name)]
    return with_fabric(name, fits)
