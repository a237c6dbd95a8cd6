"""The report of a drill as one self-contained HTML page without scripts."""

from html import escape
from typing import TYPE_CHECKING

from ops.drills.measured_text import measured_texts
from ops.drills.report_tables import ReportTable, report_facts, report_tables, verdict_sentence
from ops.report.html_shell import html_page, legend, paragraph, table, table_row
from ops.report.safe_text import without_control
from shared.basics.time_format import format_time

if TYPE_CHECKING:
    from schemas.api.drill_journal import DrillJournal, ProbeRecord

WIDTH, LEFT, ROW, BOTTOM = 1_000, 300, 22, 24
COLOURS = {"passed": "#4f9bd9", "violated": "#c0392b", "not-measured": "#b8b8b8"}
"""Verdict → colour; distinguishable for colour-blind readers, and every bar has its words as a title."""
FAULT_COLOUR = "#e08e45"
PHASE_COLOURS = ("#ffffff", "#f3f3f3")


def html_report(record: "DrillJournal") -> str:
    """The whole page."""
    sections = [paragraph(verdict_sentence(record), "answer"), _facts(record)]
    if record.phases and record.probes:
        sections += [
            "<h2>Timeline</h2>",
            _chart(record),
            legend((colour, verdict) for verdict, colour in COLOURS.items()),
        ]
    sections += [_section(found) for found in report_tables(record)]
    return without_control(html_page(f"{record.drill}: {record.title}", sections))


def _facts(record: "DrillJournal") -> str:
    rows = [table_row((escape(word), escape(fact))) for word, fact in report_facts(record)]
    return f"<table><tbody>\n{''.join(rows)}\n</tbody></table>"


def _section(found: ReportTable) -> str:
    rows = [
        table_row([escape(cell) for cell in row], attributes=' class="no"' if n in found.failed else "")
        for n, row in enumerate(found.rows)
    ]
    return f"<h2>{escape(found.title)}</h2>\n{table(found.headers, rows)}"


def _chart(record: "DrillJournal") -> str:
    """One line for each probe and fault over the phases of the drill."""
    lines: list[tuple[str, list[tuple[int, int, str, str]]]] = []
    end_us = _end_us(record)
    for name in dict.fromkeys((probe.probe, probe.target) for probe in record.probes):
        own = [probe for probe in record.probes if (probe.probe, probe.target) == name]
        label = name[0] if name[1] is None else f"{name[0]} {name[1]}"
        lines.append((label, [bar for probe in own for bar in _probe_bars(record, probe, end_us)]))
    for fault in record.faults:
        words = f"{fault.fault}: {fault.how or 'active'}"
        bar = fault.began_us, fault.ended_us or end_us, FAULT_COLOUR, words
        lines.append((f"{fault.kind} {fault.target}", [bar]))
    height = ROW * (len(lines) + 1)
    scale = (WIDTH - LEFT) / max(1, end_us - record.began_us)

    def x(at_us: int) -> float:
        return LEFT + (at_us - record.began_us) * scale

    shapes = []
    for n, span in enumerate(record.phases):
        width = x(span.to_us or end_us) - x(span.from_us)
        shapes.append(
            f'<rect x="{x(span.from_us):.1f}" y="0" width="{width:.1f}" height="{height}" '
            f'fill="{PHASE_COLOURS[n % 2]}"><title>{span.phase}</title></rect>'
            f'<text x="{x(span.from_us) + 3:.1f}" y="14">{span.phase if width > 50 else ""}</text>'
        )
    for n, (label, bars) in enumerate(lines, 1):
        shapes.append(f'<text x="0" y="{ROW * n + 15}">{escape(label)}</text>')
        for from_us, to_us, colour, words in bars:
            width = max(1.0, x(to_us) - x(from_us))
            shapes.append(
                f'<rect x="{x(from_us):.1f}" y="{ROW * n + 3}" width="{width:.1f}" height="{ROW - 6}" '
                f'fill="{colour}"><title>{escape(words)}</title></rect>'
            )
    times = [(LEFT, record.began_us, "start"), (WIDTH, end_us, "end")]
    shapes += [
        f'<text x="{at}" y="{height + 17}" text-anchor="{anchor}">{format_time(at_us)}</text>'
        for at, at_us, anchor in times
    ]
    label = f"Verdicts and faults of {record.drill} over its phases"
    return (
        f'<svg viewBox="0 0 {WIDTH + 8} {height + BOTTOM}" role="img" aria-label="{escape(label)}">'
        f"{''.join(shapes)}</svg>"
    )


def _probe_bars(record: "DrillJournal", probe: "ProbeRecord", end_us: int) -> list[tuple[int, int, str, str]]:
    """(from, to, colour, words) of each verdict of a probe in one phase."""
    span = next(span for span in record.phases if span.phase == probe.phase)
    ends = [change.at_us for change in probe.changes[1:]] + [span.to_us or end_us]
    return [
        (
            change.at_us,
            to_us,
            COLOURS[change.verdict],
            " ".join(
                [
                    f"{probe.phase}: {change.verdict} from {format_time(change.at_us)}",
                    ", ".join(measured_texts(change.compared)),
                ]
            ),
        )
        for change, to_us in zip(probe.changes, ends, strict=False)
    ]


def _end_us(record: "DrillJournal") -> int:
    """The end of the chart: of the drill, or the last time that its record has."""
    times = [record.began_us + 1, record.ended_us or 0]
    times += [change.at_us for probe in record.probes for change in probe.changes]
    times += [fault.ended_us or fault.began_us for fault in record.faults]
    return max(times)
