"""The active faults of a part, as a running twin knows them."""

from ops.client.http_client import Client, rows_path
from schemas.name_parts import fabric_part, is_within
from schemas.resource_kinds import FAULTS


def active_faults_of(client: Client, target: str, besides: str | None = None) -> list[str]:
    """The names of the active faults of a part, or of a part that contains it, without the fault
    `besides`."""
    rows = client.rows(rows_path(FAULTS), "name", "target", fabric=fabric_part(target), state="active")
    return [str(row.name) for row in rows if row.name != besides and is_within(target, row.target)]
