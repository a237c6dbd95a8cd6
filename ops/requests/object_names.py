"""Names of objects as users write them, completed with the fabric of the running twin."""

from ops.client.http_client import Client, rows_path
from ops.report.safe_text import quoted
from ops.requests.name_expansion import lacks_fabric, with_fabric, without_kind
from schemas.name_parts import fabric_part
from schemas.resource_kinds import FABRICS
from shared.basics.errors import InvalidInput, NotFound


def expand_name(client: Client, name: str, fabric: str | None = None) -> str:
    """A name without KIND/, prefixed with its fabric if it has none: with `fabric` (the option of a command),
    or with the only one that fits: a living one or, if no living one does, a retired one.

    Raise NotFound if several fit, and InvalidInput if `fabric` is not the fabric of a full name.
    """
    name = without_kind(name)
    if fabric is None and not lacks_fabric(name):
        return name
    try:
        rows = client.rows(rows_path(FABRICS), "name")
    except NotFound:  # not a twin: the next query reports that
        return name
    kinds: dict[str, str | None] = {str(row.name): getattr(row, "kind", None) for row in rows}
    if fabric is not None:
        return _within(fabric, name, is_full=fabric_part(name) in kinds or not lacks_fabric(name))
    if fabric_part(name) in kinds:
        return name
    retired = [str(row.name) for row in rows if getattr(row, "retired_us", None) is not None]
    living = {one: kind for one, kind in kinds.items() if one not in retired}
    try:
        full = with_fabric(name, living)
        return (
            full if full != name else with_fabric(name, {one: kinds[one] for one in kinds if one in retired})
        )
    except InvalidInput as error:
        raise NotFound(str(error)) from None


def _within(fabric: str, name: str, *, is_full: bool) -> str:
    """The full name of an object of this fabric."""
    if not is_full:
        return f"{fabric}/{name}"
    own = fabric_part(name)
    if own != fabric:
        raise InvalidInput(
            f"--fabric {quoted(fabric)}: is not the fabric of {name}; must be {own}, or omitted"
        )
    return name
