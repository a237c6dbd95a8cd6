"""What people are told of dead letters over the HTTP API."""

from typing import Literal

from schemas.body import Model

DeadLetterState = Literal["waiting", "replayed", "dropped"]


class DeadLetterReport(Model):
    """A record of the log that nobody could read, or that an operator let a service skip. `origin` is its
    place on the log, `service` who could not read it where others could; a long `line` is cut, and then
    `line_bytes` and `line_sha256` are of the whole. `replays_as` is the request that a replay asks for, null
    where it cannot be replayed."""

    origin: str
    error: str
    line: str
    line_bytes: int | None
    line_sha256: str | None
    service: str | None
    wall_s: float | None
    state: DeadLetterState
    replays_as: str | None


class DroppedDeadLetters(Model):
    """The origins of the letters that were put aside."""

    dropped: tuple[str, ...]
