"""The progress line of long commands, and when it is shown."""

import io
import logging
import sys
from collections import deque

import click
import pytest

from ops.cli.common import progress
from ops.cli.common.log_format import TerminalHandler
from ops.cli.common.progress import CLEAR_LINE, ProgressLine, end_note, long_work, progress_line
from ops.cli.main import root
from ops.cli.run.clock import _progress_text, _table
from schemas.api.rows import ClockReport
from shared.basics.units import US_PER_DAY
from shared.runtimes.poll import poll_until
from tests.support.commands import leaf, leaves


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def progress_text(done: float, pace: float) -> str:
    return f"{done:g} at {pace:g}/s"


@pytest.mark.parametrize(
    ("samples", "line"),
    [
        ([(0.0, 0.0)], "0 at 0/s, 0%"),
        ([(0.0, 0.0), (2.0, 50.0)], "50 at 25/s, 25%, 6s left"),
        ([(5.0, 100.0), (15.0, 150.0)], "150 at 5/s, 75%, 10s left"),
        ([(0.0, 100.0), (9.0, 100.0)], "100 at 0/s, 50%"),
        ([(0.0, 100.0), (1.0, 200.0)], "200 at 100/s, 100%"),
    ],
)
def test_a_line_has_share_pace_and_time_left(samples: list[tuple[float, float]], line: str) -> None:
    assert progress_line(deque(samples), 200.0, progress_text) == line


def test_the_line_is_shown_on_a_terminal_and_cleared_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with ProgressLine(progress_text, 4.0) as line:
        line.report_progress(1.0)
        line.report_progress(2.0)  # too soon after the first
    assert terminal.getvalue() == f"{CLEAR_LINE}1 at 0/s, 25%{CLEAR_LINE}"


def test_nothing_is_written_to_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = io.StringIO()
    monkeypatch.setattr(sys, "stderr", pipe)
    with ProgressLine(progress_text, 4.0) as line:
        line.report_progress(1.0)
    assert pipe.getvalue() == ""


def test_progress_of_simulated_time() -> None:
    assert (
        _progress_text(US_PER_DAY, 3 * US_PER_DAY, US_PER_DAY / 2, 2.5e9)
        == "1d12:00:00 of 3d00:00:00, × 2,500"
    )


def test_a_clock_never_shows_two_speeds_that_contradict_each_other() -> None:
    shown = ClockReport(
        now_us=0, speed=600.0, paused=False, achieved_speed=2_900.0, lag_us=0, until_us=US_PER_DAY
    )
    assert "unlimited" in _table(shown)
    assert "× 600 " in _table(shown.model_copy(update={"achieved_speed": 598.0}))
    assert "× 600 " in _table(shown.model_copy(update={"achieved_speed": 600.2, "until_us": None}))
    paused = shown.model_copy(update={"achieved_speed": 0.0, "paused": True, "until_us": None})
    row = _table(paused).splitlines()[1]
    assert row.split() == ["0d00:00:00", "×", "600", "yes", "-", "0s", "-"]


def _context(words: list[str], **params: object) -> click.Context:
    """The context of a command, with parameters as if parsed."""
    command = leaf(root, words)
    ctx = click.Context(command, info_name=" ".join(["lightwave", *words]))
    ctx.params = {"output": "table", **params}
    return ctx


def _seen(terminal: Terminal, text: str) -> bool:
    return poll_until(lambda: text in terminal.getvalue(), 60.0, every_s=0.001)


@pytest.mark.parametrize("words", leaves(root), ids=" ".join)
def test_every_command_that_takes_long_shows_that_it_works(
    words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The line begins before the command does anything: whatever it waits for, people see that it works. It
    is gone when the command prints."""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(progress, "NOTE_AFTER_S", 0.0)
    ctx = _context(words)
    note = f"{' '.join(words)}: working for 0 s"

    def work(**_: object) -> None:
        assert _seen(terminal, note)
        end_note()
        assert terminal.getvalue().endswith(CLEAR_LINE)

    monkeypatch.setattr(ctx.command, "callback", work)
    ctx.command.invoke(ctx)
    assert terminal.getvalue().endswith(CLEAR_LINE)


@pytest.mark.parametrize("form", ["json", "yaml", "html"])
def test_output_for_programs_comes_without_progress(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(progress, "NOTE_AFTER_S", 0.0)
    ctx = _context(["audit"], output=form)

    def work(**_: object) -> None:
        with ProgressLine(progress_text, 4.0) as line:
            line.report_progress(1.0)

    monkeypatch.setattr(ctx.command, "callback", work)
    ctx.command.invoke(ctx)
    assert terminal.getvalue() == ""


def test_a_line_with_more_details_replaces_the_note(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(progress, "NOTE_AFTER_S", 0.0)
    monkeypatch.setattr(progress, "REFRESH_S", 0.001)
    with long_work("audit", for_programs=False):
        assert _seen(terminal, "audit: working")
        with ProgressLine(progress_text, 4.0) as line:
            began = len(terminal.getvalue())
            line.report_progress(1.0)
            assert "working" not in terminal.getvalue()[began:]
        after = len(terminal.getvalue())
        assert poll_until(lambda: "working" in terminal.getvalue()[after:], 60.0, every_s=0.001)
    assert terminal.getvalue().endswith(CLEAR_LINE)


def test_a_line_of_the_log_does_not_end_the_note(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(progress, "NOTE_AFTER_S", 0.0)
    monkeypatch.setattr(progress, "REFRESH_S", 0.001)
    with long_work("up", for_programs=False):
        assert _seen(terminal, "up: working")
        TerminalHandler(terminal).emit(logging.makeLogRecord({"msg": "restored"}))
        written = terminal.getvalue()
        assert f"{CLEAR_LINE}restored\n" in written
        after = written.index("restored")
        assert poll_until(lambda: "working" in terminal.getvalue()[after:], 60.0, every_s=0.001)
