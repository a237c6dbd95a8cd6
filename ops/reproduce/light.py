"""Claims on links: what mitigation and the inner code gain, and how a whole pod's ports fare."""

import math
from functools import lru_cache

from ops.reproduce.claims import Claim, Stated
from shared.models.optics.link import LinkDesign
from shared.models.optics.qualification import Conditions, Qualification, qualify_pod
from shared.models.optics.receiver import BER_THRESHOLD
from shared.models.optics.sensitivity import sensitivity_dbm

SEED = 0
RATE = "50G-PAM4"
MPI_DB, CLEANER_MPI_DB = -32.0, -38.0
"""Interference over signal in [LF] Figures 11 and 12, and less of it."""
RELAXED_RETURN_LOSS_DB = -30.0
"""Against the −38 dB specified."""


def needed_dbm(mpi_db: float = MPI_DB, *, mitigation: bool = False, soft_fec: bool = False) -> float:
    """Received power at which one lane just meets the threshold."""
    return sensitivity_dbm(RATE, mpi_db, BER_THRESHOLD, mitigation=mitigation, soft_fec=soft_fec)


def _soft_fec_gain_db() -> float:
    return needed_dbm() - needed_dbm(soft_fec=True)


@lru_cache(maxsize=4)
def qualified(*, aided: bool = True, return_loss_db: float | None = None) -> Qualification:
    """Every link end of a pod with each of its 64 possible partners, as manufactured from a seed; `aided` by
    mitigation and the inner code."""
    design = LinkDesign(mitigation=aided, soft_fec=aided)
    return qualify_pod(Conditions(seed=SEED, design=design, return_loss_db=return_loss_db))


CLAIMS: tuple[Claim, ...] = (
    Claim(
        "light/mitigation-gain",
        "Interference mitigation gains more than 1 dB at an MPI of −32 dB and 2×10⁻⁴",
        "[LF] 4.1.2, Fig. 11",
        Stated(1, "dB", "above"),
        "model",
        lambda: needed_dbm() - needed_dbm(mitigation=True),
        "the notch takes off a share of the beat that is calibrated to this figure",
    ),
    Claim(
        "light/soft-fec-gain",
        "The inner code alone gains 1.6 dB at an MPI of −32 dB and 2×10⁻⁴",
        "[LF] 4.1.2, Fig. 12",
        Stated(1.6, "dB", 0.2),
        "model",
        _soft_fec_gain_db,
        "calibrated to this figure",
    ),
    Claim(
        "light/soft-fec-percent",
        "That is a receiver 45 % more sensitive",
        "[LF] 4.1.2, Fig. 12",
        Stated(45, "%", 5.0),
        "model",
        lambda: 100.0 * math.expm1(_soft_fec_gain_db() * math.log(10.0) / 10.0),
        "the gain before as a ratio of powers, and so calibrated as well",
    ),
    Claim(
        "light/interference-costs",
        "The bit error rate is sensitive to interference: −32 dB of it needs more light than −38 dB",
        "[LF] 4.1.2, Fig. 11",
        Stated(0, "dB", "above"),
        "model",
        lambda: needed_dbm() - needed_dbm(CLEANER_MPI_DB),
    ),
    Claim(
        "light/pairings",
        "6,144 receiving ports, each with 64 possible partners",
        "[LF] Fig. 13",
        Stated(64 * 6144, "pairings"),
        "model",
        lambda: qualified().log10_ber.size,
    ),
    Claim(
        "light/ports-within",
        "All ports of a superpod meet 2×10⁻⁴ with every partner",
        "[LF] Fig. 13",
        Stated(6144, "ports"),
        "model",
        lambda: len(qualified().log10_ber) - qualified().ends_above,
        "with mitigation and inner code",
    ),
    Claim(
        "light/margin",
        "They do so with about two orders of magnitude of margin",
        "[LF] Fig. 13",
        Stated(2, "orders of magnitude", 0.5),
        "model",
        lambda: qualified().median_margin_orders,
        "the median of all pairings; the launch power, which no paper gives, is calibrated to it",
    ),
    Claim(
        "light/margin-unaided",
        "Without mitigation and inner code some pairings would miss the threshold",
        "[LF] 4.1.2 (derived)",
        Stated(0, "pairings above 2×10⁻⁴", "above"),
        "model",
        lambda: qualified(aided=False).pairings_above,
    ),
    Claim(
        "light/return-loss-relaxed",
        "Bidirectional links are the reason to specify return loss: at −30 dB some pairings would miss it",
        "[LF] 4.1.1 (derived)",
        Stated(0, "pairings above 2×10⁻⁴", "above"),
        "model",
        lambda: qualified(return_loss_db=RELAXED_RETURN_LOSS_DB).pairings_above,
    ),
)
