"""Control characters of foreign text are shown on a terminal, and not sent to it."""

import json
import logging

import pytest
import yaml

from ops.cli.common.log_format import TextFormatter
from ops.cli.common.output import render
from ops.report.safe_text import escape_control, one_line
from ops.report.tables import text_table
from ops.report.yaml_writer import yaml_text
from tests.support.fake_twin import answering, as_json, lightwave

pytestmark = pytest.mark.integration

HOSTILE = "\x1b]0;title\x07 \x9b2J \u202egnp.exe \u2066 \U000e0041 \x7f \ud800 \r"
HARMLESS = "Größe × −3 dB\n└ because of „x“ 例 😀"


def is_harmless(text: str) -> bool:
    return not any(character in text for character in "\x1b\x07\x9b\u202e\u2066\U000e0041\x7f\r")


def test_control_and_format_characters_are_shown() -> None:
    assert escape_control("\x1b[2J\u202ea\x9b\n\tb") == "\\x1b[2J\\u202ea\\x9b\n\\tb"
    assert is_harmless(escape_control(HOSTILE))
    assert escape_control(HARMLESS) == HARMLESS
    assert one_line("a\nb\x1b") == "a\\nb\\x1b"


@pytest.mark.parametrize("form", ["table", "json", "yaml"])
def test_every_form_of_output_is_harmless(form: str) -> None:
    text = render([{"name": HOSTILE}], form, lambda: HOSTILE)  # type: ignore[arg-type]  # one of the three
    assert is_harmless(text)
    if form == "json":
        assert json.loads(text) == [{"name": HOSTILE}]


def test_yaml_shows_the_same() -> None:
    kept = HOSTILE.replace("\ud800", "")  # half a pair is no text
    assert yaml.safe_load(yaml_text({"name": kept})) == {"name": kept}


def test_a_cell_stays_in_its_row() -> None:
    assert text_table(["A"], [["x\ny"]]).splitlines() == ["A", "x\\ny"]


def test_a_log_line_is_harmless() -> None:
    record = logging.LogRecord("a", logging.INFO, "", 0, "said %s", (HOSTILE,), None)
    assert is_harmless(TextFormatter().format(record))


def test_control_characters_of_a_twin_are_escaped() -> None:
    message = {"id": HOSTILE, "type": HOSTILE, "at_us": 1, "cause": None, "text": HOSTILE}
    with answering() as twin:
        twin.answers["/v1/events"] = [as_json([message])]
        twin.answers["/v1/why/x@y/1"] = [as_json([message])]
        twin.answers["/v1/clock"] = [as_json({"error": HOSTILE}, 409)]
        for words in (("events",), ("why", "x@y/1"), ("clock", "show")):
            done = lightwave(*words, url=twin.url)
            output = done.stdout + done.stderr
            assert "title" in output
            assert is_harmless(output.replace("\r\n", "\n")), words


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"[" * 200_000 + b"]" * 200_000, "nested too deeply"),
        (b"[" + b" " * 70_000_000 + b"]", "larger than"),
    ],
)
def test_an_invalid_answer_is_an_error_in_one_sentence(body: bytes, why: str) -> None:
    with answering() as twin:
        twin.answers["/v1/clock"] = [(200, "application/json", body)]
        done = lightwave("clock", "show", url=twin.url)
    assert done.returncode == 4
    assert done.stderr.count("\n") == 1
    assert why in done.stderr
