"""The clients' own book of requests against the log, the states and the documents: each applied exactly once.

An audit cannot see a request that was silently dropped before it reached the log, nor one that a client sent
once and the twin took twice. These rules can. Each yields a sentence for every problem that it finds.
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
DATA_LOSS_S = 30.0
"""How long after its beginning a strike may still make Redis forget."""
APPENDED_S_MAX = 180.0
"""What was received so long ago stands on the log, or the twin had not lived meanwhile."""


@dataclass(frozen=True, slots=True)
class AcceptedRequest:
    """A request that the twin said it had accepted."""

    id: str
    key: str
    fabric: str
    type: str
    body: Mapping[str, Any]
    at_us: int


@dataclass(frozen=True, slots=True)
class ClientRecord:
    """What clients know: requests accepted, keys of unsure ones, fabrics that joined and that retired."""

    accepted: tuple[AcceptedRequest, ...]
    unsure: frozenset[str] = frozenset()
    joined: tuple[JoinedFabric, ...] = ()
    retired: tuple[RetiredFabric, ...] = ()


@dataclass(frozen=True, slots=True)
class FinalState:
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


def check_all(book: ClientRecord, facts: LogFacts, state: FinalState) -> list[str]:
    """Every problem in a sentence; none if all is as it must be."""
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
    """What was accepted stands on the log, once, as it was asked for and at the time that was told."""
    for request in book.accepted:
        rows = facts.requests.get(request.id, [])
        if len(rows) != 1:
            yield f"{request.id} ({request.type}) was accepted, and stands on the log {len(rows)} times"
            continue
        row = rows[0]
        if (row.fabric, row.type, row.at_us) != (request.fabric, request.type, request.at_us):
            yield (
                f"{request.id} was accepted as {request.type} of "
                f"{request.fabric} at {request.at_us} us, and stands "
                f"on the log as {row.type} of {row.fabric} at {row.at_us} us"
            )
        elif any(row.body.get(name) != value for name, value in request.body.items()):
            yield f"{request.id}: asked for {dict(request.body)}, on the log {row.body}"


def check_received(
    received: Mapping[str, float], data_lost_s: Sequence[float], facts: LogFacts
) -> Iterator[str]:
    """What was received stands on the log, unless Redis was made to forget (`forgot_s`, when such strikes
    began) before it must have been appended. `received` is key → when; all by the monotonic clock."""
    taken = {row.key for rows in facts.requests.values() for row in rows}
    for key, at_s in received.items():
        forgotten = any(-DATA_LOSS_S <= when_s - at_s <= APPENDED_S_MAX for when_s in data_lost_s)
        if key not in taken and not forgotten:
            yield f"a request was received under the key {key}, and does not stand on the log"


def check_once(book: ClientRecord, facts: LogFacts) -> Iterator[str]:
    """Nothing stands on the log twice, under one id or under one key, and nothing that nobody asked for. What
    is unsure may stand there or not."""
    for name, count in Counter(request.id for request in book.accepted).items():
        if count > 1:
            yield f"{name} was the answer to {count} requests"
    ids = {request.key: request.id for request in book.accepted}
    under: dict[str | None, list[str]] = defaultdict(list)
    for name, rows in facts.requests.items():
        if len(rows) > 1:
            yield f"{name} stands on the log {len(rows)} times"
        under[rows[0].key].append(name)
    for key, names in under.items():
        if key not in ids and key not in book.unsure:
            yield f"{', '.join(names)} is on the log under the key {key}, which no operator used"
        elif len(names) > 1:
            yield f"one request stands on the log as {', '.join(sorted(names))}, under the key {key}"
        elif names != [ids.get(key or "", names[0])]:
            yield f"{names[0]} stands on the log under the key of {ids[key or '']}"


def check_answers(facts: LogFacts) -> Iterator[str]:
    """Each request on the log has one answer, of its own kind."""
    for name, rows in facts.requests.items():
        for kind in {row.type for row in rows}:
            allowed = ANSWERS.get(kind, frozenset())
            emitted = [answer.type for answer in facts.answers.get(name, []) if answer.type in allowed]
            # A fault that expires, or is repaired, names the request that began it as well.
            if len(emitted) != 1 and not (kind in ANSWERED_LATER and not emitted):
                yield f"{name} ({kind}) has {len(emitted)} answers {emitted}, not one"


def check_drains(facts: LogFacts, state: FinalState) -> Iterator[str]:
    """Each cube is as the last request about it left it; of a fabric that retired none has a document."""
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
            yield f"{cube}: {_drained(drained)}, its last request left it {_drained(last)}"
    for cube in wanted.keys() - state.drained.keys():
        yield f"{cube}: requests about it stand on the log, and it has no document"


def _drained(drained: bool) -> str:
    return "drained" if drained else "not drained"


def check_read_positions(facts: LogFacts, state: FinalState) -> Iterator[str]:
    """Each service has read the last request of its kinds, and none that is not on the log."""
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
                f"{service} of {fabric} has read requests up to {read}, the log holds "
                f"{last.get((service, fabric), {})}"
            )


def check_counts(facts: LogFacts, state: FinalState) -> Iterator[str]:
    """What services have numbered is what the log holds."""
    for what, kind, numbered in (
        ("faults", "FaultBegan", state.faults),
        ("slices", "SliceRequested", state.slices),
    ):
        for fabric, count in numbered.items():
            if count != facts.types[fabric, kind]:
                yield f"{fabric}: {count} {what} were numbered, the log holds {facts.types[fabric, kind]}"


def check_positions(facts: LogFacts, state: FinalState) -> Iterator[str]:
    """All services have read all of the log."""
    for (service, partition), position in state.positions.items():
        if position != facts.ends.get(partition, 0):
            yield (
                f"{service} stands at {position} of partition {partition}, whose log ends at "
                f"{facts.ends.get(partition, 0)}"
            )


def check_ticks(facts: LogFacts, state: FinalState) -> Iterator[str]:
    """Every service of every fabric has begun, and has taken each Tick on the log once."""
    for (service, fabric), taken in state.ticks.items():
        if taken is None:
            yield f"{service} of {fabric} has never begun"
        elif taken != facts.ticks[service, fabric]:
            held = facts.ticks[service, fabric]
            yield f"{service} of {fabric} has taken {taken} Ticks, the log holds {held}"


def check_networks(facts: LogFacts, state: FinalState) -> Iterator[str]:
    """Trunks, blocks and rewirings are shown as the log leaves them; of a network that retired none is."""
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
                yield f"{name}: shown with {shown.get(name)} links, the log left it {held.get(name, 0)}"
    for name in sorted(state.rewirings - facts.rewirings):
        yield f"{name} is shown, and the log holds no plan of it"


def count_outcomes(facts: LogFacts, ids: Iterable[str]) -> tuple[int, int]:
    """(requests that were done, requests that were refused with a reason)."""
    refusals = {refusal.__name__ for refusal in REFUSALS.values()}
    refused = sum(any(answer.type in refusals for answer in facts.answers.get(name, [])) for name in ids)
    return len(facts.requests) - refused, refused


# The fabrics of a soak against the log and the audit: each begins once, as it was asked for, lives, and ends
# once if it retires.


def check_commissionings(
    book: ClientRecord, facts: LogFacts, initial_fabrics: Mapping[str, str]
) -> Iterator[str]:
    """A sentence for every fabric that does not begin once, is not what was asked for, or does not live.
    `begun_with` is fabric → site of those that the twin was made with."""
    asked = dict(initial_fabrics) | {one.join.fabric: one.join.site for one in book.joined}
    for fabric in sorted(asked.keys() | facts.commissionings.keys()):
        rows = facts.commissionings.get(fabric, [])
        if fabric not in asked:
            yield f"{fabric} is commissioned on the log, but no operator commissioned it"
        elif len(rows) != 1:
            yield f"{fabric} of {asked[fabric]} begins on the log {len(rows)} times"
        elif rows[0].site != asked[fabric]:
            yield f"{fabric} was to join {asked[fabric]}, and begins on the log in {rows[0].site}"
        elif not any(count for (_, name), count in facts.ticks.items() if name == fabric):
            yield f"{fabric} of {asked[fabric]} has no Tick on the log"
    yield from _check_partitions(facts)
    for one in book.joined:
        for row in facts.commissionings.get(one.join.fabric, [])[:1]:
            yield from _check_joined(one, row)


def _check_partitions(facts: LogFacts) -> Iterator[str]:
    lives: dict[str, set[int]] = {}
    for rows in facts.commissionings.values():
        for row in rows:
            lives.setdefault(row.site, set()).add(row.partition)
    for site, partitions in lives.items():
        if len(partitions) > 1:
            yield f"the site {site} is on partitions {sorted(partitions)}, not on one"


def _check_joined(one: JoinedFabric, row: CommissioningOnLog) -> Iterator[str]:
    join = one.join
    if (one.id, one.at_us) != (row.id, row.at_us):
        yield (
            f"{join.fabric} was accepted as {one.id} at {one.at_us} us, and stands on the log as {row.id} at "
            f"{row.at_us} us"
        )
    if not matches_settings(row.config, join.settings | {"kind": join.kind}):
        yield f"{join.fabric}: asked for {join.kind} {join.settings}, on the log {row.config}"


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
    """Whether a configuration is what these settings say, whatever else it says; of a list, row by row."""
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


# How the twin's own processes ended, judged by what was sent to them.

SELF_EXIT_CODES = {LightwaveError.exit_code, EXIT_RESTART}
"""How a process ends, with a sentence, where starting it again helps."""
TRACEBACK = "Traceback (most recent call last)"

SentSignals = Mapping[tuple[str, signal.Signals], int]
"""(process, signal) → how often it was sent."""


def check_exits(exits: Mapping[str, Sequence[int]], sent: SentSignals) -> Iterator[str]:
    """A sentence for every process that ended otherwise than strikes made it, or than with a sentence."""
    for name, codes in exits.items():
        killed, asked = sent.get((name, signal.SIGKILL), 0), sent.get((name, signal.SIGTERM), 0)
        good = [code for code in codes if code in GOOD_EXIT_CODES]
        if len(good) > asked:
            yield f"{name} ended in good order {len(good)} times, and was asked to {asked} times"
        for code, count in Counter(codes).items():
            allowed = killed if code == -signal.SIGKILL else 0
            if code not in GOOD_EXIT_CODES | SELF_EXIT_CODES and count > allowed:
                yield (
                    f"{name} ended with {exit_text(code)} {count} times, strikes made it do so "
                    f"{allowed} times"
                )


def wrong_usage_exits(exits: Mapping[str, Sequence[int]]) -> list[str]:
    """Processes that were given up, for they said that their use is wrong."""
    return [name for name, codes in exits.items() if codes and codes[-1] == WRONG_USAGE]


def check_logs(folder: Path) -> Iterator[str]:
    """A sentence for every process that wrote a traceback, whether it ended of it or not."""
    for log in sorted(folder.glob("*.log")):
        lines = log.read_text(errors="replace").splitlines()
        places = [number for number, line in enumerate(lines) if TRACEBACK in line]
        if places:
            raised = (line for line in lines[places[-1] + 1 :] if line and not line.startswith(" "))
            yield f"{log.stem} wrote {len(places)} tracebacks, the last of: {next(raised, 'nothing')[:300]}"
