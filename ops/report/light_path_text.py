"""Texts about a traced light path."""

from collections.abc import Mapping
from typing import Any


def unmade_reason(path: Mapping[str, Any]) -> str:
    """Return why a traced path has no far end."""
    wanted = path["wanted_end"]
    if wanted is None:
        return "no circuit is wanted"
    lost = [strand["strand"] for strand in path["strands"] if None in (strand["north"], strand["south"])]
    made = [strand["strand"] for strand in path["strands"] if strand["strand"] not in lost]
    if not made:
        return f"neither strand to {wanted} is made"
    return f"strand {lost[0]} is not made; strand {made[0]} reaches {wanted}"


def patched_port(port: str, spare: str) -> str:
    """Format a fibre that was moved to a spare port, such as `N24 → spare N131`."""
    return f"{port} → spare {spare}"
