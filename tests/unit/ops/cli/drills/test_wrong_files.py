"""`lightwave drill` with files that are not what the command reads: one sentence, and exit code 2."""

from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.support.fake_twin import environment
from tests.support.forked import run_forked
from tests.unit.ops.drills.bad_documents import GOOD

pytestmark = pytest.mark.integration
USAGE = 2


def run(*words: str) -> CompletedProcess[str]:
    """Run a command without a twin."""
    return run_forked(["drill", *words], environment("http://127.0.0.1:9"))


def refusal(*words: str) -> str:
    """The sentence with which a command refuses its files; it prints nothing else."""
    done = run(*words)
    assert (done.returncode, done.stdout) == (USAGE, ""), done.stderr
    assert done.stderr.startswith("lightwave: ")
    assert done.stderr.count("\n") == 1
    return done.stderr.removeprefix("lightwave: ").rstrip("\n")


@pytest.mark.parametrize("words", [["desk"], ["run"], ["run", "--in", "lab"], ["validate"], ["plan"]])
def test_a_device_is_refused_at_once(words: list[str]) -> None:
    sentence = "must be a text file, not a folder, pipe or device"
    assert refusal(*words, "/dev/zero") == f"/dev/zero: {sentence}"


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("notes.log", b"restarted ocs-17\n", "line 1: not a message of a log: not JSON: "),
        ("list.json", b"[1]\n", "line 1: not a message of a log: not a JSON object"),
        ("row.json", b'{"lightwave": {"drill": "pod-0"}}\n', "line 1: not a message of a log: "),
        ("program", b"\x7fELF\x02\x01\n", "line 1: not a message of a log: not JSON: "),
    ],
)
def test_only_a_log_or_a_journal_can_be_scored(
    tmp_path: Path, name: str, content: bytes, sentence: str
) -> None:
    file = tmp_path / name
    file.write_bytes(content)
    assert refusal("score", str(file)).startswith(f"{file}: {sentence}")


def test_a_document_is_not_a_log(tmp_path: Path) -> None:
    document = tmp_path / "good.yaml"
    document.write_text(GOOD)
    assert refusal("score", str(document)).startswith(f"{document}: line 1: not a message of a log")


def test_all_documents_that_are_not_valid_are_reported_in_one_sentence(tmp_path: Path) -> None:
    good, untitled, endless = (tmp_path / f"{name}.yaml" for name in ("good", "untitled", "endless"))
    good.write_text(GOOD)
    untitled.write_text(GOOD.replace("title: An OCS dies", "title: ''", 1))
    before, _, after = GOOD.partition("ends_within: 4h")
    endless.write_text(f"{before}ends_within: soon{after}")
    line = before.count("\n") + 1
    assert refusal("validate", *map(str, (untitled, good, endless, tmp_path))) == (
        f"{untitled}: line 1: title: '' is not allowed; must be a title; {endless}: line {line}: "
        "extensions.0.ends_within: 'soon' is not allowed; must be a duration such as 30s, 15m, 2h or 1d12h; "
        f"{tmp_path}: must be a text file, not a folder, pipe or device"
    )
    assert run("validate", str(good)).returncode == 0
