"""Claims about links: the gains of mitigation and the inner code, and the margins of a whole pod's ports."""

import math
from functools import lru_cache

from ops.reproduce.claim import Measured, PaperClaim, Stated, calibrated, derived
from shared.models.assumptions import assumed
from shared.models.optics.lane_parts import CirculatorName
from shared.models.optics.link_design import LinkDesign
from shared.models.optics.manufactured_modules import SHIPPED_SIGMAS
from shared.models.optics.module_kinds import lane_rate
from shared.models.optics.qualification import Conditions, Qualification, qualify_pod
from shared.models.optics.receiver import BER_THRESHOLD
from shared.models.optics.sensitivity import sensitivity_dbm

SEED = 0
RATE, FAST_RATE = "50G-PAM4", "100G-PAM4"
SEEDS = (0, 1, 2, 3)
RETURN_LOSSES_DB = (-44, -28)
"""Bounds of the search for the port reflection that still works, in dB."""
MPI_DB = -32.0
"""Interference over signal in [LF] Figures 11 and 12, in dB."""


def needed_dbm(mpi_db: float = MPI_DB, *, mitigation: bool = False, soft_fec: bool = False) -> float:
    """Return the received power at which one lane just meets the threshold, in dBm."""
    return sensitivity_dbm(RATE, mpi_db, BER_THRESHOLD, mitigation=mitigation, soft_fec=soft_fec)


def _soft_fec_gain_db() -> float:
    return needed_dbm() - needed_dbm(soft_fec=True)


@lru_cache(maxsize=8)
def qualified(
    *,
    mitigation: bool = True,
    soft_fec: bool = True,
    rate: str = RATE,
    circulator: CirculatorName = "integrated",
) -> Qualification:
    """Qualify every link end of a pod with each of its 64 possible partners, with parts manufactured from a
    seed."""
    design = LinkDesign(lane_rate(rate), mitigation=mitigation, soft_fec=soft_fec, circulator=circulator)
    return qualify_pod(Conditions(seed=SEED, design=design))


def _worst_of(found: Qualification) -> float:
    return float((found.threshold_log10 - found.log10_ber).min())


def _mitigation_in_the_pod() -> Measured:
    """Return by how many orders of magnitude mitigation improves the worst pairing."""
    with_it, without = qualified(), qualified(mitigation=False)
    no_code = qualified(soft_fec=False)
    return Measured(
        _worst_of(with_it) - _worst_of(without),
        note=f"{without.ends_above} ports fail without it, {no_code.ends_above} without the inner code; "
        f"interference on a pairing's worst lane is at most {float(with_it.interference_db.max()):.1f} dB",
    )


def _external() -> Measured:
    found = qualified(circulator="external")
    return Measured(
        len(found.log10_ber) - found.ends_above, note=f"the worst margin is {_worst_of(found):.2f} orders"
    )


def _worst_margin() -> Measured:
    """Return the orders of magnitude between the worst pairing and the threshold. The note counts pairings
    with less margin than intended."""
    found = qualified()
    margins = found.threshold_log10 - found.log10_ber
    return Measured(
        float(margins.min()),
        note=f"{int((margins < 1.5).sum())} of {margins.size:,} pairings have less than 1.5; the scatter of "
        f"bursts leaves at most {_bursts_leave():.2f}",
    )


def _bursts_leave() -> float:
    """Return the orders of magnitude below the threshold of a receiver with the most bursts that ships."""
    most = math.log10(assumed("burst_error_ber")) + SHIPPED_SIGMAS * assumed("burst_error_sigma_orders")
    return math.log10(BER_THRESHOLD) - most


def _modulated_directly() -> Measured:
    """Return the number of pairings that exceed the threshold with directly modulated lasers."""
    found = qualify_pod(Conditions(SEED, design=LinkDesign(laser="DML")))
    return Measured(
        found.pairings_above,
        note=f"the worst margin is {_worst_of(found):.2f} orders, with EMLs {_worst_of(qualified()):.2f}",
    )


def _most_reflecting_db() -> Measured:
    """Return the maximum reflection of all ports in whole decibels at which all pairings stay within the
    threshold: the mean over several manufactured pods. The note has each of them."""
    found = [_most_reflecting(seed) for seed in SEEDS]
    each = ", ".join(f"{most}" for most in found)
    return Measured(sum(found) / len(found), note=f"pods of the seeds 0 to {SEEDS[-1]}: {each} dB")


def _most_reflecting(seed: int) -> int:
    least, most = RETURN_LOSSES_DB
    while most - least > 1:
        middle = (least + most) // 2
        holds = qualify_pod(Conditions(seed, return_loss_db=middle)).qualified
        least, most = (middle, most) if holds else (least, middle)
    return least


