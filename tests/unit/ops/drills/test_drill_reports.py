"""Reports of a drill from its journal: text, HTML and JUnit."""

from html.parser import HTMLParser
from xml.etree import ElementTree as ET

import pytest

from ops.drills.html_report import html_report
from ops.drills.junit_report import junit_report
from ops.drills.report_tables import verdict_sentence
from ops.drills.text_report import WIDTH, text_report
from schemas.api.drill_journal import DrillJournal
from services.gateway.explain.drill_journal import drill_journal
from tests.support.drill_log import DRILL, LogWriter, closed_gate, deviated_drill, refused_step


def record_of(log: LogWriter) -> DrillJournal:
    return drill_journal(log.numbered(), DRILL, "1.2.3")


def test_junit_has_a_case_for_each_probe_in_each_phase_and_each_step() -> None:
    root = ET.fromstring(junit_report(record_of(deviated_drill())))  # noqa: S314 -- written here
    (suite,) = root
    cases = {case.get("name"): case for case in suite.findall("testcase")}
    assert len(cases) == 2 * 4 + 2
    (failure,) = suite.findall("testcase/failure")
    assert failure.get("message") == "violated for 5m, allowed nothing"
    assert "count=<3>" in str(failure.text)
    assert cases["method: none-degraded"].find("failure") is failure
    assert cases["verify: up"].find("skipped") is not None
    assert [suite.get(name) for name in ("tests", "failures", "errors", "skipped")] == ["10", "1", "0", "3"]
    assert suite.get("time") == "1800.000"


def test_junit_of_a_drill_that_failed_to_run() -> None:
    (suite,) = ET.fromstring(junit_report(record_of(refused_step())))  # noqa: S314 -- written here
    assert [suite.get(name) for name in ("failures", "errors")] == ["0", "1"]
    assert suite.find("testcase/error").get("message") == "no such part"  # type: ignore[union-attr]  # is there


@pytest.mark.parametrize(
    ("status", "word"), [("stopped", "error"), ("cancelled", "error"), (None, "skipped")]
)
def test_junit_of_a_drill_that_did_not_complete_is_not_green(status: str | None, word: str) -> None:
    """Also if no probe deviated: a limit, the lease or the kill switch ended it."""
    record = record_of(deviated_drill())
    probes = tuple(one.model_copy(update={"deviated": False}) for one in record.probes)
    ended = {"status": status, "reason": "2 ocs out of use; must be at most 1", "probes": probes}
    (suite,) = ET.fromstring(junit_report(record.model_copy(update=ended)))  # noqa: S314 -- written here
    (found,) = suite.findall(f"testcase[@name='run']/{word}")
    assert str(found.get("message")).startswith("pod-0/drill-0 ")


def test_junit_of_a_closed_gate() -> None:
    (suite,) = ET.fromstring(junit_report(record_of(closed_gate())))  # noqa: S314 -- written here
    (failure,) = suite.findall("testcase/failure")
    assert failure.get("message") == "violated at the gate: the drill did not begin"


def test_junit_replaces_characters_that_xml_cannot_have() -> None:
    record = record_of(deviated_drill()).model_copy(update={"title": "bad \x07 title"})
    (suite,) = ET.fromstring(junit_report(record))  # noqa: S314 -- written here
    assert suite.get("name") == "pod-0/drill-0 bad \N{REPLACEMENT CHARACTER} title"


def test_text_fits_80_columns() -> None:
    record = record_of(deviated_drill())
    long = record.model_copy(update={"title": "A very long title " * 9, "comment": "why not " * 20})
    for log in (record, long, record_of(closed_gate()), record_of(refused_step())):
        text = text_report(log)
        assert max(map(len, text.splitlines())) <= WIDTH, text
    assert "deviated from its hypothesis: none-degraded" in " ".join(text_report(record).split())
    assert "\x1b" not in text_report(record.model_copy(update={"title": "\x1b[31m"}))


class Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [str(value) for name, value in attrs if name in ("src", "href")]


def test_html_is_self_contained_and_has_no_script() -> None:
    record = record_of(deviated_drill()).model_copy(update={"title": "<script>alert(1)</script>\x1b[31m"})
    text = html_report(record)
    page = Page()
    page.feed(text)
    assert "script" not in page.tags
    assert page.links == []
    assert "&lt;script&gt;" in text
    assert "\x1b" not in text
    assert text.count('<tr class="no">') == 1
    assert page.tags.count("svg") == 1


def test_sentences() -> None:
    running = deviated_drill()
    del running.messages[8:]
    assert verdict_sentence(record_of(running)) == "pod-0/drill-0 is running, in its phase method."
    assert verdict_sentence(record_of(deviated_drill())) == (
        "pod-0/drill-0 completed; the system deviated from its hypothesis: none-degraded."
    )
    assert verdict_sentence(record_of(refused_step())) == (
        "pod-0/drill-0 failed to run: no such part. It says nothing about the system."
    )
    assert verdict_sentence(record_of(closed_gate())) == (
        "pod-0/drill-0 was cancelled before its first step: none-degraded is violated."
    )
    calm = record_of(deviated_drill()).model_copy(update={"deviated": False})
    assert verdict_sentence(calm) == (
        "pod-0/drill-0 completed without a deviation, but was not measured all the time: "
        "none-degraded (undo), up (undo), up (verify)."
    )
    assert verdict_sentence(calm.model_copy(update={"probes": ()})) == (
        "pod-0/drill-0 completed; it has no hypothesis, so only its steps were tested."
    )
    passed = tuple(one.model_copy(update={"verdict": "passed"}) for one in calm.probes)
    assert verdict_sentence(calm.model_copy(update={"probes": passed})) == (
        "pod-0/drill-0 completed without a deviation."
    )
