"""`lightwave audit` finds the twin that LIGHTWAVE_URL names."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from ops.cli.main import root
from shared.basics.errors import NotFound, TwinUnreachable
from tests.support.fake_twin import answering, as_json


def test_a_twin_kept_elsewhere_is_audited_there(monkeypatch: pytest.MonkeyPatch) -> None:
    about = {"runtime": "embedded", "version": "1.0", "place": "/no/such/folder"}
    with answering({"/v1/twin": [as_json(about)]}) as twin:
        monkeypatch.setenv("LIGHTWAVE_URL", twin.url)
        said = CliRunner().invoke(root, ["audit"])
    assert isinstance(said.exception, NotFound)
    assert "is kept in /no/such/folder, which is not on this machine" in str(said.exception)


def test_a_named_twin_that_does_not_answer_is_not_taken_for_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIGHTWAVE_URL", "http://127.0.0.1:1")
    assert isinstance(CliRunner().invoke(root, ["audit"]).exception, TwinUnreachable)


def test_the_folder_of_the_named_twin_is_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    about = {"runtime": "embedded", "version": "1.0", "place": str(tmp_path)}
    with answering({"/v1/twin": [as_json(about)]}) as twin:
        monkeypatch.setenv("LIGHTWAVE_URL", twin.url)
        said = CliRunner().invoke(root, ["audit"])
    assert isinstance(said.exception, NotFound)
    assert str(said.exception) == f"data folder {tmp_path}: holds no twin"
