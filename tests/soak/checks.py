"""Compare the clients' record of requests with the log, the states and the documents: each applied exactly
once.

An audit cannot detect a request that was dropped before it reached the log, or one that was sent once and
accepted twice. These checks can. Each yields a sentence per problem.
"""

import signal
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ops.live.supervisor import GOOD_EXIT_CODES, WRONG_USAGE, exit_text
from schemas.registry import REFUSALS
from shared.basics.errors import LightwaveError
from shared.runtimes.live.process.health import EXIT_RESTART
from tests.soak.fabric_joins import JoinedFabric, RetiredFabric
from tests.soak.log_facts import CommissioningOnLog, LogFacts

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
"""Request → possible answers of its service; exactly one is on the log."""
ANSWERED_LATER = ("AbortRewiring",)
"""Requests whose answer may come later: a rewiring ends with its stage."""

READERS = {
    "failures": ("InjectFault", "ClearFault", "SetParameters"),
    "cubes": ("DrainCube", "UndrainCube"),
    "ocs": ("TestLink", "RestartOcs", "CreateCrossConnects", "RemoveCrossConnects"),
    "workload": ("RequestSlice", "ReleaseSlice"),
    "topology": ("PlanTopology", "ApproveRewiring", "AbortRewiring"),
}
DATA_LOSS_S = 30.0
"""How long after its start a fault may still make Redis lose data."""
APPENDED_S_MAX = 180.0
"""A request received longer ago than this must be on the log, unless the twin was down."""


@dataclass(frozen=True, slots=True)
class AcceptedRequest:
    """A request that the twin reported as accepted."""

    id: str
    key: str
    fabric: str
    type: str
    body: Mapping[str, Any]
    at_us: int


@dataclass(frozen=True, slots=True)
class ClientRecord:
    """The clients' record: accepted requests, keys of unsure requests, joined and retired fabrics."""

    accepted: tuple[AcceptedRequest, ...]
    unsure: frozenset[str] = frozenset()
    joined: tuple[JoinedFabric, ...] = ()
    retired: tuple[RetiredFabric, ...] = ()


@dataclass(frozen=True, slots=True)
class FinalState:
    """The final states and documents.

    `books` is (service, fabric) → source → highest seq read. `faults` and `slices` are the counts that a
    fabric's services have numbered. `positions` is (service, partition) → offset. `ticks` is (service,
    fabric) → Ticks processed, None for a service that never started. For networks, `trunks` and `blocks` are
    name → links that carry traffic, and `rewirings` the names that are shown.
    """

    drained: Mapping[str, bool]
    books: Mapping[tuple[str, str], Mapping[str, int]]
    faults: Mapping[str, int]
    slices: Mapping[str, int]
    positions: Mapping[tuple[str, int], int]
    ticks: Mapping[tuple[str, str], int | None]
    trunks: Mapping[str, int] = field(default_factory=dict)
    blocks: Mapping[str, int] = field(default_factory=dict)
    rewirings: frozenset[str] = frozenset()


def check_all(book: ClientRecord, facts: LogFacts, state: FinalState) -> list[str]:
    """Every problem in a sentence; empty if every check passes."""
    return [
        *check_accepted(book, facts),
        *check_once(book, facts),
        *check_answers(facts),
        *check_drains(facts, state),
        *check_read_positions(facts, state),
        *check_counts(facts, state),
        *check_positions(facts, state),
        *check_ticks(facts, state),
        *check_networks(facts, state),
    ]


def check_accepted(book: ClientRecord, facts: LogFacts) -> Iterator[str]:
    """Every accepted request is on the log once, with the content and time of its answer."""
    for request in book.accepted:
        rows = facts.requests.get(request.id, [])
        if len(rows) != 1:
            yield f"{request.id} ({request.type}) was accepted, but is on the log {len(rows)} times"
            continue
        row = rows[0]
        if (row.fabric, row.type, row.at_us) != (request.fabric, request.type, request.at_us):
            yield (
                f"{request.id} was accepted as {request.type} of "
                f"{request.fabric} at {request.at_us} us, but is "
                f"on the log as {row.type} of {row.fabric} at {row.at_us} us"
            )
        elif any(row.body.get(name) != value for name, value in request.body.items()):
            yield f"{request.id}: requested {dict(request.body)}, but the log has {row.body}"


def check_received(
    received: Mapping[str, float], data_lost_s: Sequence[float], facts: LogFacts
) -> Iterator[str]:
    """Every received request is on the log, unless Redis lost data before the request had to be appended.

    `data_lost_s` are the start times of faults that lose data; `received` is key → time. Monotonic clock."""
    taken = {row.key for rows in facts.requests.values() for row in rows}
    for key, at_s in received.items():
        forgotten = any(-DATA_LOSS_S <= when_s - at_s <= APPENDED_S_MAX for when_s in data_lost_s)
        if key not in taken and not forgotten:
            yield f"a request was received under the key {key}, but is not on the log"


