"""Signals during a block, sent to real processes."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from shared.runtimes import stop_signals
from shared.runtimes.stop_signals import (
    exit_code_of,
    exit_on_sigterm,
    interrupt_on_sigterm,
    signals_handled_by,
    stop_signals_delayed,
)

WAIT_S = 30.0
DELAYED = """
import sys
from shared.runtimes.stop_signals import exit_on_sigterm, stop_signals_delayed

with exit_on_sigterm():
    try:
        with stop_signals_delayed():
            print("in", flush=True)
            sys.stdin.readline()
            print("done", flush=True)
        print("not reached", flush=True)
    finally:
        print("cleaned up", flush=True)
"""


def started() -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", DELAYED],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=os.environ | {"PYTHONPATH": str(Path.cwd())},
    )


@pytest.mark.integration
@pytest.mark.usefixtures("hangup_by_default")
@pytest.mark.parametrize("number", stop_signals.STOP_SIGNALS)
def test_a_delayed_signal_takes_effect_when_the_block_ends(number: signal.Signals) -> None:
    with started() as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "in\n"
        process.send_signal(number)
        rest, _ = process.communicate("\n", WAIT_S)
    assert rest == "done\ncleaned up\n"
    assert process.returncode == (-number if number is signal.SIGINT else 128 + number)


@pytest.mark.integration
def test_the_second_signal_takes_effect_at_once() -> None:
    with started() as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "in\n"
        process.send_signal(signal.SIGTERM)
        while process.poll() is None:  # two signals pending at once count as one
            process.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(0.05)
        rest = process.stdout.read()
    assert rest == "cleaned up\n"


@pytest.mark.usefixtures("hangup_by_default")
def test_handlers_are_as_before_after_a_block() -> None:
    before = [signal.getsignal(number) for number in stop_signals.STOP_SIGNALS]
    for block in (exit_on_sigterm(), interrupt_on_sigterm(), stop_signals_delayed()):
        with block:
            pass
    for number in (signal.SIGTERM, signal.SIGHUP):
        with pytest.raises(SystemExit) as left, exit_on_sigterm():
            signal.raise_signal(number)
        assert left.value.code == 128 + number
        with pytest.raises(KeyboardInterrupt) as interrupted, interrupt_on_sigterm():
            signal.raise_signal(number)
        assert exit_code_of(interrupted.value) == 128 + number
    assert exit_code_of(KeyboardInterrupt()) == 130
    assert [signal.getsignal(number) for number in stop_signals.STOP_SIGNALS] == before


def test_a_hangup_stays_ignored_under_nohup() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        for block in (exit_on_sigterm(), interrupt_on_sigterm(), stop_signals_delayed()):
            with block:
                signal.raise_signal(signal.SIGHUP)
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_an_error_of_the_block_does_not_lose_the_signal() -> None:
    def fail() -> None:
        with interrupt_on_sigterm(), stop_signals_delayed():
            signal.raise_signal(signal.SIGTERM)
            raise ValueError

    with pytest.raises(KeyboardInterrupt):
        fail()


def test_other_threads_do_not_change_handlers() -> None:
    found: list[object] = []

    def run() -> None:
        with signals_handled_by(signal.SIG_IGN), exit_on_sigterm(), stop_signals_delayed():
            found.append(signal.getsignal(signal.SIGTERM))

    before = signal.getsignal(signal.SIGTERM)
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert found == [before]
