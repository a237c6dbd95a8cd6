"""Thresholds follow the models: the twin's own limits, the codes, and pods as made."""

import numpy as np
import pytest

from schemas.config.pods import SuperpodConfig
from schemas.config.transceivers import TransceiversConfig
from schemas.messages.ocs import CircuitsConnected
from services.transceivers.service import SERVICE
from services.transceivers.state import TransceiversState
from services.transceivers.telemetry import readings_of
from shared.basics.units import US_PER_DAY
from shared.models.optics.fec import decoded_log10
from shared.models.optics.lane_light import slicer_snr_db
from shared.models.optics.module_kinds import lane_rate
from shared.models.optics.receiver import BER_THRESHOLD, Receiver
from shared.models.telemetry.module_fields import MODULE_FIELDS
from shared.models.telemetry.module_readings import module_flags
from tests.support.rig import Bench


def test_errors_are_flagged_where_the_twin_calls_a_link_degraded_or_down() -> None:
    config = TransceiversConfig()
    assert MODULE_FIELDS["ber"].high_warning == config.degraded_above_ber
    assert MODULE_FIELDS["ber"].high_alarm == config.down_above_ber == BER_THRESHOLD


def test_raw_errors_and_snr_are_flagged_where_the_inner_code_leaves_as_much() -> None:
    receiver, raw, snr = Receiver(lane_rate("50G-PAM4")), MODULE_FIELDS["raw_ber"], MODULE_FIELDS["snr_db"]
    for bound, least_db, left in (
        (raw.high_warning, snr.low_warning, MODULE_FIELDS["ber"].high_warning),
        (raw.high_alarm, snr.low_alarm, MODULE_FIELDS["ber"].high_alarm),
    ):
        assert bound is not None
        assert least_db is not None
        assert left is not None
        before = np.log10(np.array([bound]))
        assert decoded_log10(before, receiver.errors_per_decision)[0] == pytest.approx(
            np.log10(left), abs=0.1
        )
        (needed_db,) = slicer_snr_db(before, receiver).tolist()
        assert needed_db <= least_db < needed_db + 0.6


@pytest.mark.parametrize(("seed", "rate"), [(7, "50G-PAM4"), (1, "50G-PAM4"), (3, "100G-PAM4")])
def test_a_pod_as_made_reads_normally_and_raises_no_flag(seed: int, rate: str) -> None:
    config = SuperpodConfig(seed=seed, transceivers=TransceiversConfig.model_validate({"lane_rate": rate}))
    bench = Bench([SERVICE], config)
    joins = tuple((d, cube, (cube + seed) % 64) for d in range(3) for cube in range(64))
    bench.say(CircuitsConnected(slice="pod-0/slice-0", joins=joins, missing_ocs=(), missing_ports=()), 100)
    state = bench.state("transceivers")
    assert isinstance(state, TransceiversState)
    for day in (1, 100, 200):
        said = readings_of(state, np.arange(64 * 96), day * US_PER_DAY)
        warnings, alarms = module_flags(said)
        assert not warnings.any()
        assert not alarms.any()
        for name, field in MODULE_FIELDS.items():
            low, high = field.usual
            assert low <= said.field(name).min()
            assert said.field(name).max() <= high
