"""Progress lines on stderr, overwritten in place on a terminal.

Every command has one from `NOTE_AFTER_S` on (`long_work`), until it prints something. Commands that know more
show it in a line of their own instead: a `StatusLine` or a `ProgressLine`. Nothing is shown if stderr is not
a terminal, or if the output is for programs (`-o json`).
"""

import contextlib
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Self

from shared.basics.time_format import format_duration
from shared.basics.units import US_PER_S

REFRESH_S = 0.5
NOTE_AFTER_S = 2.0
"""A command that has printed nothing for this time shows that it still works."""
PACE_WINDOW_S = 20.0
"""The remaining time is estimated from the pace of this many seconds."""
CLEAR_LINE = "\r\x1b[K"


class _Terminal:
    """What this process shows on stderr now: the note of a long command, and lines with more details."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.note: _Note | None = None
        self.lines = 0
        """Status lines that are open; the note is hidden meanwhile."""
        self.is_for_programs = False
        """Whether the command prints JSON or the like."""


_terminal = _Terminal()


def shows_progress() -> bool:
    """Whether this command may show progress: stderr is a terminal, and its output is for people."""
    return sys.stderr is not None and sys.stderr.isatty() and not _terminal.is_for_programs


class _Note:
    """The line of a command that has printed nothing yet: its name, and for how long it works."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._began_s = time.monotonic()
        self._is_shown = False
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run, name="progress", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        wait_s = NOTE_AFTER_S
        while not self._done.wait(wait_s):
            wait_s = REFRESH_S
            with _terminal.lock:
                if not self._done.is_set() and not _terminal.lines:
                    self._write(f"{CLEAR_LINE}{self._what}: working for {self.elapsed_s:.0f} s")
                    self._is_shown = True

    @property
    def elapsed_s(self) -> float:
        return time.monotonic() - self._began_s

    def hide(self) -> None:
        """Remove the line from the terminal; the next refresh shows it again."""
        if self._is_shown:
            self._is_shown = False
            self._write(CLEAR_LINE)

    def end(self) -> None:
        self._done.set()
        with _terminal.lock:
            self.hide()

    @staticmethod
    def _write(text: str) -> None:
        with contextlib.suppress(OSError, ValueError):  # a closed terminal
            sys.stderr.write(text)
            sys.stderr.flush()


@contextlib.contextmanager
def long_work(what: str, *, for_programs: bool) -> Iterator[None]:
    """Show that a command works, if it takes long. `for_programs`: its output is JSON or the like."""
    before = _terminal.note, _terminal.is_for_programs
    _terminal.is_for_programs = for_programs
    _terminal.note = _Note(what) if shows_progress() else None
    try:
        yield
    finally:
        end_note()
        _terminal.note, _terminal.is_for_programs = before


def end_note() -> None:
    """End the note of the command, because it prints something now, or asks."""
    note, _terminal.note = _terminal.note, None
    if note is not None:
        note.end()


@contextlib.contextmanager
def note_hidden() -> Iterator[None]:
    """Hide the note while something else is written on stderr, such as a line of a log."""
    with _terminal.lock:
        if _terminal.note is not None:
            _terminal.note.hide()
        yield


class StatusLine:
    """One line on stderr, overwritten at most every half second and removed at the end.

    Writes nothing if stderr is not a terminal, or if the command's output is for programs.
    """

    def __init__(self) -> None:
        self._shown = shows_progress()
        self._shown_s: float | None = None

    def __enter__(self) -> Self:
        with note_hidden():
            _terminal.lines += 1
        return self

    def __exit__(self, *_: object) -> None:
        with _terminal.lock:
            _terminal.lines -= 1
        if self._shown_s is not None:
            sys.stderr.write(CLEAR_LINE)
            sys.stderr.flush()

    def is_due(self) -> bool:
        """Whether stderr is a terminal and the last refresh is old enough."""
        return self._shown and (self._shown_s is None or time.monotonic() - self._shown_s >= REFRESH_S)

    def say(self, text: str, *, is_last: bool = False) -> None:
        """Show the text if a refresh is due or if it is the last one."""
        if self.is_due() or (is_last and self._shown):
            self._shown_s = time.monotonic()
            sys.stderr.write(CLEAR_LINE + text)
            sys.stderr.flush()


class ProgressLine(StatusLine):
    """Shows a number that rises to `whole`, formatted by the caller."""

    def __init__(self, text_of: Callable[[float, float], str], whole: float) -> None:
        super().__init__()
        self._text_of, self._whole = text_of, whole
        self._samples: deque[tuple[float, float]] = deque()

    def report_progress(self, done: float) -> None:
        """Report the amount done so far."""
        if not self.is_due():
            return
        now_s = time.monotonic()
        self._samples.append((now_s, done))
        while now_s - self._samples[0][0] > PACE_WINDOW_S:
            self._samples.popleft()
        self.say(progress_line(self._samples, self._whole, self._text_of))


def progress_line(
    samples: deque[tuple[float, float]], whole: float, text_of: Callable[[float, float], str]
) -> str:
    """The progress text after these samples of (seconds, done): amount, share and estimated remaining time.

    `text_of` formats the amount done and the amount per second.
    """
    (first_s, first), (now_s, done) = samples[0], samples[-1]
    pace = (done - first) / (now_s - first_s) if now_s > first_s else 0.0
    share = f"{min(done / whole, 1.0):.0%}" if whole > 0 else "100%"
    left = (
        f", {format_duration(round((whole - done) / pace) * US_PER_S)} left"
        if pace > 0 and done < whole
        else ""
    )
    return f"{text_of(done, pace)}, {share}{left}"


class AuditProgress(contextlib.ExitStack):
    """Shows the number of compared messages, one site after the other."""

    def __init__(self) -> None:
        super().__init__()
        self._lines: dict[str, ProgressLine] = {}

    def report_progress(self, site: str, done: int, whole: int) -> None:
        """Report the number of a site's messages compared so far, and their total."""
        if site not in self._lines:
            self.close()
            self._lines[site] = self.enter_context(ProgressLine(partial(_compared_text, site, whole), whole))
        self._lines[site].report_progress(done)


def _compared_text(site: str, whole: int, done: float, pace: float) -> str:
    return f"{site}: {done:,.0f} of {whole:,} messages compared, {pace:,.0f}/s"


@contextlib.contextmanager
def file_progress(path: Path, what: str) -> Iterator[Callable[[int], None]]:
    """A progress line for reading a file, on a terminal. Yields a function that takes the number of bytes
    read so far."""
    try:
        size = path.stat().st_size
    except OSError:
        size = 0  # the code that opens the file reports it
    with ProgressLine(partial(_read_text, what, size), size) as line:
        yield line.report_progress


def _read_text(what: str, size: int, done: float, pace: float) -> str:
    return f"{what}: {done / 1e6:,.0f} of {size / 1e6:,.0f} MB read, {pace / 1e6:,.1f} MB/s"


@contextlib.contextmanager
def working(what: str) -> Iterator[None]:
    """Show on a terminal that work of unknown length continues: its description, and the time so far."""
    with StatusLine() as line:
        if not line.is_due():
            yield
            return
        done = threading.Event()
        began_s = time.monotonic()

        def show() -> None:
            while not done.wait(REFRESH_S):
                line.say(f"{what}: {time.monotonic() - began_s:.0f} s")

        thread = threading.Thread(target=show, daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()
