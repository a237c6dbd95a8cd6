"""The plot that gives the reason for the specified return loss, of a small pod."""

import math
from itertools import pairwise, product

import pytest

from ops.models.optics import return_loss_sweep
from ops.models.optics.return_loss_sweep import (
    DESIGNS,
    RETURN_LOSSES_DB,
    ReturnLossSweep,
    return_loss_chart,
    return_loss_sweeps,
)
from shared.models.optics.qualification import Conditions, qualify_pod

CUBES = 8


def test_curves_are_those_of_the_pod() -> None:
    found = {(sweep.pairing, sweep.aids): sweep.log10_ber for sweep in return_loss_sweeps(CUBES)}
    assert len(found) == 2 * len(DESIGNS)
    at = RETURN_LOSSES_DB.tolist().index(-34.0)
    alone = qualify_pod(Conditions(0, cubes=CUBES, return_loss_db=-34.0))
    assert found["worst", "with mitigation"][at] == round(float(alone.log10_ber.max()), 4)
    for (pairing, aids), rates in found.items():
        assert all(later >= sooner - 0.01 for sooner, later in pairwise(rates))
        assert all(rate <= worst for rate, worst in zip(rates, found["worst", aids], strict=True)), pairing
    assert found["worst", "without"][-1] > math.log10(2e-4), "more than is specified fails"


def test_the_chart_draws_them_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """The curves do not matter; computing them takes seconds, and the test above has spent those."""
    expected = [
        ReturnLossSweep(pairing, aids, tuple(RETURN_LOSSES_DB / (place + 2.0)))
        for place, (pairing, aids) in enumerate(product(("median", "worst"), DESIGNS))
    ]
    monkeypatch.setattr(return_loss_sweep, "return_loss_sweeps", {CUBES: expected}.__getitem__)
    chart = return_loss_chart(CUBES)
    assert [list(trace.y) for trace in chart.data] == [list(sweep.log10_ber) for sweep in expected]
    assert len({trace.name for trace in chart.data}) == len(expected)
