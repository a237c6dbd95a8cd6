"""The trainee's desk on a running twin: the game that runs, alerts, and requests at the desk."""

from typing import TYPE_CHECKING, Any

from ops.client.answers import CLOCK, ApiPath
from ops.client.http_client import Client, RequestFailed, escape_path, rows_path
from schemas.resource_kinds import CUBES, DOMAINS, FAULTS, HOSTS, OCS, REPAIRS, SLICES, VERDICTS, ResourceKind
from shared.basics.errors import InvalidInput, NotFound

if TYPE_CHECKING:
    from schemas.api.drills import DeskRow

DESKS: "ApiPath[DeskRow]" = ApiPath("/v1/desk")
DESK_FIELDS = ("name", "brief", "ended_us", "hints", "hints_left", "culprits")
ALERTS: tuple[tuple[str, ResourceKind[Any], dict[str, object]], ...] = (
    ("OCSes out of order", OCS, {"where": "state!=up"}),
    ("cubes unhealthy", CUBES, {"where": "health!=healthy"}),
    ("hosts down", HOSTS, {"where": "state!=up"}),
    ("domains down", DOMAINS, {"where": "state!=up"}),
    ("slices degraded", SLICES, {"state": "degraded"}),
    ("slices recovering", SLICES, {"state": "recovering"}),
    ("open verdicts", VERDICTS, {"state": "open"}),
    ("open repairs", REPAIRS, {"where": "state in [queued, begun, tested]"}),
)
"""(heading, kind, query) of each kind of alert."""


def desk_path(name: str, deed: str | None = None) -> "ApiPath[DeskRow]":
    """The path of a drill's desk, or of a request there."""
    return ApiPath(f"/v1/desk/{escape_path(name)}{'' if deed is None else f'/{deed}'}")


def read_desk(client: Client, name: str) -> "DeskRow":
    """The desk of a drill."""
    return client.resource(desk_path(name), *DESK_FIELDS)


def running_desk(client: Client, name: str | None) -> str:
    """The drill whose desk is meant: the named one, or the only one that runs. Raises NotFound if none runs,
    and InvalidInput if several do."""
    if name is not None:
        return name
    running = [row.name for row in client.rows(DESKS, *DESK_FIELDS) if row.ended_us is None]
    if not running:
        raise NotFound("no drill with a `trainee` section runs; `lightwave drill desk FILE` starts one")
    if len(running) > 1:
        raise InvalidInput(f"{len(running)} games run; name one of {', '.join(running)}")
    return running[0]


def read_alerts(client: Client) -> dict[str, list[str]]:
    """Heading → names of the resources that are out of order now."""
    found = {}
    for heading, kind, query in ALERTS:
        try:
            rows = client.rows(rows_path(kind), "name", **query)
        except NotFound:
            continue  # no fabric of this twin has this kind
        found[heading] = [str(row.name) for row in rows]
    return found


def now_us(client: Client) -> int:
    """The simulated time of the twin."""
    return client.resource(CLOCK, "now_us").now_us


def may_see_truth(client: Client) -> bool:
    """Whether the twin shows faults to this client."""
    try:
        client.rows(rows_path(FAULTS), "name", limit=1)
    except RequestFailed:
        return False
    return True