def check_once(book: ClientRecord, facts: LogFacts) -> Iterator[str]:
    """No request is on the log twice, by id or by key, and none that no client sent. Unsure requests may be
    there."""
    for name, count in Counter(request.id for request in book.accepted).items():
        if count > 1:
            yield f"{name} was the answer to {count} requests"
    ids = {request.key: request.id for request in book.accepted}
    under: dict[str | None, list[str]] = defaultdict(list)
    for name, rows in facts.requests.items():
        if len(rows) > 1:
            yield f"{name} is on the log {len(rows)} times"
        under[rows[0].key].append(name)
    for key, names in under.items():
        if key not in ids and key not in book.unsure:
            yield f"{', '.join(names)} is on the log under the key {key}, which no operator used"
        elif len(names) > 1:
            yield f"one request is on the log as {', '.join(sorted(names))}, under the key {key}"
        elif names != [ids.get(key or "", names[0])]:
            yield f"{names[0]} is on the log under the key of {ids[key or '']}"


def repeated_drains(facts: LogFacts) -> set[str]:
    """Return the drains of cubes that an earlier request has drained: they change nothing. The operators of a
    soak plan no drains."""
    drained: set[str] = set()
    repeated: set[str] = set()
    for name, (request, *_) in facts.requests.items():
        if request.type == "DrainCube":
            cube = request.body["cube"]
            if cube in drained:
                repeated.add(name)
            drained.add(cube)
        elif request.type == "UndrainCube":
            drained.discard(request.body["cube"])
    return repeated


def check_answers(facts: LogFacts) -> Iterator[str]:
    """Each request on the log has exactly one answer, of its kind; a repeated drain has none."""
    repeated = repeated_drains(facts)
    for name, rows in facts.requests.items():
        if name in repeated and not facts.answers.get(name):
            continue
        for kind in {row.type for row in rows}:
            allowed = ANSWERS.get(kind, frozenset())
            emitted = [answer.type for answer in facts.answers.get(name, []) if answer.type in allowed]
            # A fault that expires or is repaired also names its request.
            if len(emitted) != 1 and not (kind in ANSWERED_LATER and not emitted):
                yield f"{name} ({kind}) has {len(emitted)} answers {emitted}, not one"


def check_drains(facts: LogFacts, state: FinalState) -> Iterator[str]:
    """Each cube is as its last request left it; a retired fabric has no cube documents."""
    wanted: dict[str, tuple[int, bool]] = {}
    for rows in facts.requests.values():
        request = rows[0]
        if request.type in ("DrainCube", "UndrainCube") and request.fabric not in facts.retirements:
            row = (request.number, request.type == "DrainCube")
            cube = str(request.body["cube"])
            wanted[cube] = max(row, wanted.get(cube, row))
    for cube, drained in state.drained.items():
        last = wanted.get(cube, (0, False))[1]
        if drained != last:
            yield f"{cube}: {_drained(drained)}, but its last request left it {_drained(last)}"
    for cube in wanted.keys() - state.drained.keys():
        yield f"{cube}: requests about it are on the log, but it has no document"


def _drained(drained: bool) -> str:
    return "drained" if drained else "not drained"


def check_read_positions(facts: LogFacts, state: FinalState) -> Iterator[str]:
    """Each service has read the last request of its types, and none that is not on the log."""
    last: dict[tuple[str, str], dict[str, int]] = defaultdict(dict)
    for rows in facts.requests.values():
        for row in rows:
            source = row.id.rpartition("/")[0]
            for service, kinds in READERS.items():
                if row.type in kinds:
                    sources = last[service, row.fabric]
                    sources[source] = max(row.number, sources.get(source, 0))
    for (service, fabric), book in state.books.items():
        if service not in READERS:
            continue
        read = {source: seq for source, seq in book.items() if source.startswith("operator@")}
        if read != last.get((service, fabric), {}):
            yield (
                f"{service} of {fabric} has read requests up to {read}, but the log holds "
                f"{last.get((service, fabric), {})}"
            )


def check_counts(facts: LogFacts, state: FinalState) -> Iterator[str]:
    """The counts of services equal those of the log."""
    for what, kind, numbered in (
        ("faults", "FaultBegan", state.faults),
        ("slices", "SliceRequested", state.slices),
    ):
        for fabric, count in numbered.items():
            if count != facts.types[fabric, kind]:
                yield f"{fabric}: {count} {what} were numbered, but the log holds {facts.types[fabric, kind]}"


