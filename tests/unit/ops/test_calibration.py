"""Calibrations: the ready ones, and what is wrong with others."""

from pathlib import Path

import pytest

from ops.common.calibration import SURE, calibrated, calibration, ready
from ops.common.sites import AskedTwin, read_site, single_fabric_sites
from schemas.config import SuperpodConfig
from shared.basics.errors import InvalidInput
from shared.models.hazards import Variation

ROW = '{value: 0.001, source: "here", sure: assumed}'


@pytest.mark.parametrize("name", ["field", "strict"])
def test_a_ready_one_is_read_and_every_kind_takes_what_it_has_of_it(name: str) -> None:
    assert name in ready()
    assert {one.sure for one in calibration(name)} <= set(SURE)
    for kind in ("superpod", "static-pod", "dcn"):
        (site,) = single_fabric_sites(1, kind=kind, calibration=name)
        values = calibrated(name, kind)
        config = site.fabrics[next(iter(site.fabrics))]
        for dotted, value in values.items():
            section, field = dotted.split(".")
            assert getattr(getattr(config, section), field) == value
    assert "failures.ocs_per_day" not in calibrated(name, "static-pod")
    assert "failures.host_per_day" not in calibrated(name, "dcn")


@pytest.mark.parametrize(
    ("group", "cv", "ac"), [("host", 0.30, 0.63), ("link", 0.39, 0.82), ("ocs", 0.43, 0.82)]
)
def test_the_fitted_hazards_vary_and_remember_as_was_published(group: str, cv: float, ac: float) -> None:
    """NSDI 2024 (FACTS 12): by week, of a fleet so large that chance does not count."""
    values = calibrated("field", "superpod")
    by = Variation(values[f"failures.{group}_variation"], values[f"failures.{group}_memory_days"])
    assert by.weekly_covariance(0) ** 0.5 == pytest.approx(cv, abs=0.002)
    assert by.weekly_autocorrelation(1) == pytest.approx(ac, abs=0.002)


def test_what_is_set_is_over_the_calibration_and_that_over_the_defaults() -> None:
    (site,) = single_fabric_sites(1, pairs=["failures.host_per_day=0.5"], calibration="field")
    config = site.fabrics["pod-0"]
    assert isinstance(config, SuperpodConfig)
    assert config.failures.host_per_day == 0.5
    assert config.repairs.burn_in_h == 12.0
    assert config.jobs.hang_share == SuperpodConfig().jobs.hang_share


def test_a_site_file_names_one_for_all_its_fabrics(tmp_path: Path) -> None:
    path = tmp_path / "site.yaml"
    path.write_text(
        "site: campus\ncalibration: field\nfabrics:\n- {name: pod-0, config: {repairs: {burn_in_h: 3.0}}}\n"
    )
    config = read_site(path).fabrics["pod-0"]
    assert isinstance(config, SuperpodConfig)
    assert (config.repairs.burn_in_h, config.repairs.misdiagnosed) == (3.0, 0.1)
    with pytest.raises(InvalidInput, match="--calibration: not together with --site"):
        AskedTwin(site_files=(path,), calibration="field").sites()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is not allowed; allowed: parameters"),
        ("[1]", "is not allowed; allowed: parameters"),
        (f"failures.hosts_per_day: {ROW}", "no such parameter; the nearest is failures.host_per_day"),
        ("failures.host_per_day: 3", "allowed: value, source, sure, all three"),
        ('failures.host_per_day: {value: 1, source: "s"}', "allowed: value, source, sure, all three"),
        ('failures.host_per_day: {value: 0.1, source: "s", sure: very}', "sure 'very' is not allowed"),
        (
            'failures.host_per_day: {value: -1, source: "s", sure: assumed}',
            "-1 is not allowed",
        ),
        ('repairs.shift_ends_h: {value: 2.0, source: "s", sure: assumed}', "is not after shift_begins_h, 8"),
        ("a: [", "not YAML"),
    ],
)
def test_one_that_is_wrong_is_refused_in_a_sentence(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    with pytest.raises(InvalidInput) as refused:
        calibration(str(path))
    assert str(refused.value).startswith(f"calibration {path}: ")
    assert said in str(refused.value)


def test_one_that_is_not_there_is_named_with_the_nearest() -> None:
    with pytest.raises(InvalidInput, match="the nearest is field"):
        calibration("feild")
    with pytest.raises(InvalidInput, match="No such file"):
        calibration("no-such-file.yaml")
