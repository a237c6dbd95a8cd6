"""Dead letters in the HTTP API."""

from typing import Literal

from schemas.body import Model

DeadLetterState = Literal["waiting", "replayed", "dropped"]


class DeadLetterReport(Model):
    """A record of the log that no reader could decode, or that an operator let a service skip. `origin` is
    its place on the log. `service` is the one that skipped it. A long `line` is truncated; `line_bytes` and
    `line_sha256` then describe the whole line. `replays_as` is the request that a replay makes, null if it
    cannot be replayed. `wall_s` is wall time in seconds since 1970."""

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
    """The origins of the dead letters that were dropped."""

    dropped: tuple[str, ...]
