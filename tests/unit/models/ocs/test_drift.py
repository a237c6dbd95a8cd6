"""Mirrors without camera control walk at random, independently of each other."""

import math

import numpy as np
import pytest

from shared.models.ocs.camera_alignment import drift_loss_db
from shared.models.ocs.drift import array_of, drifted_db, step_nrad
from shared.models.ocs.ocs_assumptions import assumed

PORTS, OCSES = 136, 48


def walked(hours: int, ocs: int = 17, side: int = 0) -> np.ndarray:
    return sum(
        (step_nrad(7, "pod-0", ocs, side, hour, PORTS) for hour in range(hours)),
        np.zeros((2, PORTS), dtype=np.int64),
    )


@pytest.mark.parametrize("hours", [1, 24])
def test_the_mean_loss_of_mirrors_matches_the_closed_form(hours: int) -> None:
    loss_db = np.concatenate([drifted_db(walked(hours, ocs)) for ocs in range(OCSES)])
    # The loss of one mirror is exponentially distributed: its standard deviation is its mean.
    mean_db = drift_loss_db(hours, arrays=1)
    assert loss_db.mean() == pytest.approx(mean_db, abs=5 * mean_db / math.sqrt(len(loss_db)))
    assert (loss_db > 3 * mean_db).mean() == pytest.approx(math.exp(-3), abs=0.01)


def test_steps_are_normal_and_depend_on_nothing_but_their_key() -> None:
    steps = np.concatenate([step_nrad(7, "pod-0", ocs, 1, 5, PORTS).ravel() for ocs in range(OCSES)]) / 1_000
    assert steps.std() == pytest.approx(assumed("drift_urad_per_rt_h"), rel=0.05)
    assert abs(steps.mean()) < 5 * assumed("drift_urad_per_rt_h") / math.sqrt(len(steps))
    one = step_nrad(7, "pod-0", 17, 0, 5, PORTS)
    assert (step_nrad(7, "pod-0", 17, 0, 5, 296)[:, :PORTS] == one).all()  # as in a larger pod
    assert abs(np.corrcoef(one[0], one[1])[0, 1]) < 0.4
    others = [(8, "pod-0", 17, 0, 5), (7, "pod-1", 17, 0, 5), (7, "pod-0", 16, 0, 5), (7, "pod-0", 17, 1, 5)]
    for key in [*others, (7, "pod-0", 17, 0, 6)]:
        assert abs(np.corrcoef(step_nrad(*key, PORTS)[0], one[0])[0, 1]) < 0.4


def test_which_fault_affects_which_array() -> None:
    assert array_of("pod-0/ocs-17/camera-N") == (17, 0)
    assert array_of("pod-0/ocs-3/injector-S") == (3, 1)
    for part in (
        "pod-0/ocs-17",
        "pod-0/ocs-17/cpu",
        "pod-0/ocs-17/N24",
        "pod-0/cube-1/+x/7",
        "pod-0/batch-7",
    ):
        assert array_of(part) is None