def check_positions(facts: LogFacts, state: FinalState) -> Iterator[str]:
    """Every service has read the whole log."""
    for (service, partition), position in state.positions.items():
        if position != facts.ends.get(partition, 0):
            yield (
                f"{service} is at {position} of partition {partition}, whose log ends at "
                f"{facts.ends.get(partition, 0)}"
            )


def check_ticks(facts: LogFacts, state: FinalState) -> Iterator[str]:
    """Every service of every fabric has started, and has processed each Tick on the log once."""
    for (service, fabric), taken in state.ticks.items():
        if taken is None:
            yield f"{service} of {fabric} has never started"
        elif taken != facts.ticks[service, fabric]:
            held = facts.ticks[service, fabric]
            yield f"{service} of {fabric} has processed {taken} Ticks, but the log holds {held}"


def check_networks(facts: LogFacts, state: FinalState) -> Iterator[str]:
    """The twin shows trunks, blocks and rewirings as the log has them, and none of a retired network."""
    trunks: dict[str, int] = {}
    blocks: dict[str, int] = defaultdict(int)
    for (fabric, one, other), links in facts.links.items():
        if fabric not in facts.retirements:
            trunks[f"{fabric}/block-{one}/trunk-{other}"] = links
            for block in (one, other):
                blocks[f"{fabric}/block-{block}"] += links
    for shown, held in ((state.trunks, trunks), (state.blocks, blocks)):
        for name in sorted(shown.keys() | {name for name, links in held.items() if links}):
            if shown.get(name, 0) != held.get(name, 0):
                yield f"{name}: shown with {shown.get(name)} links, but the log has {held.get(name, 0)}"
    for name in sorted(state.rewirings - facts.rewirings):
        yield f"{name} is shown, but the log holds no plan of it"


def count_outcomes(facts: LogFacts, ids: Iterable[str]) -> tuple[int, int]:
    """(requests done, requests refused with a reason)."""
    refusals = {refusal.__name__ for refusal in REFUSALS.values()}
    refused = sum(any(answer.type in refusals for answer in facts.answers.get(name, [])) for name in ids)
    return len(facts.requests) - refused, refused


# --- fabrics: commissioned once, as requested, and retired at most once ---


def check_commissionings(
    book: ClientRecord, facts: LogFacts, initial_fabrics: Mapping[str, str]
) -> Iterator[str]:
    """A sentence for every fabric that is not commissioned exactly once, as requested, or that has no Tick.

    `initial_fabrics` is fabric → site of the fabrics that the twin was created with."""
    asked = dict(initial_fabrics) | {one.join.fabric: one.join.site for one in book.joined}
    for fabric in sorted(asked.keys() | facts.commissionings.keys()):
        rows = facts.commissionings.get(fabric, [])
        if fabric not in asked:
            yield f"{fabric} is commissioned on the log, but no operator commissioned it"
        elif len(rows) != 1:
            yield f"{fabric} of {asked[fabric]} is commissioned on the log {len(rows)} times"
        elif rows[0].site != asked[fabric]:
            yield f"{fabric} was to join {asked[fabric]}, but is on the log in {rows[0].site}"
        elif not any(count for (_, name), count in facts.ticks.items() if name == fabric):
            yield f"{fabric} of {asked[fabric]} has no Tick on the log"
    yield from _check_partitions(facts)
    for one in book.joined:
        for row in facts.commissionings.get(one.join.fabric, [])[:1]:
            yield from _check_joined(one, row)


def _check_partitions(facts: LogFacts) -> Iterator[str]:
    places: dict[str, set[int]] = {}
    for rows in facts.commissionings.values():
        for row in rows:
            places.setdefault(row.site, set()).add(row.partition)
    for site, partitions in places.items():
        if len(partitions) > 1:
            yield f"the site {site} is on partitions {sorted(partitions)}, not on one"


def _check_joined(one: JoinedFabric, row: CommissioningOnLog) -> Iterator[str]:
    join = one.join
    if (one.id, one.at_us) != (row.id, row.at_us):
        yield (
            f"{join.fabric} was accepted as {one.id} at {one.at_us} us, but is on the log as {row.id} at "
            f"{row.at_us} us"
        )
    if not matches_settings(row.config, join.settings | {"kind": join.kind}):
        yield f"{join.fabric}: requested {join.kind} {join.settings}, but the log has {row.config}"


