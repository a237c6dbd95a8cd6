"""Audits a site's log in segments between snapshots, each in a worker.

A segment restores its first snapshot, folds, and compares the result with every snapshot on its way. The last
of these is the start of the next segment. The first segment starts with an empty site. By induction every
start equals the fold of the log, so all segments together prove the same as one fold of the whole log. If a
snapshot differs from the fold of the segments before it, the snapshot is wrong. The segment that started from
it is then folded again, from the previous start.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256

from joblib import Parallel, delayed

from ops.twin.site_audit import SiteAudit
from schemas.registry import Unreadable, decode
from services.fabric_kinds import services_of
from shared.basics.errors import LightwaveError, LogDamaged, OperationFailed, ServiceFailed
from shared.engine.replay import ReplayMismatch
from shared.engine.site import Site
from shared.engine.state_codec import encode_instance
from shared.runtimes.process_pool import worker_death_reported
from shared.storage.files.file_errors import file_error
from shared.storage.log.log_bytes import LogBytes
from shared.storage.snapshots.shadow_fold import Documents
from shared.storage.snapshots.site_snapshot import SiteSnapshot
from shared.storage.snapshots.snapshot_folder import SnapshotFolder

SEGMENTS_PER_WORKER = 4
"""Segments per worker: their durations vary."""
FIELDS_NAMED = 3
"""Maximum number of fields of a wrong snapshot that a sentence names."""

REPORT_EVERY = 500
"""Messages between two progress reports."""

States = Mapping[tuple[str, str], Mapping[str, bytes]]
ReportMessages = Callable[[int], None]
"""Receives the number of messages compared."""


@dataclass(frozen=True, slots=True)
class AuditedSite:
    """A site to audit: its log, fabrics and snapshots, and its stored states after the first `position`
    messages."""

    site: str
    fabrics: tuple[str, ...]
    log: LogBytes
    snapshots: SnapshotFolder
    states: States
    position: int
    begin: SiteSnapshot | None = None
    """Snapshot at the start of the fold; None: start of the log. `begin_offset` is the byte after it."""
    begin_offset: int = 0
    documents: Documents | None = None
    """The stored documents of the same time; None: they are not compared."""

    @property
    def start(self) -> int:
        """The position at which the fold starts."""
        return self.begin.position if self.begin is not None else 0

    def at(self, position: int) -> Site:
        """The site at the start of a segment."""
        if position != self.start:
            return self.snapshots.read(position).restored(services_of)
        return Site(self.site, services_of) if self.begin is None else self.begin.restored(services_of)


@dataclass(frozen=True, slots=True)
class LogSegment:
    """A segment: from position `start` (a snapshot; 0: nothing) at byte `offset` to `end` (None: end of the
    log).

    `marks` are the positions of the snapshots on the way, including the one at the end.
    """

    start: int
    offset: int
    end: int | None
    marks: tuple[int, ...]


def whole_log(audited: AuditedSite) -> LogSegment:
    """The whole log as one segment, without snapshots."""
    return LogSegment(audited.start, audited.begin_offset, None, ())


@dataclass(slots=True)
class SegmentResult:
    """The result of a segment.

    `wrong` are sentences on wrong snapshots, by position. `failed` is the error that stopped the fold; it is
    meaningful only if the segment's start is right."""

    messages: int = 0
    requests: int = 0
    dead_letters: int = 0
    difference: ReplayMismatch | None = None
    differing: list[str] = field(default_factory=list)
    wrong: dict[int, str] = field(default_factory=dict)
    failed: LightwaveError | None = None


@dataclass(slots=True)
class UsableSnapshots:
    """Snapshots at which segments may start (position → byte after it), and a sentence for each refused
    one."""

    offsets: dict[int, int] = field(default_factory=dict)
    refused: list[str] = field(default_factory=list)


def usable_snapshots(audited: AuditedSite) -> UsableSnapshots:
    """The good snapshots before the position of the states, in order."""
    found = UsableSnapshots()
    try:
        positions = [at for at in audited.snapshots.positions() if audited.start < at < audited.position]
    except OperationFailed as error:
        return UsableSnapshots(refused=[str(error)])
    ends = _line_ends(audited.log, set(positions))
    for position in positions:
        try:
            kept = audited.snapshots.read(position)
            kept.check_code(services_of)
        except OperationFailed as error:
            found.refused.append(str(error))
            continue
        if position not in ends or ends[position][1] != kept.last_sha256:
            found.refused.append(f"snapshot of position {position}: belongs to another log")
        else:
            found.offsets[position] = ends[position][0]
    return found


def _line_ends(log: LogBytes, positions: set[int]) -> dict[int, tuple[int, str]]:
    """Position → byte at which its message begins, and digest of the line before."""
    found: dict[int, tuple[int, str]] = {}
    offset = 0
    try:
        with log.opened() as file:
            for position, line in enumerate(file, 1):
                offset += len(line)
                if position in positions:
                    found[position] = offset, sha256(line.rstrip(b"\n")).hexdigest()
    except OSError as error:
        raise file_error(log.path, error) from None
    return found


