"""The tables that every report of a drill has: what was done, measured, broken and ended.

A record is a DrillJournal, or the JSON of one (`lightwave` of a journal) as the client reads it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ops.drills.measured_text import measured_texts
from shared.basics.time_format import format_duration, format_gap, format_time

if TYPE_CHECKING:
    from schemas.api.drill_journal import DrillJournal, ProbeRecord

VALUES_SHOWN = 3
"""Maximum number of compared values in a cell."""


@dataclass(frozen=True, slots=True)
class ReportTable:
    """A table with a title. `failed` has the numbers of rows that report a problem."""

    title: str
    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    failed: frozenset[int] = frozenset()


def verdict_sentence(record: "DrillJournal") -> str:
    """The result in one sentence."""
    if record.status is None:
        phase = record.phases[-1].phase if record.phases else "start"
        return f"{record.drill} is running, in its phase {phase}{_deviation_clause(record)}."
    why = f": {record.reason}" if record.reason and record.status != "completed" else ""
    if record.status == "failed":
        return f"{record.drill} failed to run{why}. It says nothing about the system."
    if record.status == "cancelled":
        return f"{record.drill} was cancelled before its first step{why}."
    if record.status == "stopped":
        return f"{record.drill} was stopped and undone{why}{_deviation_clause(record)}."
    if record.deviated:
        return f"{record.drill} completed{_deviation_clause(record)}."
    if not record.probes:
        return f"{record.drill} completed; it has no hypothesis, so only its steps were tested."
    blind = [probe for probe in record.probes if probe.verdict == "not-measured"]
    if blind:
        names = ", ".join(dict.fromkeys(f"{probe_name(probe)} ({probe.phase})" for probe in blind))
        return f"{record.drill} completed without a deviation, but was not measured all the time: {names}."
    return f"{record.drill} completed without a deviation."


def _deviation_clause(record: "DrillJournal") -> str:
    deviated = [probe for probe in record.probes if probe.deviated]
    if not deviated:
        return ""
    names = ", ".join(dict.fromkeys(probe_name(probe) for probe in deviated))
    return f"; the system deviated from its hypothesis: {names}"


def report_facts(record: "DrillJournal") -> list[tuple[str, str]]:
    """(word, fact) that identify the drill."""
    facts = [
        ("drill", f"{record.drill}: {record.title}"),
        ("document", f"sha256 {record.document_sha256}"),
        ("seed", str(record.seed)),
        ("began", format_time(record.began_us)),
        ("lasted", "-" if record.ended_us is None else format_duration(record.ended_us - record.began_us)),
        ("lease until", format_time(record.lease_ends_us)),
        ("log", f"messages {record.positions.first} to {record.positions.last} of the site"),
        ("requested by", record.asked_by or "-"),
    ]
    if record.comment:
        facts.append(("comment", record.comment))
    if record.stop is not None:
        by = f" by {record.stop.by}" if record.stop.by else ""
        facts.append(
            ("stopped", f"{format_time(record.stop.at_us)}{by}, {record.stop.cause}: {record.stop.reason}")
        )
    if record.left:
        facts.append(("left behind", ", ".join(record.left)))
    facts.append(("software", record.software))
    return facts


def report_tables(record: "DrillJournal") -> list[ReportTable]:
    """The tables of a report; those without rows are left out."""
    tables = [_probe_table(record), _step_table(record), _fault_table(record), _undo_table(record)]
    tables += [_limit_table(record), _target_table(record)]
    return [table for table in tables if table.rows]


def probe_name(probe: "ProbeRecord") -> str:
    """The name of a probe, with the resource for which it is measured."""
    return probe.probe if probe.target is None else f"{probe.probe} of {probe.target}"


def values_text(values: Sequence[str]) -> str:
    """The first measured values."""
    shown = measured_texts(values)
    more = len(shown) - VALUES_SHOWN
    return ", ".join(shown[:VALUES_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _probe_table(record: "DrillJournal") -> ReportTable:
    rows = tuple(
        (
            probe.phase,
            probe_name(probe),
            probe.verdict,
            _span(probe.violated_us),
            _span(probe.allowed_us),
            "yes" if probe.deviated else "no",
            values_text(probe.changes[-1].compared) if probe.changes else "-",
        )
        for probe in record.probes
    )
    failed = frozenset(n for n, probe in enumerate(record.probes) if probe.deviated)
    headers = ("PHASE", "PROBE", "VERDICT", "VIOLATED", "ALLOWED", "DEVIATED", "LAST-VALUES")
    return ReportTable("Hypothesis", headers, rows, failed)


def _step_table(record: "DrillJournal") -> ReportTable:
    rows = tuple(
        (
            format_time(step.began_us),
            step.step if step.repeat == 1 else f"{step.step} #{step.repeat}",
            step.verb or step.what,
            step.outcome or "running",
            step.reason or "-",
        )
        for step in record.steps
    )
    failed = frozenset(n for n, step in enumerate(record.steps) if step.outcome in ("refused", "failed"))
    return ReportTable("Steps", ("BEGAN", "STEP", "VERB", "OUTCOME", "REASON"), rows, failed)


def _fault_table(record: "DrillJournal") -> ReportTable:
    rows = tuple(
        (
            fault.fault,
            fault.kind,
            fault.target,
            format_time(fault.began_us),
            "-" if fault.ended_us is None else _span(fault.ended_us - fault.began_us),
            fault.how or "active",
        )
        for fault in record.faults
    )
    failed = frozenset(
        n for n, fault in enumerate(record.faults) if fault.how is None and record.status is not None
    )
    return ReportTable("Faults", ("FAULT", "KIND", "TARGET", "BEGAN", "LASTED", "ENDED-BY"), rows, failed)


def _undo_table(record: "DrillJournal") -> ReportTable:
    rows = tuple(
        (format_time(undo.at_us), undo.type, undo.subject or "-", undo.step, undo.reason or "done")
        for undo in record.undo
    )
    failed = frozenset(n for n, undo in enumerate(record.undo) if undo.subject in record.left)
    return ReportTable("Undo", ("AT", "REQUEST", "SUBJECT", "OF-STEP", "OUTCOME"), rows, failed)


def _limit_table(record: "DrillJournal") -> ReportTable:
    rows = tuple(
        (limit.what, "not logged" if limit.reached is None else str(limit.reached), str(limit.at_most))
        for limit in record.limits
    )
    failed = frozenset(
        n
        for n, limit in enumerate(record.limits)
        if limit.reached is not None and limit.reached > limit.at_most
    )
    return ReportTable("Limits", ("LIMIT", "REACHED", "AT-MOST"), rows, failed)


def _target_table(record: "DrillJournal") -> ReportTable:
    rows = tuple((target.target, ", ".join(target.names)) for target in record.targets)
    return ReportTable("Targets", ("TARGET", "DRAWN"), rows)


def _span(us: int) -> str:
    return format_gap(us) if us else "0s"
