"""The file of tokens: names and roles, strict syntax, and no access for other users."""

import os
from pathlib import Path

import pytest

from ops.client.token_variables import token_from_environment
from ops.serving.access_tokens import known_tokens
from services.gateway.http.access.caller import NAMELESS, Caller, Role
from shared.basics.errors import InvalidInput, OutOfFileDescriptors
from shared.storage.files.secret_files import read_secret
from tests.support.descriptors import no_descriptor_left

FIRST, SECOND = "0123456789abcdef", "fedcba9876543210"


def written(path: Path, text: str, mode: int = 0o600) -> Path:
    path.write_text(text)
    path.chmod(mode)
    return path


def test_each_line_is_a_token_with_its_name_and_role(tmp_path: Path) -> None:
    text = f"# who does what\n\nmia  reader {FIRST}\nmax@site\toperator {SECOND}\nmia reader {FIRST}2\n"
    known = known_tokens("one-token-for-all", written(tmp_path / "tokens", text, 0o400))
    assert (
        known.caller_of(f"Bearer {FIRST}")
        == known.caller_of(f"bearer {FIRST}2")
        == Caller("mia", Role.READER)
    )
    assert known.caller_of(f"Bearer {SECOND}") == Caller("max@site", Role.OPERATOR)
    assert known.caller_of("Bearer one-token-for-all") == Caller("token", Role.ADMINISTRATOR)
    for wrong in (None, "", "Bearer", f"Basic {FIRST}", FIRST, f"Bearer {FIRST}3", "Bearer \xff"):
        assert known.caller_of(wrong) is None


def test_a_token_that_is_also_in_the_file_has_the_name_of_the_file(tmp_path: Path) -> None:
    known = known_tokens(SECOND, written(tmp_path / "tokens", f"mia reader {FIRST}\nmax operator {SECOND}\n"))
    assert known.caller_of(f"Bearer {SECOND}") == Caller("max", Role.OPERATOR)
    assert known.caller_of(f"Bearer {FIRST}") == Caller("mia", Role.READER)


def test_without_tokens_local_callers_have_access() -> None:
    assert known_tokens(None, None).caller_of(None) is NAMELESS


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("mia reader", r"line 1: 2 words; must be three: NAME ROLE TOKEN"),
        (
            f"\nmia king {FIRST}",
            r"line 2: 'king' is not a role; must be one of reader, trainee, operator, admin",
        ),
        (f"m/a reader {FIRST}", r"line 1: 'm/a' is not a valid name"),
        ("mia reader short", r"token of mia: has 5 characters; must have 16 to 512"),
        (f"mia reader {FIRST}\nmax reader {FIRST}", r"token of max: must differ from the token of mia"),
    ],
)
def test_an_invalid_line_is_named_without_its_token(tmp_path: Path, text: str, why: str) -> None:
    with pytest.raises(InvalidInput, match=why) as caught:
        known_tokens(None, written(tmp_path / "tokens", text))
    assert FIRST not in str(caught.value)


def owned_by(user: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every opened file owned by this user, whichever user runs the test."""
    stat = os.fstat

    def fstat(file: int) -> os.stat_result:
        fields = list(stat(file))
        fields[4] = user
        return os.stat_result(fields)

    monkeypatch.setattr(os, "fstat", fstat)


@pytest.mark.parametrize(
    ("mode", "user"),
    [(0o440, 1_000), (0o640, 1_000), (0o604, 0), (0o644, 0), (0o660, 0), (0o650, 0), (0o777, 0)],
)
def test_a_file_that_others_may_use_is_refused(
    tmp_path: Path, mode: int, user: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path / "tokens", f"mia reader {FIRST}", mode)
    owned_by(user, monkeypatch)
    with pytest.raises(
        InvalidInput, match=rf"other users can access it \(mode {mode:o}\); the mode must be .*chmod go="
    ):
        known_tokens(None, path)


@pytest.mark.parametrize("mode", [0o440, 0o640])
def test_root_may_let_a_group_read_a_file_as_kubernetes_does(
    tmp_path: Path, mode: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path / "tokens", f"mia reader {FIRST}", mode)
    owned_by(0, monkeypatch)
    assert known_tokens(None, path).caller_of(f"Bearer {FIRST}") == Caller("mia", Role.READER)


def test_a_missing_descriptor_is_not_an_error_of_the_file(tmp_path: Path) -> None:
    """Otherwise a process would end for good, though only its descriptors were used up."""
    path = written(tmp_path / "tokens", f"mia reader {FIRST}")
    with (
        no_descriptor_left(),
        pytest.raises(OutOfFileDescriptors, match=rf"^file {path}: this process has no file"),
    ):
        read_secret(path, "file")


def test_a_pipe_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe", 0o600)
    for path, why in (
        (tmp_path / "pipe", "not a regular file"),
        (tmp_path, "directory"),
        (tmp_path / "none", "No such file"),
        (Path("/dev/zero"), "not a regular file"),
        (written(tmp_path / "large", "x" * 1_000_001), "larger than"),
    ):
        with pytest.raises(InvalidInput, match=why):
            read_secret(path, "file")
    (tmp_path / "bytes").write_bytes(b"\xff")
    (tmp_path / "bytes").chmod(0o600)
    with pytest.raises(InvalidInput, match="not UTF-8"):
        read_secret(tmp_path / "bytes", "file")


def test_a_client_takes_its_token_from_a_variable_or_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LIGHTWAVE_TOKEN", raising=False)
    monkeypatch.setenv("LIGHTWAVE_TOKEN_FILE", str(written(tmp_path / "token", f"{FIRST}\n")))
    assert token_from_environment() == FIRST
    monkeypatch.setenv("LIGHTWAVE_TOKEN", SECOND)
    with pytest.raises(InvalidInput, match="LIGHTWAVE_TOKEN and LIGHTWAVE_TOKEN_FILE: only one"):
        token_from_environment()
    monkeypatch.delenv("LIGHTWAVE_TOKEN_FILE")
    assert token_from_environment() == SECOND
