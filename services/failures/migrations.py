"""Conversions of states of faults that earlier versions stored."""

import orjson

from shared.engine.service import StoredFields
from shared.engine.state_codec import encode_order

TABLES_OF_FAULTS = ("active/", "ended/")


def add_drill(stored: StoredFields) -> StoredFields:
    """Faults name the drill that injected them: none, before there were drills. They also name who did, which
    only the log has for earlier ones. No drill has changed a parameter."""
    fields = {
        name: _with_drill(value) if name.startswith(TABLES_OF_FAULTS) else value
        for name, value in stored.items()
    }
    return {**fields, "leases": encode_order({})}


def _with_drill(row: bytes) -> bytes:
    """The row with the fields in their place, which is after the comment."""
    fields: dict[str, object] = {}
    for name, value in orjson.loads(row).items():
        fields[name] = value
        if name == "comment":
            fields |= {"asked_by": None, "drill": None}
    return orjson.dumps(fields)
