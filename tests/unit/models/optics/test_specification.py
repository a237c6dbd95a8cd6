"""The plot that gives the reason for the specified return loss."""

import math

import numpy as np

from ops.models.optics.specification import RETURN_LOSSES_DB, specification_chart, sweeps
from shared.models.optics.link import LinkDesign, Switched, evaluate
from shared.models.optics.receiver import BER_THRESHOLD

AIDED, BARE = "with mitigation and soft FEC", "with neither"


def at(return_loss_db: float) -> dict[tuple[str, str], float]:
    """log10 of the bit error rate by (pair, aids)."""
    place = int(np.abs(RETURN_LOSSES_DB - return_loss_db).argmin())
    return {(sweep.pair, sweep.aids): sweep.log10_ber[place] for sweep in sweeps()}


def test_the_specification_is_met_with_both_aids_alone() -> None:
    """[LF] 4.1.1, 4.1.2: no port reflects more than −38 dB."""
    threshold = math.log10(BER_THRESHOLD)
    specified, relaxed = at(-38.0), at(-30.0)
    assert specified["worst", AIDED] < threshold < relaxed["worst", AIDED]
    assert specified["worst", BARE] > threshold
    assert at(-46.0)["median", BARE] < threshold


def test_curves_rise_with_reflection_and_are_those_of_the_link() -> None:
    for sweep in sweeps():
        assert list(sweep.log10_ber) == sorted(sweep.log10_ber)
    worst = next(sweep for sweep in sweeps() if (sweep.pair, sweep.aids) == ("worst", AIDED))
    ports = np.asarray(RETURN_LOSSES_DB[0])
    link = evaluate(LinkDesign(), Switched(np.asarray(worst.insertion_loss_db), ports, ports))
    assert abs(worst.log10_ber[0] - float(link.log10_ber.max())) < 1e-3


def test_the_chart_draws_them_all() -> None:
    chart = specification_chart()
    assert [list(trace.y) for trace in chart.data] == [list(sweep.log10_ber) for sweep in sweeps()]
    assert len({trace.name for trace in chart.data}) == 4
