"""The inputs of telemetry, against the plain chain of the link; and cached values, against computed ones."""

import math
from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.models.optics.lane_ber import evaluate
from shared.models.optics.lane_light import KnownLight, LaneLight, lane_light, slicer_snr_db
from shared.models.optics.link_design import LinkDesign, Strands
from shared.models.optics.module_kinds import lane_rate
from shared.models.optics.ocs_strands import strands_of
from shared.models.optics.pod_links import lanes_of
from shared.models.optics.receiver import Receiver

DESIGN = LinkDesign()
ENDS = np.arange(96 * 8)
PEERS = (ENDS + 96 + 16 * (1 - 2 * (ENDS % 96 // 16 % 2))) % (96 * 8)
"""The facing ends of the next cube."""


def strands(excess_db: float = 0.0) -> Strands:
    return Strands(strands_of(7, "pod-0", ENDS, PEERS), np.full((len(ENDS), 1), excess_db))


@pytest.mark.parametrize("design", [DESIGN, LinkDesign(rate=lane_rate("25G-NRZ"), soft_fec=False)])
def test_the_light_of_a_lane_is_that_of_the_plain_chain(design: LinkDesign) -> None:
    lanes = lanes_of(7, "pod-0", 8, ENDS, PEERS)
    found = lane_light(design, strands(1.0), lanes)
    plain = evaluate(design, strands(1.0), lanes)
    shape = found.received_dbm.shape
    assert shape == (len(ENDS), 8)
    assert found.received_dbm == pytest.approx(plain.received_dbm.reshape(shape))
    assert found.interference_db == pytest.approx(plain.interference_db.reshape(shape))
    assert found.log10_raw_ber == pytest.approx(np.log10(plain.raw_ber).reshape(shape), abs=1e-3)
    assert found.log10_ber == pytest.approx(plain.log10_ber.reshape(shape), abs=3e-3)


def test_cached_values_equal_computed_ones_after_any_change() -> None:
    known = KnownLight(DESIGN, len(ENDS))
    lanes = lanes_of(7, "pod-0", 8, ENDS, PEERS)
    some = ENDS[::7]
    dirty = np.where(ENDS == 14, 2.0, 0.0)[:, None]
    for now, numbers in (
        (strands(), ENDS),
        (strands(), ENDS),
        (replace(strands(), near_excess_db=dirty), ENDS),
        (replace(strands(), near_excess_db=dirty[some]), some),
        (strands(), ENDS[::-1]),
    ):
        rows = numbers
        ocs = strands_of(7, "pod-0", rows, PEERS[rows])
        asked = replace(now, ocs=ocs)
        found = known.of(rows, asked, lanes.part(rows))
        expected = lane_light(DESIGN, asked, lanes.part(rows))
        for field in fields(LaneLight):
            assert getattr(found, field.name).tolist() == getattr(expected, field.name).tolist()


@given(st.floats(0.5, 12.0), st.sampled_from(["50G-PAM4", "25G-NRZ"]))
def test_the_ratio_at_the_slicer_is_that_of_evenly_spaced_levels_in_noise(q: float, name: str) -> None:
    receiver = Receiver(lane_rate(name))
    raw = receiver.errors_per_decision * 0.5 * math.erfc(q / math.sqrt(2.0))
    (ratio_db,) = slicer_snr_db(np.array([math.log10(raw)]), receiver).tolist()
    levels = np.arange(receiver.levels) * 2.0 * q  # in units of the noise
    power = float(np.mean((levels - levels.mean()) ** 2))
    assert ratio_db == pytest.approx(10.0 * math.log10(power), abs=0.01)


def test_where_decisions_only_guess_there_is_no_signal_over_the_noise() -> None:
    receiver = Receiver(lane_rate("50G-PAM4"))
    guess = math.log10(0.5 * receiver.errors_per_decision)
    assert slicer_snr_db(np.array([guess, 0.0]), receiver).tolist() == [-math.inf, -math.inf]
    assert np.isnan(slicer_snr_db(np.array([math.nan]), receiver)).all()
