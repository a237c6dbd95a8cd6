"""Completion of words with =, : and @ in a real bash, which splits words there."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ops.cli.common.bash_completion import BashCompletion, words_of_line, words_of_parts
from ops.cli.main import COMPLETION_VARIABLE, root

BASH = str(shutil.which("bash"))
PROPOSALS = [
    ("get slices --where state=", {"state=degraded", "state=queued", "state=running"}),
    ("get slices --where state=deg", {"state=degraded"}),
    ("get fabrics --where STATE=", {"STATE=alive", "STATE=retired"}),
    ("get cubes --where drained=", {"drained=yes", "drained=no"}),
    (
        "set pod-0 scheduler.backfill=",
        {f"scheduler.backfill={word}" for word in ("easy", "conservative", "none")},
    ),
    ("lab run --set scheduler.backfill=e", {"scheduler.backfill=easy"}),
    ("lab run --set workload.enabled=", {"workload.enabled=true", "workload.enabled=false"}),
    ("lab run --set scheduler.backfi", {"scheduler.backfill="}),
    ("get slices --where nothing=", set()),
    ("why scheduler@pod-0/4", set()),
    ("forecast --inject ocs:pod-0/", set()),
]
"""Line before the cursor → whole words that must be among the proposals; no proposals for the empty set."""


@pytest.fixture(scope="module")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the command and its completion script; no twin runs."""
    folder = tmp_path_factory.mktemp("bin")
    command = folder / "lightwave"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m ops.cli "$@"\n')
    command.chmod(0o755)
    script = subprocess.run(
        [str(command), "completion", "bash"],
        env=environment(folder),
        capture_output=True,
        text=True,
        check=True,
    )
    (folder / "completion.sh").write_text(script.stdout)
    return folder


def environment(folder: Path) -> dict[str, str]:
    return {
        **os.environ,
        "PATH": f"{folder}:{os.environ['PATH']}",
        "PYTHONPATH": str(Path.cwd()),
        "LIGHTWAVE_URL": "http://127.0.0.1:1",
        "TERM": "dumb",
    }


@pytest.mark.parametrize(("line", "expected"), PROPOSALS)
def test_proposals_begin_where_bash_replaces(
    monkeypatch: pytest.MonkeyPatch, line: str, expected: set[str]
) -> None:
    monkeypatch.setenv("LIGHTWAVE_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("COMP_BEFORE", f"lightwave {line}")
    monkeypatch.setenv("COMP_BREAKS", "\"'@><=;|&(:")
    shown = BashCompletion(root, {}, "lightwave", COMPLETION_VARIABLE).complete().splitlines()
    incomplete = line.rsplit(maxsplit=1)[-1]
    head = incomplete[: max(incomplete.rfind(mark) for mark in "=:@") + 1]
    words = {head + word.partition(",")[2] for word in shown}
    assert expected <= words if expected else not shown


@pytest.mark.integration
def test_bash_gets_the_proposals_of_the_split_word(shim: Path) -> None:
    """Call the function as bash does: with words split at its usual breaks, with and without the line."""
    line = "lightwave get slices --where state="
    call = (
        f". {shim}/completion.sh; COMP_LINE='{line}'; COMP_POINT=${{#COMP_LINE}}; "
        "COMP_WORDS=(lightwave get slices --where state =); COMP_CWORD=5; "
        "COMPREPLY=(); _lightwave_completion lightwave; printf '%s\\n' \"${COMPREPLY[@]}\"; "
        "COMP_LINE=; COMPREPLY=(); _lightwave_completion lightwave; printf 'bare %s\\n' \"${COMPREPLY[@]}\""
    )
    done = subprocess.run(
        [BASH, "-c", call], env=environment(shim), capture_output=True, text=True, check=True
    )
    assert {"degraded", "running", "bare degraded", "bare running"} <= set(done.stdout.splitlines())
    assert "state=" not in done.stdout


@pytest.mark.parametrize(
    ("parts", "words", "incomplete"),
    [
        (["lightwave", "get", "--where", "state", "="], ["lightwave", "get", "--where"], "state="),
        (["lightwave", "get", "--fabric", "=", "po"], ["lightwave", "get"], "--fabric=po"),
        (["lightwave", "why", "scheduler", "@", "pod-0/4"], ["lightwave", "why"], "scheduler@pod-0/4"),
        (["lightwave", "--inject", "ocs", ":", "pod"], ["lightwave", "--inject"], "ocs:pod"),
        (["lightwave", "get", ""], ["lightwave", "get"], ""),
    ],
)
def test_parts_are_joined(parts: list[str], words: list[str], incomplete: str) -> None:
    assert words_of_parts(parts) == (words, incomplete)


@pytest.mark.parametrize(
    ("line", "words", "incomplete"),
    [
        ("lightwave get ", ["lightwave", "get"], ""),
        ("lightwave get sl", ["lightwave", "get"], "sl"),
        ("lightwave get --where 'state=", ["lightwave", "get", "--where"], "state="),
        ("lightwave get --where state=d", ["lightwave", "get", "--where"], "state=d"),
    ],
)
def test_a_line_is_split_as_the_shell_does(line: str, words: list[str], incomplete: str) -> None:
    assert words_of_line(line) == (words, incomplete)
