"""Reads whole logs and checks the invariants on them."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from ops.invariants import AllCheckers
from schemas.envelope import Envelope
from shared.storage.log.log_lines import raw_lines


def check_all(log: Iterable[Envelope]) -> list[str]:
    """Return every violation in one site's log."""
    checkers = AllCheckers()
    return [problem for message in log for problem in checkers.see(message)]


def read_lines(path: Path, offset: int = 0) -> Iterator[bytes]:
    """Return every line of a log file without its newline. Raises as `raw_lines` does."""
    return (line.rstrip(b"\n") for line in raw_lines(path, offset))
