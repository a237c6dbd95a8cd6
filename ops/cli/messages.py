"""Messages of the log as people read them: a row each."""

from typing import Any

from ops.common.tables import columns
from ops.common.times import moment, moment_ms, span

Row = dict[str, Any]
EVENT_HEADERS = ("TIME", "ID", "TYPE", "CAUSE", "WHAT")


def event_rows(messages: list[Row]) -> str:
    """Messages of the log as a table."""
    if not messages:
        return "no events"
    return columns(EVENT_HEADERS, [event_row(message) for message in messages])


def event_row(message: Row) -> list[object]:
    at, body = moment_ms(message["at_us"]), brief(message["body"])
    return [at, message["id"], message["type"], message["cause"], body]


MOMENTS = ("due_us", "expires_us")
"""Fields of messages that are points in time; the other times in messages are spans."""


LISTED_MAX = 4
"""Items of a list that are said one by one."""
BRIEF_MAX = 100


def brief(body: Row) -> str:
    """A message's body in one short line: what is there, in its order."""
    said = [
        _said(name, value) for name, value in body.items() if value not in (None, []) and name != "config"
    ]
    text = " ".join(said)
    return text if len(text) <= BRIEF_MAX else text[: BRIEF_MAX - 1] + "…"


def _said(name: str, value: object) -> str:
    if isinstance(value, bool):
        return f"{name}={'yes' if value else 'no'}"
    if isinstance(value, list):
        return f"{name}={_listed(value, 'x' if name == 'shape' else ',')}"
    if isinstance(value, int) and name.endswith("_us"):
        return f"{name[:-3]}={moment(value) if name in MOMENTS else span(value)}"
    return f"{name}={value}"


def _listed(items: list[object], between: str) -> str:
    """A short list as it is; of a long one, or one of lists, how many."""
    if len(items) > LISTED_MAX or isinstance(items[0], list):
        return f"({len(items)} of them)"
    return between.join(map(str, items))
