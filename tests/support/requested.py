"""Slice requests, as the workload emits them."""

from typing import Any

from schemas.messages.workload import SliceRequested


def slice_requested(name: str, **fields: Any) -> SliceRequested:
    """Return a team's request for a research slice of one cube, without a job and an estimate. `fields`
    replaces fields."""
    defaults: dict[str, Any] = {
        "owner": "team",
        "tier": "research",
        "shape": (4, 4, 4),
        "twisted": False,
        "priority": 0,
        "duration_us": None,
        "job": None,
        "estimate_us": None,
        "requested_by": "arrival",
    }
    return SliceRequested(slice=name, **(defaults | fields))
