"""The living half of `python -m tools.bench --only dcn`: every goal has its figure."""

import pytest

from tools.bench import dcn_lab


@pytest.mark.slow("runs labs to measure them")
def test_a_month_a_year_and_a_campus_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dcn_lab, "BLOCKS", 4)
    monkeypatch.setattr(dcn_lab, "MONTH_DAYS", 1.0)
    monkeypatch.setattr(dcn_lab, "CAMPUS_DAYS", 0.2)
    month, year, campus = dcn_lab.measure_dcn_lab(quick=True)
    assert (month.name, year.name, campus.name) == (
        "dcn living month",
        "dcn living year",
        "dcn campus in the lab",
    )
    assert year.goal == "at most 120, aiming at 60"
    # The month here has one day, and a year has 365 of them.
    assert year.value == pytest.approx(365.0 * month.value, rel=0.5, abs=365.0 * 0.006)
    assert month.value > 0.0
    assert campus.value > 1.0


def test_the_large_network_is_as_by_default_but_for_its_size() -> None:
    config = dcn_lab.large_network()
    assert sum(row.count for row in config.network.blocks) == dcn_lab.BLOCKS == 64
    assert config.demand.interval_s == 3_600
    assert config.failures.enabled
    assert (config.traffic, config.topology) == (type(config.traffic)(), type(config.topology)())
