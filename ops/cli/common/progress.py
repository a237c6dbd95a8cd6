"""Progress lines on stderr, overwritten in place on a terminal."""

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
PACE_WINDOW_S = 20.0
"""The remaining time is estimated from the pace of this many seconds."""
CLEAR_LINE = "\r\x1b[K"


class StatusLine:
    """One line on stderr, overwritten at most every half second and removed at the end.

    Writes nothing if stderr is not a terminal.
    """

    def __init__(self) -> None:
        self._shown = sys.stderr is not None and sys.stderr.isatty()
        self._shown_s: float | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
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
    """Show on a terminal that work goes on whose length is not known: what it is, and for how long so far."""
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
