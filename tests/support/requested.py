"""What the workload says when somebody wants a slice."""

from typing import Any

from schemas.messages.workload import SliceRequested


def slice_requested(name: str, **said: Any) -> SliceRequested:
    """A team's request for a slice of research of one cube, without a job and an estimate, but for what is
    said otherwise."""
    usual: dict[str, Any] = {
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
    return SliceRequested(slice=name, **(usual | said))
