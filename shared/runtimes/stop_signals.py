"""Handling of SIGINT, SIGTERM and SIGHUP for the length of a block.

A process that these signals stop exits with code 128 + the number of the signal.

Only the main thread can set signal handlers. In other threads these blocks change nothing.
"""

import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import current_thread, main_thread
from types import FrameType

END_SIGNALS = (signal.SIGTERM, signal.SIGHUP)
"""The signal with which service managers and `timeout` stop a process, and that of a closed terminal."""
STOP_SIGNALS = (signal.SIGINT, *END_SIGNALS)
"""Ctrl-C at a terminal, and the signals above."""

SignalHandler = Callable[[int, FrameType | None], None] | signal.Handlers


class StoppedBySignal(KeyboardInterrupt):
    """A signal stops the process as Ctrl-C does; `number` is the signal's."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def exit_code_of(error: BaseException | None) -> int:
    """The exit code of a process that an interrupt stopped: 128 + the number of its signal."""
    return 128 + (error.number if isinstance(error, StoppedBySignal) else signal.SIGINT)


@contextmanager
def signals_handled_by(
    handler: SignalHandler, signals: Sequence[signal.Signals] = STOP_SIGNALS
) -> Iterator[None]:
    """Handle these signals with `handler` during the block; afterwards as before. An ignored SIGHUP stays
    ignored, so that `nohup` works."""
    if current_thread() is not main_thread():
        yield
        return
    before = {number: signal.signal(number, handler) for number in signals if not _is_ignored_hangup(number)}
    try:
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)


def _is_ignored_hangup(number: int) -> bool:
    return number == signal.SIGHUP and signal.getsignal(number) == signal.SIG_IGN


@contextmanager
def exit_on_sigterm() -> Iterator[None]:
    """Raise SystemExit on SIGTERM and SIGHUP, which would otherwise stop the process without any cleanup."""

    def stop(number: int, _frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    with signals_handled_by(stop, END_SIGNALS):
        yield


@contextmanager
def interrupt_on_sigterm() -> Iterator[None]:
    """Raise StoppedBySignal, which is a KeyboardInterrupt as on Ctrl-C, on SIGTERM and SIGHUP."""

    def stop(number: int, _frame: FrameType | None) -> None:
        raise StoppedBySignal(number)

    with signals_handled_by(stop, END_SIGNALS):
        yield


@contextmanager
def stop_signals_delayed() -> Iterator[None]:
    """Delay the first stop signal until the block ends. A second signal takes effect at once.

    For a short block that must not be interrupted halfway, such as a request whose answer names what to
    cancel.
    """
    before = {number: signal.getsignal(number) for number in STOP_SIGNALS}
    received: list[int] = []

    def on_signal(number: int, _frame: FrameType | None) -> None:
        received.append(number)
        if len(received) > 1:
            for each, earlier in before.items():
                signal.signal(each, earlier)
            signal.raise_signal(number)

    try:
        with signals_handled_by(on_signal):
            yield
    finally:
        if len(received) == 1:
            signal.raise_signal(received[0])
