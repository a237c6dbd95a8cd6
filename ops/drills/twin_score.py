"""Scores a drill of a running twin, from the messages of its site's log."""

import re
from collections.abc import Iterator
from heapq import merge
from pathlib import Path
from typing import Any

import orjson

from ops.client.answers import EVENTS
from ops.client.http_client import Client
from ops.drills.logged_message import logged_message
from ops.drills.running_drill import fetch_journal
from ops.drills.score.figures import DrillScore
from ops.drills.score.score import score_drill
from ops.local.input_files import read_input
from schemas.envelope import Envelope
from schemas.messages.drills import DrillEnded
from schemas.messages.sequencer import FabricCommissioned
from schemas.name_parts import fabric_part
from services.gateway.explain.drill_record import read_record
from shared.basics.errors import InvalidInput, OperationFailed
from shared.basics.json_types import JsonObject
from shared.models.fabric_plants import plant_of
from shared.models.plant.plant_format import Plant

NAME = re.compile(r"[a-z0-9-]+/drill-\d+")
"""The full name of a drill."""
BEFORE = ("FabricCommissioned", "FaultBegan", "FaultEnded")
"""Types of messages that count although they are earlier than the drill."""
PAGE = 10_000
"""Messages of a page; must be at most the gateway's limit."""
JOURNAL_BYTES_MAX = 1 << 26
JOURNAL_FIELDS = ("drill", "request", "document_sha256", "seed")
"""What identifies the drill of a journal."""


def score_twin(client: Client, name: str, expected: JsonObject | None = None) -> DrillScore:
    """Score a drill of the twin. Chip-hours lost are not measured.

    `expected` is the record of a journal file: raises InvalidInput if the twin's drill of that name is
    another one. Raises RequestFailed if the twin has no such drill.
    """
    journal: Any = fetch_journal(client, name)["lightwave"]
    for field in JOURNAL_FIELDS if expected is not None else ():
        if expected is not None and expected.get(field) != journal[field]:
            raise InvalidInput(
                f"the journal's drill {name} has {field} {expected.get(field)!r}, and that of the twin "
                f"{journal[field]!r}; must be a journal of this twin"
            )
    name, since_us, end_us = journal["drill"], journal["began_us"], journal["ended_us"]
    steps = [step["fabric"] for step in journal["plan"]["steps"] if step.get("fabric")]
    fabrics = dict.fromkeys([fabric_part(name), *steps])
    plants: dict[str, Plant] = {}

    def of(fabric: str) -> Iterator[Envelope]:
        for message in _messages(client, fabric, 0, list(BEFORE)):
            if isinstance(message.body, FabricCommissioned):
                config = message.body.config
                plants[fabric] = plant_of(config.kind, config.hardware)
            if message.at_us < since_us:
                yield message
        for message in _messages(client, fabric, since_us, None):
            if end_us is not None and message.at_us > end_us:
                return
            yield message
            if isinstance(message.body, DrillEnded) and message.body.drill == name:
                return

    messages = merge(*(of(fabric) for fabric in fabrics), key=lambda message: message.at_us)
    return score_drill(read_record(enumerate(messages), name, plants))


def _messages(client: Client, fabric: str, since_us: int, types: list[str] | None) -> Iterator[Envelope]:
    """The messages of a fabric from a time on, without Ticks."""
    query: dict[str, object] = {"fabric": fabric, "ticks": "false", "type": types}
    seen: set[str] = set()
    while True:
        rows, has_more = client.pages(str(EVENTS), "id", "body", most=PAGE, since_us=since_us, **query)
        page = [logged_message(row) for row in rows]
        yield from (message for message in page if message.id not in seen)
        if not has_more:
            return
        if page[-1].at_us == since_us:
            raise OperationFailed(f"{fabric}: more than {PAGE} messages at {since_us} us")
        since_us = page[-1].at_us
        seen = {message.id for message in page if message.at_us == since_us}


def journal_record(path: Path) -> JsonObject | None:
    """The record of a drill in a journal file; None if the file is something else, such as a log, or larger
    than any journal."""
    if path.suffix != ".json" or not path.is_file():
        return None
    try:
        found: Any = orjson.loads(read_input(path, JOURNAL_BYTES_MAX))
        record = found["lightwave"]
    except (InvalidInput, orjson.JSONDecodeError, KeyError, TypeError):
        return None
    except OSError as error:
        raise OperationFailed(f"{path}: {error.strerror or error}") from None
    return record if isinstance(record, dict) and NAME.fullmatch(str(record.get("drill"))) else None
