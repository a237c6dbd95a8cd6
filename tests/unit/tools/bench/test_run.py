"""The help of `python -m tools.bench`, and its errors."""

import sys

import pytest
from typer.testing import CliRunner

from tools.bench.__main__ import app, main
from tools.bench.run import GROUPS


def test_the_help_names_every_group() -> None:
    text = " ".join(CliRunner().invoke(app, ["--help"]).stdout.split())
    assert all(f" {name}," in text or f" {name} or " in text or f" {name};" in text for name in GROUPS)


def test_an_unknown_group_is_an_error_in_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["bench", "--only", "all"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert capsys.readouterr().err.startswith("lightwave: --only all: ")
