"""`lightwave lab replay FILE`: fold a recorded log again; report the first difference and broken
invariants."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ops.invariants import AllCheckers
from ops.lab.run import combined_digest, site_digest
from schemas.messages.sequencer import FabricCommissioned
from schemas.registry import Unreadable, decode
from services.fabric_kinds import services_of
from shared.basics.errors import InvalidInput
from shared.engine.replay import Replay, ReplayMismatch
from shared.engine.site import Site
from shared.storage.log.log_bytes import LogBytes
from shared.storage.log.log_lines import LINE_MAX

VIOLATIONS_MAX = 20
"""Maximum number of broken invariants that a report lists."""
DEAD_LETTERS_LISTED = 100
DEAD_LETTERS_MAX = 100_000
"""Maximum number of lines that are not messages; with more, the file is not a log of a twin."""


@dataclass
class _Record:
    """The part of the file that belongs to one site, as far as it has been read."""

    replay: Replay
    position: int = 0
    difference: ReplayMismatch | None = None
    messages: int = 0
    checkers: AllCheckers = field(default_factory=AllCheckers)


@dataclass(frozen=True, slots=True)
class DeadLetterLine:
    """A line of the file that is not a message, and its error."""

    line: int
    error: str


@dataclass
class LogReplay:
    """The result of folding a log file again.

    `orphans` are fabrics with messages before their commissioning → line of the first. `torn` is true if the
    last line is incomplete. All dead letters are counted, and the first ones are kept.
    """

    records: dict[str, _Record] = field(default_factory=dict)
    orphans: dict[str, int] = field(default_factory=dict)
    dead_letters: list[DeadLetterLine] = field(default_factory=list)
    dead_letters_count: int = 0
    torn: bool = False
    violations: list[str] = field(default_factory=list)

    def report(self) -> dict[str, Any]:
        """Return the object that `lab replay` prints. `clean` is true if every message equals the fold's, and
        the file does not end in the middle of a line or of a cascade."""
        names = sorted(self.records)
        differences = [
            {
                "site": name,
                "position": record.difference.position,
                "expected": record.difference.expected,
                "found": record.difference.found,
            }
            for name in names
            if (record := self.records[name]).difference is not None
        ]
        unfinished = {n: len(r.replay.pending) for n, r in self.records.items() if r.replay.pending}
        broken = bool(differences or self.violations or self.orphans or self.torn or unfinished)
        states = [site_digest(self.records[name].replay.site) for name in names]
        return {
            "clean": bool(names) and not broken,
            "messages": sum(record.messages for record in self.records.values()),
            "sites": names,
            "state_sha256": combined_digest(names, states) if names else None,
            "first_difference": differences[0] if differences else None,
            "unfinished": unfinished,
            "torn": self.torn,
            "repeats": sum(record.replay.repeats for record in self.records.values()),
            "not_commissioned": [{"fabric": n, "line": self.orphans[n]} for n in sorted(self.orphans)],
            "violations": self.violations,
            "dead_letters": [asdict(letter) for letter in self.dead_letters],
            "dead_letters_count": self.dead_letters_count,
        }


def replay(path: Path, *, progress: Callable[[int], None] | None = None) -> LogReplay:
    """Fold the log in `path` again.

    Lines that are not messages are dead letters, and the replay continues after them. It also continues after
    messages of a fabric that no earlier line has commissioned, whose site and kind are unknown. Raises
    InvalidInput if there are more dead letters than any log of a twin has.

    A log that ends in the middle of a cascade is not a difference. It is reported as unfinished.
    """
    result = LogReplay()
    sites: dict[str, str] = {}
    for number, line in enumerate(LogBytes(path).raw_lines(), start=1):
        if progress is not None and number % 1000 == 0:
            progress(number)
        result.torn = not line.endswith(b"\n") and len(line) < LINE_MAX
        try:
            message = decode(line.rstrip(b"\n"))
        except Unreadable as error:
            _record_dead_letter(result, path, number, str(error))
            continue
        if isinstance(message.body, FabricCommissioned):
            sites.setdefault(message.fabric, message.body.site)
        site = sites.get(message.fabric)
        if site is None:
            result.orphans.setdefault(message.fabric, number)
            continue
        record = result.records.get(site)
        if record is None:
            record = result.records[site] = _Record(Replay(Site(site, services_of)))
        if record.difference is None:
            record.difference = record.replay.feed(record.position, message)
            record.messages += 1
            result.violations += list(record.checkers.see(message))[: VIOLATIONS_MAX - len(result.violations)]
        record.position += 1
    return result


def _record_dead_letter(result: LogReplay, path: Path, line: int, error: str) -> None:
    """Count a line that is not a message, and keep the error if it is among the first."""
    result.dead_letters_count += 1
    if result.dead_letters_count <= DEAD_LETTERS_LISTED:
        result.dead_letters.append(DeadLetterLine(line, error))
    if result.dead_letters_count > DEAD_LETTERS_MAX:
        raise InvalidInput(
            f"log file {path}: more than {DEAD_LETTERS_MAX:,} lines are not messages; must be the log of "
            f"a twin"
        )
