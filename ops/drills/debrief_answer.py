"""The debrief of a drill, as the client reads it from the twin's answer."""

from collections.abc import Mapping
from dataclasses import dataclass

import orjson

from ops.client.http_client import Client, escape_path
from ops.drills.logged_message import logged_message
from schemas.api.drill_journal import DrillJournal
from schemas.documents.drills import DeskDocument
from schemas.envelope import Envelope
from shared.basics.json_types import JsonObject


@dataclass(frozen=True, slots=True)
class DebriefAnswer:
    """What a trainee did in a drill that has ended, and the truth. `timeline` has messages of its site in
    order; `texts` maps their ids to lines that describe them. `is_cut`: some messages are left out."""

    desk: DeskDocument
    drill: DrillJournal
    site: str
    timeline: tuple[Envelope, ...]
    texts: Mapping[str, str]
    is_cut: bool


def fetch_debrief(client: Client, name: str) -> tuple[JsonObject, DebriefAnswer]:
    """(the answer as JSON, the answer). Raises InvalidInput while the drill runs."""
    path = f"/v1/desk/{escape_path(name)}/debrief"
    answer = client.resource(path, "desk", "drill", "site", "timeline", "is_cut")
    with client.reading():
        return answer, read_debrief(answer)


def read_debrief(answer: Mapping[str, object]) -> DebriefAnswer:
    """A debrief from its JSON; ValueError if it is not one."""
    rows = answer["timeline"]
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise ValueError("timeline: must be a list of messages")
    return DebriefAnswer(
        desk=DeskDocument.model_validate_json(orjson.dumps(answer["desk"])),
        drill=DrillJournal.model_validate_json(orjson.dumps(answer["drill"])),
        site=str(answer["site"]),
        timeline=tuple(map(logged_message, rows)),
        texts={str(row["id"]): str(row["text"]) for row in rows},
        is_cut=bool(answer["is_cut"]),
    )
