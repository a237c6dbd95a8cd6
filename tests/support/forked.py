"""Runs commands in processes that are forked from one which has imported the command line.

Starting Python and importing take longer than most commands. tests/e2e also runs commands the way users start
them.
"""

import multiprocessing
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from subprocess import CompletedProcess, TimeoutExpired
from tempfile import TemporaryDirectory

from ops.cli.main import main

SECONDS_MAX = 60.0
_SERVER = multiprocessing.get_context("forkserver")
_SERVER.set_forkserver_preload([__name__, "tests.support.preloaded"])


def nothing() -> None:
    """The default of what runs first."""


def run_forked(
    words: Sequence[str],
    env: Mapping[str, str],
    *,
    merged: bool = False,
    before: Callable[[], None] = nothing,
) -> CompletedProcess[str]:
    """Run `python -m ops.cli` with these words and environment and an empty stdin.

    `merged`: its stderr goes to its stdout, in order of output. `before` runs first in its process.
    """
    with TemporaryDirectory() as folder:
        out = Path(folder, "out")
        err = out if merged else Path(folder, "err")
        process = _SERVER.Process(target=_run, args=(list(words), dict(env), out, err, before))
        process.start()
        process.join(SECONDS_MAX)
        if process.exitcode is None:
            process.kill()
            process.join()
            raise TimeoutExpired(["lightwave", *words], SECONDS_MAX)
        errors = "" if merged else err.read_text()
        return CompletedProcess(["lightwave", *words], process.exitcode, out.read_text(), errors)


def _run(words: list[str], env: dict[str, str], out: Path, err: Path, before: Callable[[], None]) -> None:
    for stream, path in ((sys.stdout, out), (sys.stderr, err)):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND), stream.fileno())
    os.environ.clear()
    os.environ.update(env)
    sys.argv = ["lightwave", *words]
    before()
    main()
