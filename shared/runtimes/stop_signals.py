"""Handling of SIGINT and SIGTERM for the length of a block.

Only the main thread can set signal handlers. In other threads these blocks change nothing.
"""

import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import current_thread, main_thread
from types import FrameType

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)
"""Ctrl-C at a terminal, and the signal with which service managers and `timeout` stop a process."""

SignalHandler = Callable[[int, FrameType | None], None] | signal.Handlers


@contextmanager
def signals_handled_by(
    handler: SignalHandler, signals: Sequence[signal.Signals] = STOP_SIGNALS
) -> Iterator[None]:
    """Handle these signals with `handler` during the block; afterwards as before."""
    if current_thread() is not main_thread():
        yield
        return
    before = {number: signal.signal(number, handler) for number in signals}
    try:
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)


@contextmanager
def exit_on_sigterm() -> Iterator[None]:
    """Raise SystemExit on SIGTERM, which would otherwise stop the process without any cleanup."""

    def stop(number: int, _frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    with signals_handled_by(stop, (signal.SIGTERM,)):
        yield


@contextmanager
def interrupt_on_sigterm() -> Iterator[None]:
    """Raise KeyboardInterrupt on SIGTERM, as on Ctrl-C."""
    with signals_handled_by(signal.default_int_handler, (signal.SIGTERM,)):
        yield


@contextmanager
def stop_signals_delayed() -> Iterator[None]:
    """Delay the first SIGINT or SIGTERM until the block ends. A second signal takes effect at once.

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