def check_retirements(book: ClientRecord, facts: LogFacts) -> Iterator[str]:
    """A sentence for every fabric that retired and does not end once, or ended and was never to retire."""
    retired_fabrics = {one.fabric: one for one in book.retired}
    for fabric in sorted(retired_fabrics.keys() | facts.retirements.keys()):
        rows = facts.retirements.get(fabric, [])
        if fabric not in retired_fabrics:
            yield f"{fabric} is retired on the log, but no operator retired it"
        elif [(row.id, row.at_us) for row in rows] != [
            (retired_fabrics[fabric].id, retired_fabrics[fabric].at_us)
        ]:
            yield (
                f"{fabric} retired with {retired_fabrics[fabric].id} at "
                f"{retired_fabrics[fabric].at_us} us, and ends on the log "
                f"{len(rows)} times {[(row.id, row.at_us) for row in rows]}"
            )


def matches_settings(config: Any, settings: Any) -> bool:
    """Whether a configuration has the values of these settings; lists are compared row by row."""
    if isinstance(settings, list):
        same = isinstance(config, list) and len(config) == len(settings)
        return same and all(map(matches_settings, config, settings))
    if not isinstance(settings, dict):
        return bool(config == settings)
    return isinstance(config, dict) and all(
        matches_settings(config.get(name), value) for name, value in settings.items()
    )


def check_audited(facts: LogFacts, audit: Mapping[str, Any]) -> Iterator[str]:
    """The audit was of every fabric that begins on the log, each in its site."""
    begun: dict[str, set[str]] = {}
    for fabric, rows in facts.commissionings.items():
        for row in rows:
            begun.setdefault(row.site, set()).add(fabric)
    audited = {row["site"]: set(row["fabrics"]) for row in audit["sites"]}
    for site in sorted(begun.keys() | audited.keys()):
        on_log, in_audit = sorted(begun.get(site, ())), sorted(audited.get(site, ()))
        if on_log != in_audit:
            yield f"the site {site} has {', '.join(on_log)} on the log, {', '.join(in_audit)} in the audit"


def check_upgraded(sites: Sequence[str], facts: LogFacts, audit: Mapping[str, Any]) -> Iterator[str]:
    """Each of these sites has one upgrade on the log, and the audit starts there; no other site has any."""
    upgrades = {
        row["site"]: sum(facts.types[fabric, "Upgraded"] for fabric in row["fabrics"])
        for row in audit["sites"]
    }
    starts = {row["site"] for row in audit["sites"] if row["since"] is not None}
    for site in sorted(upgrades.keys() | {*sites}):
        wanted = int(site in sites)
        if upgrades.get(site, 0) != wanted:
            yield f"{site}: the log has {upgrades.get(site, 0)} upgrades, must be {wanted}"
        if (site in starts) != (site in sites):
            yield f"{site}: the audit starts at {'an upgrade' if site in starts else 'the first message'}"


# How the twin's own processes exited, judged by the signals that they received.

SELF_EXIT_CODES = {LightwaveError.exit_code, EXIT_RESTART}
"""How a process ends, with a sentence, where starting it again helps."""
TRACEBACK = "Traceback (most recent call last)"

SentSignals = Mapping[tuple[str, signal.Signals], int]
"""(process, signal) → how often it was sent."""


def check_exits(exits: Mapping[str, Sequence[int]], sent: SentSignals) -> Iterator[str]:
    """A sentence for every process that exited for another reason than a fault action, and without a
    sentence."""
    for name, codes in exits.items():
        killed, asked = sent.get((name, signal.SIGKILL), 0), sent.get((name, signal.SIGTERM), 0)
        good = [code for code in codes if code in GOOD_EXIT_CODES]
        if len(good) > asked:
            yield f"{name} ended in good order {len(good)} times, and was asked to {asked} times"
        for code, count in Counter(codes).items():
            allowed = killed if code == -signal.SIGKILL else 0
            if code not in GOOD_EXIT_CODES | SELF_EXIT_CODES and count > allowed:
                yield (
                    f"{name} ended with {exit_text(code)} {count} times, faults of the soak did so "
                    f"{allowed} times"
                )


def wrong_usage_exits(exits: Mapping[str, Sequence[int]]) -> list[str]:
    """Processes that were not restarted, because they reported wrong usage."""
    return [name for name, codes in exits.items() if codes and codes[-1] == WRONG_USAGE]


def check_logs(folder: Path) -> Iterator[str]:
    """A sentence for every process that wrote a traceback, whether it ended of it or not."""
    for log in sorted(folder.glob("*.log")):
        lines = log.read_text(errors="replace").splitlines()
        places = [number for number, line in enumerate(lines) if TRACEBACK in line]
        if places:
            raised = (line for line in lines[places[-1] + 1 :] if line and not line.startswith(" "))
            yield f"{log.stem} wrote {len(places)} tracebacks, the last of: {next(raised, 'nothing')[:300]}"
