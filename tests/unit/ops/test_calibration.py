"""Calibrations: the provided ones, and the sentence for each error."""

import math
from pathlib import Path
from typing import cast

import numpy as np
import numpy.typing as npt
import pytest

from ops.sites.calibration import CONFIDENCE_LEVELS, calibration_names, calibration_values, read_calibration
from ops.sites.site_plans import NewTwinOptions, read_site, single_fabric_sites
from schemas.config.pods import SuperpodConfig
from shared.basics.errors import InvalidInput
from shared.models.faults.hazard_variation import Variation

ROW = '{value: 0.001, source: "here", sure: assumed}'


@pytest.mark.parametrize("name", ["field", "strict"])
def test_every_kind_takes_its_parameters_from_a_provided_calibration(name: str) -> None:
    assert name in calibration_names()
    assert {row.sure for row in read_calibration(name)} <= set(CONFIDENCE_LEVELS)
    for kind in ("superpod", "static-pod", "dcn"):
        (site,) = single_fabric_sites(1, kind=kind, calibration=name)
        values = calibration_values(name, kind)
        config = site.fabrics[next(iter(site.fabrics))]
        for dotted, value in values.items():
            section, field = dotted.split(".")
            assert getattr(getattr(config, section), field) == value
    assert "failures.ocs_per_day" not in calibration_values(name, "static-pod")
    assert "failures.host_per_day" not in calibration_values(name, "dcn")


def samples_of_a_fleet(by: Variation, per_week: float, runs: int = 1000) -> npt.NDArray[np.float64]:
    """Return (variation, autocorrelation at one and at four weeks) of the failures of 100 weeks, with chance;
    shape (runs, 3)."""
    random, weeks = np.random.default_rng(1), 100
    level, days = random.standard_normal(runs), np.empty((runs, 7 * weeks))
    for day in range(7 * weeks):
        days[:, day] = np.exp(by.spread * level - 0.5 * by.spread**2)
        level = by.kept * level + math.sqrt(1 - by.kept**2) * random.standard_normal(runs)
    weekly = random.poisson(per_week * days.reshape(runs, weeks, 7).mean(axis=2)).astype(np.float64)
    apart = weekly - weekly.mean(axis=1, keepdims=True)
    squares = (apart**2).sum(axis=1)
    memory = [(apart[:, k:] * apart[:, :-k]).sum(axis=1) / squares for k in (1, 4)]
    return np.column_stack([weekly.std(axis=1) / weekly.mean(axis=1), *memory])


@pytest.mark.parametrize(
    ("group", "parts", "published"),
    [
        ("host", 1024, (0.30, 0.63, 0.02)),
        ("link", 6144, (0.39, 0.82, 0.42)),
        ("ocs", 48, (0.43, 0.82, 0.50)),
    ],
)
def test_the_published_figures_are_plausible_for_200_pods(
    group: str, parts: int, published: tuple[float, float, float]
) -> None:
    """The figures of NSDI 2024 are within the central 95 % of samples of 100 weeks, and near their mean; for
    constant hazards they are far outside."""
    values = {name: cast("float", value) for name, value in calibration_values("field", "superpod").items()}
    per_week = 200 * parts * values[f"failures.{group}_per_day"] * 7
    by = Variation(values[f"failures.{group}_variation"], values[f"failures.{group}_memory_days"])
    samples = samples_of_a_fleet(by, per_week)
    low, high = np.quantile(samples, [0.025, 0.975], axis=0)
    assert ((low <= published) & (published <= high)).all(), (low, published, high)
    assert samples[:, 0].mean() == pytest.approx(published[0], abs=0.02)
    constant = samples_of_a_fleet(Variation(0.0, 1.0), per_week)
    assert constant[:, 0].max() < published[0]
    assert constant[:, 1].max() < published[1]


def test_set_values_override_the_calibration_and_it_the_defaults() -> None:
    (site,) = single_fabric_sites(1, pairs=["failures.host_per_day=0.5"], calibration="field")
    config = site.fabrics["pod-0"]
    assert isinstance(config, SuperpodConfig)
    assert config.failures.host_per_day == 0.5
    assert config.repairs.burn_in_h == 12.0
    assert config.jobs.hang_share == SuperpodConfig().jobs.hang_share


def test_a_site_file_names_one_calibration_for_all_its_fabrics(tmp_path: Path) -> None:
    path = tmp_path / "site.yaml"
    path.write_text(
        "site: campus\ncalibration: field\nfabrics:\n- {name: pod-0, config: {repairs: {burn_in_h: 3.0}}}\n"
    )
    config = read_site(path).fabrics["pod-0"]
    assert isinstance(config, SuperpodConfig)
    assert (config.repairs.burn_in_h, config.repairs.misdiagnosed) == (3.0, 0.1)
    with pytest.raises(InvalidInput, match="--calibration: cannot be combined with --site"):
        NewTwinOptions(site_files=(path,), calibration="field").sites()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "is not allowed; must be parameters"),
        ("[1]", "is not allowed; must be parameters"),
        (f"failures.hosts_per_day: {ROW}", "no such parameter; the nearest is failures.host_per_day"),
        ("failures.host_per_day: 3", "must be value, source, sure, all three"),
        ('failures.host_per_day: {value: 1, source: "s"}', "must be value, source, sure, all three"),
        ('failures.host_per_day: {value: 0.1, source: "s", sure: very}', "sure 'very' is not allowed"),
        ('failures.host_per_day: {value: 0.1, source: "s", sure: []}', "sure [] is not allowed"),
        ("failures.host_per_day: {value: 0.1, source: null, sure: assumed}", "source null is not allowed"),
        (
            'failures.host_per_day: {value: -1, source: "s", sure: assumed}',
            "-1 is not allowed",
        ),
        ('repairs.shift_ends_h: {value: 2.0, source: "s", sure: assumed}', "is not after shift_begins_h, 8"),
        ("a: [", "not YAML"),
    ],
)
def test_an_invalid_calibration_is_refused_in_one_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    with pytest.raises(InvalidInput) as refused:
        read_calibration(str(path))
    assert str(refused.value).startswith(f"calibration {path}: ")
    assert sentence in str(refused.value)


def test_an_unknown_calibration_is_named_with_the_nearest() -> None:
    with pytest.raises(InvalidInput, match="the nearest is field"):
        read_calibration("feild")
    with pytest.raises(InvalidInput, match="No such file"):
        read_calibration("no-such-file.yaml")
