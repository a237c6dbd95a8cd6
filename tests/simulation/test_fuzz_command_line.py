"""Random arguments for every command. It ends with a documented exit code, and an error is one sentence.

Wrong usage leaves no files behind. Commands that would not end are stubbed.
"""

import io
import os
import re
import signal
import sys
import unicodedata
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import pytest

from ops.cli.explain import events
from ops.cli.main import main, root
from ops.client import http_client
from shared.basics.errors import OperationFailed
from tests.support.command_words import ArgumentGenerator, files
from tests.support.commands import leaf, leaves
from tests.support.corpus import Corpus, is_written
from tests.support.fake_twin import FakeTwin, answering
from tests.support.seeds import explored, rotating

CORPUS = Corpus("command_line")
HOME = "{home}"
EXAMPLES = 40
"""Lines per command."""
SECONDS_MAX = 20
"""Wall time of one line in s. A line that takes longer has started something that does not end."""
CODES = frozenset({0, 1, 2, 3, 4})
USAGE = 2
BEGINS = (
    "ops.cli.run.schema_export.export",
    "ops.lab.run.run_lab",
    "ops.live.audit.audit_live",
    "ops.live.gateway.run_gateway",
    "ops.live.init.init_twin",
    "ops.live.rebuild.rebuild_twin",
    "ops.live.historian.run_historian",
    "ops.live.sequencer.run_sequencer",
    "ops.live.skip.skip_message",
    "ops.live.status.live_status",
    "ops.live.supervisor.supervise",
    "ops.reproduce.lab_runs.run_ahead",
    "ops.servers.local_servers.run_kafka",
    "ops.servers.local_servers.run_redis",
    "ops.twin.up.run_up",
    "shared.runtimes.live.worker.worker_process.serve_worker",
)
"""Functions that start a server, a long run or another program, or fill a folder. They are replaced by a
stub."""


@dataclass(frozen=True)
class Place:
    """The environment of the lines: an empty working folder, files elsewhere, and a twin without data."""

    folder: Path
    paths: tuple[str, ...]
    twin: FakeTwin

    def as_saved(self, words: list[str]) -> list[str]:
        """Return a line as the corpus stores it, without folders of this machine."""
        return [word.replace(str(self.folder.parent), HOME) for word in words]

    def as_typed(self, saved: list[str]) -> list[str]:
        return [word.replace(HOME, str(self.folder.parent)) for word in saved]


def _begun(*_: object, **__: object) -> NoReturn:
    raise OperationFailed("begun")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    home = tmp_path_factory.mktemp("home")
    folder = home / "working"
    folder.mkdir()
    umask = os.umask(0o077)
    os.umask(umask)
    with pytest.MonkeyPatch.context() as patch, answering() as twin:
        for name in [name for name in os.environ if name.startswith("LIGHTWAVE_")]:
            patch.delenv(name)
        patch.setenv("LIGHTWAVE_URL", twin.url)
        patch.setenv("XDG_STATE_HOME", str(home / "state"))
        patch.chdir(folder)
        for name in BEGINS:
            patch.setattr(name, _begun)
        patch.setattr(http_client, "RETRY_S", 0.0)
        patch.setattr(events, "RECONNECT_S_MAX", 0.0)
        yield Place(folder, files(home / "files"), twin)
    os.umask(umask)


@dataclass(frozen=True)
class Done:
    code: int | str | None
    out: str
    err: str


def run(words: list[str]) -> Done:
    """Run one line as the program `lightwave` does."""
    out, err = io.StringIO(), io.StringIO()

    def late(_number: int, _frame: object) -> NoReturn:
        raise AssertionError(f"{words} has not ended after {SECONDS_MAX} s: is it missing in BEGINS?")

    before, argv = signal.signal(signal.SIGALRM, late), sys.argv
    sys.argv = ["lightwave", *words]
    signal.alarm(SECONDS_MAX)
    try:
        with redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as ended:
            main()
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
        sys.argv = argv
    return Done(ended.value.code, out.getvalue(), err.getvalue())


def raw(text: str) -> list[str]:
    """Return the characters that control a terminal."""
    return [c for c in text if c != "\n" and unicodedata.category(c) in ("Cc", "Cf")]


def check(words: list[str], done: Done, *, page: bool) -> None:
    assert done.code in CODES, (words, done)
    assert raw(done.err) == [], (words, done)
    assert page or raw(done.out) == [], (words, done)
    if done.code in (0, 1):  # a difference that a command finds is a result on stdout
        return
    sentence = done.err
    if done.code == USAGE and done.err.startswith("Usage: "):
        assert re.search(r" needs a command; see `[^`]+`\n\Z", done.err), (words, done)
        sentence = done.err.splitlines(keepends=True)[-1]
    assert re.fullmatch(r"lightwave: [^\n]+\n", sentence), (words, done)


@pytest.mark.parametrize("path", rotating(leaves(root), "forty drawn lines a command"), ids=" ".join)
def test_any_line_ends_with_a_documented_exit_code(place: Place, path: list[str]) -> None:
    command, name = leaf(root, path), " ".join(path)
    seen = set()
    for number in [*range(EXAMPLES), *explored(EXAMPLES, name)]:
        words = [*path, *ArgumentGenerator(command, place.paths, f"{name} {number}").words()]
        try:
            kind = ends_in_good_order(place, words)
        except AssertionError:
            CORPUS.keep(place.as_saved(words))
            raise
        if is_written() and kind not in seen:
            CORPUS.keep(place.as_saved(words))
        seen.add(kind)


def test_saved_lines_end_with_a_documented_exit_code(place: Place) -> None:
    """One line of every kind for every command, and all lines that failed before."""
    assert len(CORPUS.cases) > len(leaves(root))
    for saved in CORPUS.cases:
        ends_in_good_order(place, place.as_typed(saved))


def ends_in_good_order(place: Place, words: list[str]) -> tuple[int | str | None, str]:
    """Run a line and check it; return its exit code and the start of its sentence."""
    before = sorted(place.folder.rglob("*"))
    done = run(words)
    check(words, done, page="html" in words or words[0] == "completion")
    if done.code == USAGE:
        assert done.out == "", (words, done)
        assert sorted(place.folder.rglob("*")) == before, (words, done)
    return done.code, " ".join(re.findall(r"[a-z]+", done.err.splitlines()[-1])[1:4] if done.err else [])
