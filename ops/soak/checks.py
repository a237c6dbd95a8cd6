"""The clients' own book of requests against the log, the states and the documents: each applied exactly once.

An audit cannot see a request that was silently dropped before it reached the log, nor one that a client sent
once and the twin took twice. These rules can. Each yields a sentence for every problem that it finds.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ops.soak.facts import Facts
from ops.soak.joins import Joined, Retired
from schemas.registry import REFUSALS

ANSWERS: Mapping[str, frozenset[str]] = {
    "InjectFault": frozenset({"FaultBegan", "FaultRefused"}),
    "ClearFault": frozenset({"FaultEnded", "FaultRefused"}),
    "DrainCube": frozenset({"CubeDrained", "DrainRefused"}),
    "UndrainCube": frozenset({"CubeUndrained", "DrainRefused"}),
    "SetParameters": frozenset({"ParametersChanged", "ParametersRefused"}),
    "RestartOcs": frozenset({"OcsRestarting", "RestartRefused"}),
    "CreateCrossConnects": frozenset({"CrossConnectsTaken", "CrossConnectsRefused"}),
    "RemoveCrossConnects": frozenset({"CrossConnectsRemoved", "CrossConnectsRefused"}),
    "TestLink": frozenset({"LinkLooped", "LinkTestRefused"}),
    "RequestSlice": frozenset({"SliceRequested"}),
    "ReleaseSlice": frozenset({"SliceReleased", "ReleaseRefused"}),
    "PlanTopology": frozenset({"RewiringPlanned", "TopologyKept", "PlanRefused"}),
    "ApproveRewiring": frozenset({"RewiringApproved", "PlanRefused"}),
    "AbortRewiring": frozenset({"RewiringEnded", "PlanRefused"}),
}
"""Request → what its service says to it, exactly one of them."""
ANSWERED_LATER = ("AbortRewiring",)
"""Those whose answer may still be to come: a rewiring ends with its stage."""

READERS = {
    "failures": ("InjectFault", "ClearFault", "SetParameters"),
    "cubes": ("DrainCube", "UndrainCube"),
    "ocs": ("TestLink", "RestartOcs", "CreateCrossConnects", "RemoveCrossConnects"),
    "workload": ("RequestSlice", "ReleaseSlice"),
    "topology": ("PlanTopology", "ApproveRewiring", "AbortRewiring"),
}
FORGETS_S = 30.0
"""How long after its beginning a strike may still make Redis forget."""
TAKEN_S_MAX = 180.0
"""What was received so long ago stands on the log, or the twin had not lived meanwhile."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """A request that the twin said it had accepted."""

    id: str
    key: str
    fabric: str
    type: str
    body: Mapping[str, Any]
    at_us: int


@dataclass(frozen=True, slots=True)
class Book:
    """What clients know: requests accepted, keys of unsure ones, fabrics that joined and that retired."""

    accepted: tuple[Accepted, ...]
    unsure: frozenset[str] = frozenset()
    joined: tuple[Joined, ...] = ()
    retired: tuple[Retired, ...] = ()


@dataclass(frozen=True, slots=True)
class Stand:
    """What states and documents say. `books` is (service, fabric) → source → highest seq read; `faults` and
    `slices` are how many a fabric's services have numbered; `positions` is (service, partition) → offset;
    `ticks` is (service, fabric) → Ticks taken, None for one that never began. Of networks, `trunks` and
    `blocks` have by name how many links carry traffic, `rewirings` the names of those that are shown."""

    drained: Mapping[str, bool]
    books: Mapping[tuple[str, str], Mapping[str, int]]
    faults: Mapping[str, int]
    slices: Mapping[str, int]
    positions: Mapping[tuple[str, int], int]
    ticks: Mapping[tuple[str, str], int | None]
    trunks: Mapping[str, int] = field(default_factory=dict)
    blocks: Mapping[str, int] = field(default_factory=dict)
    rewirings: frozenset[str] = frozenset()


def check_all(book: Book, facts: Facts, stand: Stand) -> list[str]:
    """Every problem in a sentence; none if all is as it must be."""
    return [
        *check_accepted(book, facts),
        *check_once(book, facts),
        *check_answers(facts),
        *check_drains(facts, stand),
        *check_books(facts, stand),
        *check_counts(facts, stand),
        *check_positions(facts, stand),
        *check_ticks(facts, stand),
        *check_networks(facts, stand),
    ]


def check_accepted(book: Book, facts: Facts) -> Iterator[str]:
    """What was accepted stands on the log, once, as it was asked for and at the time that was told."""
    for asked in book.accepted:
        rows = facts.requests.get(asked.id, [])
        if len(rows) != 1:
            yield f"{asked.id} ({asked.type}) was accepted, and stands on the log {len(rows)} times"
            continue
        row = rows[0]
        if (row.fabric, row.type, row.at_us) != (asked.fabric, asked.type, asked.at_us):
            yield (
                f"{asked.id} was accepted as {asked.type} of {asked.fabric} at {asked.at_us} us, and stands "
                f"on the log as {row.type} of {row.fabric} at {row.at_us} us"
            )
        elif any(row.body.get(name) != value for name, value in asked.body.items()):
            yield f"{asked.id}: asked for {dict(asked.body)}, on the log {row.body}"


def check_received(received: Mapping[str, float], forgot_s: Sequence[float], facts: Facts) -> Iterator[str]:
    """What was received stands on the log, unless Redis was made to forget (`forgot_s`, when such strikes
    began) before it must have been appended. `received` is key → when; all by the monotonic clock."""
    taken = {row.key for rows in facts.requests.values() for row in rows}
    for key, at_s in received.items():
        forgotten = any(-FORGETS_S <= when_s - at_s <= TAKEN_S_MAX for when_s in forgot_s)
        if key not in taken and not forgotten:
            yield f"a request was received under the key {key}, and does not stand on the log"


def check_once(book: Book, facts: Facts) -> Iterator[str]:
    """Nothing stands on the log twice, under one id or under one key, and nothing that nobody asked for. What
    is unsure may stand there or not."""
    for name, count in Counter(asked.id for asked in book.accepted).items():
        if count > 1:
            yield f"{name} was the answer to {count} requests"
    ids = {asked.key: asked.id for asked in book.accepted}
    under: dict[str | None, list[str]] = defaultdict(list)
    for name, rows in facts.requests.items():
        if len(rows) > 1:
            yield f"{name} stands on the log {len(rows)} times"
        under[rows[0].key].append(name)
    for key, names in under.items():
        if key not in ids and key not in book.unsure:
            yield f"{', '.join(names)} stands on the log under the key {key}, which nobody asked under"
        elif len(names) > 1:
            yield f"one request stands on the log as {', '.join(sorted(names))}, under the key {key}"
        elif names != [ids.get(key or "", names[0])]:
            yield f"{names[0]} stands on the log under the key of {ids[key or '']}"


def check_answers(facts: Facts) -> Iterator[str]:
    """Each request on the log has one answer, of its own kind."""
    for name, rows in facts.requests.items():
        for kind in {row.type for row in rows}:
            allowed = ANSWERS.get(kind, frozenset())
            told = [said.type for said in facts.answers.get(name, []) if said.type in allowed]
            # A fault that expires, or is repaired, names the request that began it as well.
            if len(told) != 1 and not (kind in ANSWERED_LATER and not told):
                yield f"{name} ({kind}) has {len(told)} answers {told}, not one"


def check_drains(facts: Facts, stand: Stand) -> Iterator[str]:
    """Each cube is as the last request about it left it; of a fabric that retired none has a document."""
    wanted: dict[str, tuple[int, bool]] = {}
    for rows in facts.requests.values():
        asked = rows[0]
        if asked.type in ("DrainCube", "UndrainCube") and asked.fabric not in facts.endings:
            row = (asked.number, asked.type == "DrainCube")
            cube = str(asked.body["cube"])
            wanted[cube] = max(row, wanted.get(cube, row))
    for cube, drained in stand.drained.items():
        last = wanted.get(cube, (0, False))[1]
        if drained != last:
            yield f"{cube}: {_drained(drained)}, its last request left it {_drained(last)}"
    for cube in wanted.keys() - stand.drained.keys():
        yield f"{cube}: requests about it stand on the log, and it has no document"


def _drained(drained: bool) -> str:
    return "drained" if drained else "not drained"


def check_books(facts: Facts, stand: Stand) -> Iterator[str]:
    """Each service has read the last request of its kinds, and none that is not on the log."""
    last: dict[tuple[str, str], dict[str, int]] = defaultdict(dict)
    for rows in facts.requests.values():
        for row in rows:
            source = row.id.rpartition("/")[0]
            for service, kinds in READERS.items():
                if row.type in kinds:
                    sources = last[service, row.fabric]
                    sources[source] = max(row.number, sources.get(source, 0))
    for (service, fabric), book in stand.books.items():
        if service not in READERS:
            continue
        read = {source: seq for source, seq in book.items() if source.startswith("operator@")}
        if read != last.get((service, fabric), {}):
            yield (
                f"{service} of {fabric} has read requests up to {read}, the log holds "
                f"{last.get((service, fabric), {})}"
            )


def check_counts(facts: Facts, stand: Stand) -> Iterator[str]:
    """What services have numbered is what the log holds."""
    for what, kind, numbered in (
        ("faults", "FaultBegan", stand.faults),
        ("slices", "SliceRequested", stand.slices),
    ):
        for fabric, count in numbered.items():
            if count != facts.types[fabric, kind]:
                yield f"{fabric}: {count} {what} were numbered, the log holds {facts.types[fabric, kind]}"


def check_positions(facts: Facts, stand: Stand) -> Iterator[str]:
    """All services have read all of the log."""
    for (service, partition), position in stand.positions.items():
        if position != facts.ends.get(partition, 0):
            yield (
                f"{service} stands at {position} of partition {partition}, whose log ends at "
                f"{facts.ends.get(partition, 0)}"
            )


def check_ticks(facts: Facts, stand: Stand) -> Iterator[str]:
    """Every service of every fabric has begun, and has taken each Tick on the log once."""
    for (service, fabric), taken in stand.ticks.items():
        if taken is None:
            yield f"{service} of {fabric} has never begun"
        elif taken != facts.ticks[service, fabric]:
            held = facts.ticks[service, fabric]
            yield f"{service} of {fabric} has taken {taken} Ticks, the log holds {held}"


def check_networks(facts: Facts, stand: Stand) -> Iterator[str]:
    """Trunks, blocks and rewirings are shown as the log leaves them; of a network that retired none is."""
    trunks: dict[str, int] = {}
    blocks: dict[str, int] = defaultdict(int)
    for (fabric, one, other), links in facts.links.items():
        if fabric not in facts.endings:
            trunks[f"{fabric}/block-{one}/trunk-{other}"] = links
            for block in (one, other):
                blocks[f"{fabric}/block-{block}"] += links
    for shown, held in ((stand.trunks, trunks), (stand.blocks, blocks)):
        for name in sorted(shown.keys() | {name for name, links in held.items() if links}):
            if shown.get(name, 0) != held.get(name, 0):
                yield f"{name}: shown with {shown.get(name)} links, the log left it {held.get(name, 0)}"
    for name in sorted(stand.rewirings - facts.rewirings):
        yield f"{name} is shown, and the log holds no plan of it"


def count_outcomes(facts: Facts, ids: Iterable[str]) -> tuple[int, int]:
    """(requests that were done, requests that were refused with a reason)."""
    refusals = {refusal.__name__ for refusal in REFUSALS.values()}
    refused = sum(any(said.type in refusals for said in facts.answers.get(name, [])) for name in ids)
    return len(facts.requests) - refused, refused
