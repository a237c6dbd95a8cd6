"""`lightwave audit` finds the twin that LIGHTWAVE_URL names."""

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from ops.cli.main import root
from shared.basics.errors import NotFound, TwinUnreachable
from tests.support.fake_twin import answering, as_json

CLEAN: dict[str, Any] = {"clean": True, "sites": []}


def test_a_twin_kept_elsewhere_is_audited_there(monkeypatch: pytest.MonkeyPatch) -> None:
    about = {"runtime": "embedded", "version": "1.0", "place": "/no/such/folder"}
    with answering({"/v1/twin": [as_json(about)]}) as twin:
        monkeypatch.setenv("LIGHTWAVE_URL", twin.url)
        done = CliRunner().invoke(root, ["audit"])
    assert isinstance(done.exception, NotFound)
    assert "its folder /no/such/folder is not on this machine" in str(done.exception)


def test_a_named_twin_that_does_not_answer_is_not_taken_for_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIGHTWAVE_URL", "http://127.0.0.1:1")
    assert isinstance(CliRunner().invoke(root, ["audit"]).exception, TwinUnreachable)


def test_the_folder_of_the_named_twin_is_audited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    about = {"runtime": "embedded", "version": "1.0", "place": str(tmp_path)}
    with answering({"/v1/twin": [as_json(about)]}) as twin:
        monkeypatch.setenv("LIGHTWAVE_URL", twin.url)
        done = CliRunner().invoke(root, ["audit"])
    assert isinstance(done.exception, NotFound)
    assert str(done.exception) == f"data folder {tmp_path}: holds no twin"


def test_a_live_twin_is_audited_by_its_name_and_without_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    about = {"runtime": "live", "version": "1.0", "place": "a" * 32}
    audited: list[str] = []

    def audit_live(_: object, twin: str) -> dict[str, Any]:
        audited.append(twin)
        return CLEAN

    monkeypatch.setattr("ops.cli.run.audit._audit_live", audit_live)
    with answering({"/v1/twin": [as_json(about)] * 2}) as twin:
        monkeypatch.setenv("LIGHTWAVE_URL", twin.url)
        assert CliRunner().invoke(root, ["audit"]).exit_code == 0
        refused = CliRunner().invoke(root, ["audit", "--jobs", "2"])
    assert audited == ["a" * 32]
    assert "--jobs: requires an embedded twin, and the twin at" in refused.output
