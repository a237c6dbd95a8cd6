"""Scores a drill from a log file."""

from collections.abc import Iterator
from pathlib import Path

from ops.drills.score.figures import DrillScore
from ops.drills.score.score import score_drill
from schemas.envelope import Envelope
from schemas.messages.sequencer import FabricCommissioned
from schemas.registry import Unreadable, decode
from services.gateway.explain.drill_record import read_record
from shared.basics.errors import InvalidInput
from shared.models.fabric_plants import plant_of
from shared.models.plant.plant_format import Plant
from shared.storage.log.log_lines import raw_lines


def score_log(path: Path, drill: str | None) -> DrillScore:
    """Score a drill of the site whose log starts in this file. Chip-hours lost are not measured.

    Raises InvalidInput with the first line that is not a message, and if the log has no such drill, or
    several without a name.
    """
    plants: dict[str, Plant] = {}

    def messages() -> Iterator[Envelope]:
        for number, line in enumerate(raw_lines(path), start=1):
            try:
                message = decode(line.rstrip(b"\n"))
            except Unreadable as error:
                raise InvalidInput(f"{path}: line {number}: not a message of a log: {error}") from None
            if isinstance(message.body, FabricCommissioned):
                config = message.body.config
                plants[message.fabric] = plant_of(config.kind, config.hardware)
            yield message

    record = read_record(enumerate(messages()), drill, plants)
    if not plants:
        raise InvalidInput(f"{path}: does not start with the start of a fabric; must be a whole log")
    return score_drill(record)
