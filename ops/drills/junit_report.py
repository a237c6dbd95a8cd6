"""The report of a drill as JUnit XML: one case for each probe in each phase, and one for each step.

The form is that of the XML schema of Jenkins' xUnit plugin (`testsuites`, `testsuite`, `testcase`, `failure`,
`error`, `skipped`), which continuous-integration servers read.
"""

from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from ops.drills.report_tables import probe_name, values_text, verdict_sentence
from ops.report.safe_text import without_control
from shared.basics.time_format import format_gap
from shared.basics.units import US_PER_S

if TYPE_CHECKING:
    from schemas.api.drill_journal import DrillJournal, PhaseSpan, ProbeRecord, StepRecord


def junit_report(record: "DrillJournal") -> str:
    """The whole file. A deviation is a failure. A step that was refused or failed is an error: the drill
    could not be run. So is a drill that was stopped or cancelled. What was not measured or not done is
    skipped, also the rest of a drill that is running."""
    suite = ET.Element("testsuite", name=without_control(f"{record.drill} {record.title}"))
    properties = ET.SubElement(suite, "properties")
    facts = {
        "document_sha256": record.document_sha256,
        "seed": record.seed,
        "status": record.status or "running",
        "deviated": str(record.deviated).lower(),
        "result": verdict_sentence(record),
    }
    for name, value in facts.items():
        ET.SubElement(properties, "property", name=name, value=without_control(str(value)))
    spans = {span.phase: span for span in record.phases}
    for probe in record.probes:
        _probe_case(suite, record, probe, spans[probe.phase])
    for step in record.steps:
        _step_case(suite, record, step)
    if record.status != "completed" and suite.find(".//error") is None and suite.find(".//failure") is None:
        case = _case(suite, record, "run", 0)
        word = "skipped" if record.status is None else "error"
        ET.SubElement(case, word, message=without_control(verdict_sentence(record)))
    counts = {
        "tests": len(suite.findall("testcase")),
        **{f"{word}s": len(suite.findall(f"testcase/{word}")) for word in ("failure", "error")},
        "skipped": len(suite.findall("testcase/skipped")),
    }
    for name, count in counts.items():
        suite.set(name, str(count))
    lasted_us = 0 if record.ended_us is None else record.ended_us - record.began_us
    suite.set("time", _seconds(lasted_us))
    root = ET.Element("testsuites", {name: str(count) for name, count in counts.items()})
    root.append(suite)
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _probe_case(suite: ET.Element, record: "DrillJournal", probe: "ProbeRecord", span: "PhaseSpan") -> None:
    lasted_us = 0 if span.to_us is None else span.to_us - span.from_us
    case = _case(suite, record, f"{probe.phase}: {probe_name(probe)}", lasted_us)
    closed_gate = (
        probe.phase == "gate"
        and probe.verdict == "violated"
        and record.stop is not None
        and record.stop.cause == "gate"
    )
    if probe.deviated or closed_gate:
        allowed = "nothing" if not probe.allowed_us else format_gap(probe.allowed_us)
        message = f"violated for {format_gap(probe.violated_us)}, allowed {allowed}"
        if closed_gate:
            message = "violated at the gate: the drill did not begin"
        failure = ET.SubElement(case, "failure", message=message)
        changes = [f"{row.at_us} us {row.verdict} {values_text(row.compared)}" for row in probe.changes]
        failure.text = without_control("\n".join(changes))
    elif probe.verdict == "not-measured":
        ET.SubElement(case, "skipped", message="not measured")


def _step_case(suite: ET.Element, record: "DrillJournal", step: "StepRecord") -> None:
    lasted_us = 0 if step.ended_us is None else step.ended_us - step.began_us
    name = f"step: {step.step}" if step.repeat == 1 else f"step: {step.step} #{step.repeat}"
    case = _case(suite, record, name, lasted_us)
    if step.outcome in ("refused", "failed"):
        ET.SubElement(case, "error", message=without_control(step.reason or step.outcome))
    elif step.outcome != "done":
        ET.SubElement(case, "skipped", message=step.outcome or "not done")


def _case(suite: ET.Element, record: "DrillJournal", name: str, lasted_us: int) -> ET.Element:
    attributes = {
        "classname": without_control(record.drill),
        "name": without_control(name),
        "time": _seconds(lasted_us),
    }
    return ET.SubElement(suite, "testcase", attributes)


def _seconds(us: int) -> str:
    """Simulated seconds."""
    return f"{us / US_PER_S:.3f}"
