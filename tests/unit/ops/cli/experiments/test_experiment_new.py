"""`experiment new`: a short example, or a copy of a predefined experiment."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from ops.cli.main import root
from ops.experiments.library import TEMPLATE, library_path, ready
from ops.experiments.loader import read_experiment
from shared.basics.errors import InvalidInput, NotFound


@pytest.mark.parametrize("name", [name for name, _ in ready()])
def test_a_copy_of_a_predefined_experiment_is_valid(tmp_path: Path, name: str) -> None:
    copy = tmp_path / "mine.yaml"
    assert CliRunner().invoke(root, ["experiment", "new", str(copy), "--from", name]).exit_code == 0
    assert copy.read_text() == library_path(name).read_text()
    assert read_experiment(copy).variants


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    assert CliRunner().invoke(root, ["experiment", "new", str(path)]).exit_code == 0
    assert path.read_text() == TEMPLATE
    for words in ([], ["--from", "hazards"]):
        again = CliRunner().invoke(root, ["experiment", "new", str(path), *words])
        assert isinstance(again.exception, InvalidInput)
    assert path.read_text() == TEMPLATE


def test_an_unknown_name_is_not_found(tmp_path: Path) -> None:
    done = CliRunner().invoke(root, ["experiment", "new", str(tmp_path / "x.yaml"), "--from", "hazrds"])
    assert isinstance(done.exception, NotFound)
    assert "; the nearest is hazards" in str(done.exception)
