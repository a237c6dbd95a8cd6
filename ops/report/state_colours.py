"""The colours of states in a terminal: red for broken, yellow for degraded or in progress, green for working,
grey for ended."""

RED, YELLOW, GREEN, GREY = 31, 33, 32, 90
"""Select Graphic Rendition codes of ECMA-48."""

STATES: dict[int, tuple[str, ...]] = {
    RED: ("down", "dead", "failed", "refused", "unhealthy", "active", "evicted", "ineffective", "!!"),
    YELLOW: (
        *("degraded", "recovering", "held", "draining", "undraining", "drained", "switching", "qualifying"),
        *("waiting", "waiting-for-pods", "waits", "queued", "received", "begun", "tested", "programming"),
        *("preflight", "planned", "tuning", "aborted", "paused", "stopped", "open", "!", "?"),
    ),
    GREEN: ("up", "ok", "healthy", "alive", "running", "accepted", "normal", "tuned", "joined", "holds"),
    GREY: (
        *("completed", "ended", "retired", "done", "cancelled", "released", "withdrawn", "repaired", "dark"),
        *("cleared", "expired", "replayed", "dropped", "taken-back", "overtaken", "nothing"),
    ),
}
"""Colour → the states that have it."""
COLOUR_OF = {state: colour for colour, states in STATES.items() for state in states}
COLOURED_HEADINGS = frozenset({"STATE", "HEALTH", "CONDITION", "STATUS", "OUTCOME", "FLAGS", "FLAG"})
"""Headings of columns whose cells are states."""


def coloured(heading: str, cell: str) -> str:
    """Return the cell in the colour of its state, which is its first word. The cell is unchanged if the
    column has no states or the state has no colour."""
    if heading.upper() not in COLOURED_HEADINGS:
        return cell
    colour = COLOUR_OF.get(cell) or COLOUR_OF.get(cell.partition(" ")[0].rstrip(",;"))
    return cell if colour is None else f"\x1b[{colour}m{cell}\x1b[0m"
