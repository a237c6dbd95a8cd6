"""What the log says about operators' requests, judged by other means than the twin's own readers.

Nothing here uses the twin's codec or its judgement of records: an oracle must not share the code it judges.
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

OPERATOR = re.compile(r"operator@[a-z0-9-]+/\d+")
EXPECTED_OFFSET = "expected-offset"
"""The header of a root message that names the only offset at which it counts."""
BEGINNING, ENDING = "FabricCommissioned", "FabricRetired"
STRAY = "soak-stray"
"""The header of what the soak itself writes where it has no business."""


@dataclass(frozen=True, slots=True)
class Line:
    """One record of the log."""

    partition: int
    offset: int
    headers: dict[str, str]
    value: bytes


@dataclass(frozen=True, slots=True)
class Asked:
    """A request as it stands on the log; `number` is that of its message, `key` what it was asked under."""

    id: str
    key: str | None
    fabric: str
    type: str
    number: int
    at_us: int
    body: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Beginning:
    """A fabric's commissioning as it stands on the log; `config` is all of its configuration."""

    id: str
    site: str
    partition: int
    at_us: int
    config: dict[str, Any]

    @property
    def kind(self) -> str:
        return str(self.config["kind"])


@dataclass(frozen=True, slots=True)
class Ending:
    """A fabric's end as it stands on the log."""

    id: str
    at_us: int


@dataclass(frozen=True, slots=True)
class Said:
    """A message that names a request as its cause."""

    type: str
    body: dict[str, Any]


@dataclass(slots=True)
class Facts:
    """`types` counts messages by (fabric, type), `ticks` Ticks by (service, fabric); `ends` are the offsets
    after the last record. `beginnings` are all of a fabric that count where they stand, also a second one
    that every reader drops as a repeat."""

    messages: int = 0
    voids: int = 0
    repeats: int = 0
    unreadable: int = 0
    strays: int = 0
    requests: dict[str, list[Asked]] = field(default_factory=lambda: defaultdict(list))
    answers: dict[str, list[Said]] = field(default_factory=lambda: defaultdict(list))
    types: Counter[tuple[str, str]] = field(default_factory=Counter)
    ticks: Counter[tuple[str, str]] = field(default_factory=Counter)
    beginnings: dict[str, list[Beginning]] = field(default_factory=lambda: defaultdict(list))
    endings: dict[str, list[Ending]] = field(default_factory=lambda: defaultdict(list))
    last_us: dict[str, int] = field(default_factory=dict)
    ends: dict[int, int] = field(default_factory=dict)
    links: dict[tuple[str, int, int], int] = field(default_factory=dict)
    """(network, block, block) → links between the two that carry traffic, as last told."""
    rewirings: set[str] = field(default_factory=set)
    """Those that were planned."""
    seen: dict[tuple[str, str], int] = field(default_factory=dict)
    """(fabric, source) → its highest seq."""


def gather(lines: Iterable[Line], ends: Mapping[int, int] | None = None) -> Facts:
    """Read a whole log, each partition in order; `ends` is where each ends, if that may be behind its last
    line: Kafka gives the marks of transactions to nobody."""
    facts = Facts()
    for line in lines:
        facts.ends[line.partition] = line.offset + 1
        if STRAY in line.headers:
            facts.strays += 1
            continue
        if line.headers.get(EXPECTED_OFFSET, str(line.offset)) != str(line.offset):
            facts.voids += 1
            continue
        try:
            message = json.loads(line.value)
            source = (message["fabric"], message["source"])
            seq = int(message["seq"])
            _note_beginning(facts, line.partition, message)
        except (ValueError, KeyError, TypeError):
            facts.unreadable += 1
            continue
        if seq <= facts.seen.get(source, -1):
            facts.repeats += 1
            continue
        facts.seen[source] = seq
        _note(facts, message)
    facts.ends |= ends or {}
    return facts


def _note_beginning(facts: Facts, partition: int, message: dict[str, Any]) -> None:
    if message["type"] == BEGINNING:
        body = message["body"]
        facts.beginnings[message["fabric"]].append(
            Beginning(message["id"], body["site"], partition, message["at_us"], body["config"])
        )


def _note(facts: Facts, message: dict[str, Any]) -> None:
    fabric, kind = message["fabric"], message["type"]
    facts.messages += 1
    facts.types[fabric, kind] += 1
    if kind == "Tick":
        facts.ticks[message["body"]["service"], fabric] += 1
    facts.last_us[fabric] = max(message["at_us"], facts.last_us.get(fabric, 0))
    if OPERATOR.fullmatch(message["id"]):
        body = message["body"]
        asked = Asked(message["id"], body.get("key"), fabric, kind, message["seq"], message["at_us"], body)
        facts.requests[asked.id].append(asked)
    if kind == "TrunksChanged":
        for one, other, links in message["body"]["links"]:
            facts.links[fabric, one, other] = links
    if kind == "RewiringPlanned":
        facts.rewirings.add(message["body"]["rewiring"])
    if kind == ENDING:
        facts.endings[fabric].append(Ending(message["id"], message["at_us"]))
    if message["cause"] is not None and OPERATOR.fullmatch(message["cause"]):
        facts.answers[message["cause"]].append(Said(kind, message["body"]))
