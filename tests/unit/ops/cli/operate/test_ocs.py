"""`lightwave ocs matrix` at the command line: output formats, technologies, mistakes."""

import csv
import io
import json
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pyarrow.parquet as pq
import pytest
import yaml
from click.testing import CliRunner, Result

from ops.cli.main import root
from ops.cli.operate.ocs import TECHNOLOGIES
from schemas.config.pods import PodOcsConfig
from shared.basics.errors import InvalidInput, NotFound
from shared.models.optics.palomar import insertion_loss_db, manufactured_ocses, return_loss_db

NAME, SEED = "pod-0/ocs-17", 7
CALL = ("ocs", "matrix", NAME, "--seed", str(SEED))


def run(*words: str) -> Result:
    return CliRunner().invoke(root, list(words), catch_exceptions=True)


@pytest.fixture(scope="module")
def content() -> dict[str, Any]:
    return dict(json.loads(run(*CALL, "-o", "json").stdout))


def test_the_matrix_is_that_of_a_twin_with_this_seed(content: dict[str, Any]) -> None:
    north, south = np.divmod(np.arange(136 * 136), 136)
    ocs = np.full_like(north, 17)
    loss_db = insertion_loss_db(SEED, "pod-0", ocs, north, south).reshape(136, 136)
    assert np.array(content["insertion_loss_db"]) == pytest.approx(loss_db, abs=1e-9)
    assert content["accuracy_db"] == 0.1
    ports = np.arange(136)
    for side, rows in (("N", content["ports"][:136]), ("S", content["ports"][136:])):
        assert [row["port"] for row in rows] == [f"{side}{port}" for port in ports]
        loss = return_loss_db(SEED, "pod-0", np.full_like(ports, 17), side, ports)
        assert [row["return_loss_db"] for row in rows] == loss.tolist()


def test_every_mirror_of_a_die_serves_or_is_a_spare(content: dict[str, Any]) -> None:
    """[LF] 3.2.2: 136 of 176."""
    assert content["mirrors_a_die"] == 176
    for side, rows in (("N", content["ports"][:136]), ("S", content["ports"][136:])):
        serving, spare = [row["mirror"] for row in rows], content["spare_mirrors"][side]
        assert len(spare) == 40
        assert sorted([*serving, *spare]) == list(range(176))


def test_the_result_can_be_repeated(content: dict[str, Any]) -> None:
    assert json.loads(run(*content["repeat"].split()[1:]).stdout) == content
    assert yaml.safe_load(run(*CALL, "-o", "yaml").stdout) == content


def test_csv_and_parquet_have_a_row_for_each_pair(content: dict[str, Any], tmp_path: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(run(*CALL, "-o", "csv").stdout)))
    assert len(rows) == 136 * 136
    row = rows[136 * 3 + 5]
    assert (row["ocs"], row["north"], row["south"]) == (NAME, "3", "5")
    assert float(row["insertion_loss_db"]) == content["insertion_loss_db"][3][5]
    assert float(row["north_return_loss_db"]) == content["ports"][3]["return_loss_db"]
    assert int(row["south_mirror"]) == content["ports"][136 + 5]["mirror"]
    out = tmp_path / "matrix.parquet"
    assert run(*CALL, "-o", "parquet", "--out", str(out)).exit_code == 0
    rows_read = pq.read_table(out).to_pylist()
    assert [{name: str(value) for name, value in row_read.items()} for row_read in rows_read] == rows


def test_the_table_shows_how_losses_are_spread() -> None:
    text = run(*CALL).stdout
    assert "136 of 176 mirrors of each die serve" in text
    assert "within 0.1 dB" in text
    assert text.count("spare mirrors") == 2


def test_an_ocs_without_mirrors_shows_no_mirror_readings() -> None:
    call = (*CALL, "--technology", "robotic")
    report = json.loads(run(*call, "-o", "json").stdout)
    assert report["mirrors_a_die"] is None
    assert {row["mirror"] for row in report["ports"]} == {None}
    assert np.max(report["insertion_loss_db"]) < 1.0
    assert "no mirrors" in run(*call).stdout
    first = next(csv.DictReader(io.StringIO(run(*call, "-o", "csv").stdout)))
    assert first["north_mirror"] == ""


@pytest.mark.parametrize(
    ("technology", "cubes", "ports"),
    [("guided-wave", 4, 16), ("wavelength", 46, 100), ("mems", 64, 136), ("robotic", 64, 136)],
)
def test_a_switch_has_its_own_ports_and_no_more_than_a_pod_uses(
    technology: str, cubes: int, ports: int
) -> None:
    """[LF] Table C.1; a twin of the pod has the same, port by port."""
    report = json.loads(
        run(*CALL, "--technology", technology, "--cubes", str(cubes), "-o", "json").stdout,
    )
    assert report["ports_a_side"] == ports
    assert np.array(report["insertion_loss_db"]).shape == (ports, ports)
    assert [row["port"] for row in report["ports"]][::ports] == ["N0", "S0"]
    assert len(report["ports"]) == 2 * ports
    twins = manufactured_ocses(SEED, "pod-0", 136, 48, technology).insertion_loss_db()[17]
    assert report["insertion_loss_db"] == np.round(twins[:ports, :ports], 4).tolist()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("pod-0/cube-1",), "ocs pod-0/cube-1: is not an OCS; must be a name such as pod-0/ocs-17"),
        (("pod-0/ocs-48",), "OCS 'pod-0/ocs-48': OCS 48 does not exist; must be between 0 and 47"),
        ((NAME, "--technology", "wavelength"), "wavelength has 100 ports per side"),
    ],
)
def test_each_mistake_is_an_error_in_one_sentence(words: tuple[str, ...], sentence: str) -> None:
    done = run("ocs", "matrix", *words)
    assert isinstance(done.exception, InvalidInput | NotFound)
    assert sentence in str(done.exception)


def test_parquet_is_written_only_to_a_file() -> None:
    done = run(*CALL, "-o", "parquet")
    assert done.exit_code == 2
    assert "-o parquet: is binary; name a file with --out" in done.output


def test_the_technologies_are_those_of_a_pod() -> None:
    assert get_args(PodOcsConfig.model_fields["technology"].annotation) == TECHNOLOGIES