CLAIMS: tuple[PaperClaim, ...] = (
    PaperClaim(
        "light/mitigation-gain",
        "Interference mitigation gains more than 1 dB at an MPI of −32 dB and 2×10⁻⁴",
        "[LF] 4.1.2, Fig. 11",
        Stated(1, "dB", "above"),
        calibrated(
            "interference_overlap, to all of it, and an extinction ratio of 5 dB: above 1 dB only for light "
            "in the signal's polarisation and below 5.2 dB"
        ),
        "model",
        lambda: needed_dbm() - needed_dbm(mitigation=True),
        "the notch removes the whole tone of both carriers of one reflection; at more usual values of "
        "polarisation and extinction it gains 0.5 to 1.1 dB",
    ),
    PaperClaim(
        "light/soft-fec-gain",
        "The inner code alone gains 1.6 dB at an MPI of −32 dB and 2×10⁻⁴",
        "[LF] 4.1.2, Fig. 12",
        Stated(1.6, "dB", 0.05),
        calibrated("inner_decoder_loss_db to this figure: without it the code gains 1.8 dB"),
        "model",
        _soft_fec_gain_db,
    ),
    PaperClaim(
        "light/soft-fec-percent",
        "The inner code makes the receiver 45 % more sensitive",
        "[LF] 4.1.2, Fig. 12",
        Stated(45, "%", 0.5),
        calibrated("inner_decoder_loss_db to the same gain in decibels"),
        "model",
        lambda: 100.0 * math.expm1(_soft_fec_gain_db() * math.log(10.0) / 10.0),
        "the gain of light/soft-fec as a ratio of powers",
    ),
    PaperClaim(
        "light/ports-within",
        "All ports of a superpod meet 2×10⁻⁴ with every partner",
        "[LF] Fig. 13",
        Stated(6144, "ports"),
        calibrated("laser_launch_dbm to two orders of margin of the worst pairing"),
        "model",
        lambda: len(qualified().log10_ber) - qualified().ends_above,
        "with mitigation and inner code, and modules with manufacturing variation",
    ),
    PaperClaim(
        "light/ports-within-fast",
        "With the newest modules, of 100 Gb/s per lane, all ports meet 2×10⁻⁴ as well",
        "[LF] 3.3.1 (derived)",
        Stated(6144, "ports"),
        derived(
            "the paper names the rate, but gives no figure for a pod with it: laser_fast_launch_dbm and "
            "receiver_fast_noise_pa_per_rthz were set to about the margin of 50 Gb/s"
        ),
        "model",
        lambda: len(qualified(rate=FAST_RATE).log10_ber) - qualified(rate=FAST_RATE).ends_above,
        "the receiver has twice the bandwidth and less noise per hertz, which is optimistic",
    ),
    PaperClaim(
        "light/mitigation-in-the-pod",
        "Mitigation, one of two blocks made for the modules, improves a pod's worst pairing",
        "[LF] 3.3.2, 4.1.2 (derived)",
        Stated(0, "orders of magnitude", "above"),
        derived("the paper measures it on a receiver (Fig. 11), and has no pod without it"),
        "model",
        _mitigation_in_the_pod,
        "few lanes have two lasers near enough to beat, and reflections are so weak that light or bursts "
        "decide: in this pod the inner code has all of the effect; mitigation helps if reflections are "
        "stronger",
    ),
    PaperClaim(
        "light/circulators-external",
        "With external circulators, like the first ones, all ports meet 2×10⁻⁴ as well",
        "[LF] App. B (derived)",
        Stated(6144, "ports"),
        derived("the first ones were external; the paper has no figure for a pod with them at this rate"),
        "model",
        _external,
        "external_circulator_* are assumed; the first ones served slower modules",
    ),
    PaperClaim(
        "light/margin-worst",
        "All pairings have about two orders of magnitude of margin, even the worst",
        "[LF] 4.1.2, Fig. 13",
        Stated(2, "orders of magnitude", 0.5),
        calibrated(
            "laser_launch_dbm, from below: with half a decibel less, the worst pairing has too little "
            "margin; with more, burst_error_ber limits it, which is fitted to the figure as well"
        ),
        "model",
        _worst_margin,
    ),
    PaperClaim(
        "light/margin-median",
        "The median pairing has about two orders of magnitude of margin as well",
        "[LF] 4.1.2, Fig. 13 (derived)",
        Stated(2, "orders of magnitude", 0.5),
        derived(
            "no paper states a median: we read two orders of all pairings as two orders of each, and fit "
            "burst_error_ber to them; without bursts the median would have twelve"
        ),
        "model",
        lambda: qualified().median_margin_orders,
        "read as the margin of the worst alone, the figure needs no bursts: good ports then have many "
        "orders more",
    ),
    PaperClaim(
        "light/return-loss-specification",
        "Ports may reflect −38 dB: if all reflected more, some pairings would exceed the threshold",
        "[LF] 4.1.1 (derived)",
        Stated(-38, "dB", 1),
        derived(
            "the paper specifies the ports, but not what fails beyond; the launched power, which the "
            "margins bound from below only, moves this: one decibel more moves it by 2 dB"
        ),
        "model",
        _most_reflecting_db,
        "whole decibels. The first lanes to fail have two lasers near each other, which depends on the "
        "temperature; all light is in the signal's polarisation. A draft that added the reflections of an "
        "end as fields had -40 dB (-38 to -42), for which the row would not hold",
    ),
    PaperClaim(
        "light/eml-critical",
        "Externally modulated lasers (EMLs) are critical against interference: with directly modulated ones "
        "(DMLs), not every pairing is within 2×10⁻⁴",
        "[LF] Appendix C.1 (derived)",
        Stated(0, "pairings", "above"),
        derived("the paper has a word and no figure: we read critical as failing pairings of a pod"),
        "model",
        _modulated_directly,
        "directly_modulated_* are assumed: 1.5 dB more light outweighs the lost notch. If DMLs launch no "
        "more than EMLs, some fail, most of them by their lower extinction ratio and not by interference",
    ),
)