def plan_segments(
    snapshots: Mapping[int, int], end: int, most: int, begin: tuple[int, int] = (0, 0)
) -> list[LogSegment]:
    """Divide a log into up to `most` segments of similar length; `begin` is the (position, byte) of its
    start."""
    marks = sorted(snapshots)
    start, offset = begin
    starts = [start]
    for n in range(1, most):
        wanted = start + (end - start) * n // most
        after = next((at for at in marks if at >= wanted and at > starts[-1]), None)
        if after is not None:
            starts.append(after)
    ends = [*starts[1:], None]
    return [
        LogSegment(
            start,
            snapshots.get(start, offset),
            stop,
            tuple(at for at in marks if start < at <= (stop or end)),
        )
        for start, stop in zip(starts, ends, strict=True)
    ]


def audit_segment(
    audited: AuditedSite, part: LogSegment, report: ReportMessages | None = None
) -> SegmentResult:
    """Fold a segment, and compare on the way."""
    folded = SegmentResult()
    try:
        site = audited.at(part.start)
        audit = SiteAudit(
            audited.site,
            audited.fabrics,
            audited.states,
            may_repeat=False,
            start=site,
            documents=audited.documents,
        )
        _fold_segment(audited, part, audit, folded, report)
        folded.requests, folded.difference, folded.differing = (
            audit.requests,
            audit.difference,
            audit.differing,
        )
    except (LogDamaged, OperationFailed, ServiceFailed) as error:
        folded.failed = error
    return folded


def _fold_segment(
    audited: AuditedSite,
    part: LogSegment,
    audit: SiteAudit,
    folded: SegmentResult,
    report: ReportMessages | None,
) -> None:
    torn = 0
    for position, line in enumerate(audited.log.lines(part.offset), part.start):
        folded.dead_letters += torn
        torn = 0
        if position == part.end:
            return
        try:
            message = decode(line)
        except Unreadable:
            torn = 1  # a dead letter, unless it is the end of a log that is being written
        else:
            if not audit.feed(position, message):
                return
        folded.messages += 1
        if report is not None and folded.messages % REPORT_EVERY == 0:
            report(folded.messages)
        if position + 1 in part.marks:
            _compare_with(audited, audit, folded, position + 1)
        if position + 1 == audited.position:
            audit.compare()


def _compare_with(audited: AuditedSite, audit: SiteAudit, folded: SegmentResult, position: int) -> None:
    differs = snapshot_difference(audit, audited.snapshots.read(position))
    if differs is not None:
        folded.wrong[position] = (
            f"snapshot of position {position}: differs from the fold of the log ({differs}); the "
            "snapshot is wrong, not the log: delete it"
        )


def snapshot_difference(audit: SiteAudit, kept: SiteSnapshot) -> str | None:
    """The difference between a snapshot and the fold; None if they are equal."""
    site = audit.replay.site
    if audit.replay.pending:
        return "it was taken before all outputs were recorded"
    if kept.at_us != site.now_us:
        return f"its time is {kept.at_us}, not {site.now_us}"
    gives = {(one.name, one.fabric): encode_instance(one) for one in site.instances}
    named = [
        f"{service}@{fabric}: {name}"
        for service, fabric in sorted(gives.keys() | kept.states.keys())
        for name in _differing(gives.get((service, fabric), {}), kept.states.get((service, fabric), {}))
    ]
    more = f" and {len(named) - FIELDS_NAMED} more" if len(named) > FIELDS_NAMED else ""
    return ", ".join(named[:FIELDS_NAMED]) + more if named else None


def _differing(one: Mapping[str, bytes], other: Mapping[str, bytes]) -> list[str]:
    return [name for name in sorted(one.keys() | other.keys()) if one.get(name) != other.get(name)]


def audit_segments(
    audited: AuditedSite, snapshots: Mapping[int, int], jobs: int, report: ReportMessages
) -> list[SegmentResult]:
    """Results of the segments up to the first difference, in order, each from a verified start."""
    begin = audited.start, audited.begin_offset
    parts = plan_segments(snapshots, audited.position, jobs * SEGMENTS_PER_WORKER, begin)
    found: list[SegmentResult] = []
    trusted: list[LogSegment] = []
    """The segments whose starts are verified."""
    workers = Parallel(n_jobs=min(jobs, len(parts)), return_as="generator", batch_size=1)
    with worker_death_reported():
        running = workers(delayed(audit_segment)(audited, part) for part in parts)
        for next_part, next_folded in zip(parts, running, strict=False):
            part, folded = next_part, next_folded
            if found and part.start in found[-1].wrong:
                # Its start was wrong: fold it again with the segment before, whose start is verified.
                part = _join_segments(trusted.pop(), part)
                found.pop()
                folded = audit_segment(audited, part)
            found.append(folded)
            trusted.append(part)
            report(sum(one.messages for one in found))
            if folded.failed is not None or folded.difference is not None:
                break
    return found


def _join_segments(before: LogSegment, part: LogSegment) -> LogSegment:
    return replace(before, end=part.end, marks=(*before.marks, *part.marks))


def merge_results(found: Sequence[SegmentResult]) -> SegmentResult:
    """Merge the results of all segments; raises the error of the last one, if it failed."""
    last = found[-1]
    if last.failed is not None:
        raise last.failed
    return SegmentResult(
        messages=sum(one.messages for one in found),
        requests=sum(one.requests for one in found),
        dead_letters=sum(one.dead_letters for one in found),
        difference=last.difference,
        differing=last.differing,
        wrong={at: sentence for one in found for at, sentence in one.wrong.items()},
    )
