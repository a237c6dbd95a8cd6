"""Claims on the light's way: Palomar OCSes as manufactured, and the modules at their ends."""

import numpy as np

from ops.reproduce.claim import Measured, PaperClaim, Stated, by_construction, calibrated, derived, predicted
from shared.models.optics.module_kinds import (
    GENERATIONS,
    LANES_PER_LINK,
    MODULE_KINDS,
    SPAN_NM,
    agree,
    module,
)
from shared.models.optics.palomar import INSERTION_LOSS_TYPICAL_DB, FloatArray, manufactured_ocses

SEED, POD = 0, "pod-0"
TYPICAL = 0.95
"""Share of all pairs for which a typical loss is to hold."""
NEWEST = module("cwdm4-bidi", 800)
NEWEST_RATES = ("25G-NRZ", "50G-PAM4", "100G-PAM4")
"""Of the newest module, a lane ([LF] 3.3.1)."""


def _insertion_loss_db() -> FloatArray:
    """Every pair of ports of the 48 OCSes of a pod."""
    return manufactured_ocses(SEED, POD).insertion_loss_db()


def _typical_worst_db() -> Measured:
    """The worst pair of ports of the median OCS, and how many OCSes have no pair of 2 dB or more."""
    worst = _insertion_loss_db().max(axis=(1, 2))
    below = int((worst < INSERTION_LOSS_TYPICAL_DB).sum())
    return Measured(float(np.median(worst)), note=f"{below} of {len(worst)} OCSes have all pairs below 2 dB")


def _return_loss_db() -> FloatArray:
    """Every port of both sides of the 48 OCSes of a pod."""
    made = manufactured_ocses(SEED, POD)
    return np.concatenate([made.north_return_loss_db, made.south_return_loss_db])


def _mirrors() -> int:
    """Mirrors of a die: each has its deflection loss with every one of the other die."""
    return int(manufactured_ocses(SEED, POD).deflection_loss_db.shape[0])


def _ports() -> int:
    """Ports a side that reach all of the other on every OCS, if each has a mirror of its own; else −1."""
    made = manufactured_ocses(SEED, POD)
    ports = {
        len(set(mirrors)) for side in (made.north_mirror, made.south_mirror) for mirrors in side.tolist()
    }
    ports |= set(np.isfinite(_insertion_loss_db()).sum(axis=1).ravel().tolist())
    return ports.pop() if len(ports) == 1 else -1


def _spare_mirrors() -> int:
    """Mirrors of a die that no port uses, the fewest of any."""
    made = manufactured_ocses(SEED, POD)
    dies = [*made.north_mirror.tolist(), *made.south_mirror.tolist()]
    return min(_mirrors() - len(set(mirrors)) for mirrors in dies)


def _newest_gbps() -> int:
    """Of a lane between two of the newest modules; 0 if they do not agree."""
    rate = agree(NEWEST, NEWEST).rate
    return 0 if rate is None else rate.gbps


CLAIMS: tuple[PaperClaim, ...] = (
    PaperClaim(
        "ocs/mirrors",
        "Each die has 176 mirrors",
        "[LF] 3.2.2",
        Stated(176, "mirrors"),
        by_construction("MIRRORS_PER_DIE"),
        "constant",
        _mirrors,
    ),
    PaperClaim(
        "ocs/spare-mirrors",
        "Up to 40 mirrors of a die are spares of manufacture",
        "[LF] 3.2.2 (derived)",
        Stated(40, "mirrors"),
        derived(
            "176 − 136: the paper counts the mirrors and those that serve, not how many of the rest qualify"
        ),
        "model",
        _spare_mirrors,
    ),
    PaperClaim(
        "ocs/ports",
        "The best 136 mirrors of a die serve: 136 × 136 duplex ports",
        "[LF] 3.2.2, 4.1.1",
        Stated(136, "ports"),
        by_construction("the best PALOMAR_RADIX mirrors serve, every pair is reachable"),
        "model",
        _ports,
        "ports of every one of the 48 OCSes that reach all of the other side, behind mirrors of their own",
    ),
    PaperClaim(
        "ocs/insertion-loss",
        "Insertion loss is typically below 2 dB over all 136 × 136 pairs",
        "[LF] 4.1.1, Fig. 10a",
        Stated(2, "dB", "below"),
        calibrated(
            "the mean losses of collimators, mirrors and splices, and the share of pairs that typical "
            "means, to it"
        ),
        "model",
        lambda: float(np.quantile(_insertion_loss_db(), TYPICAL)),
        "19 of 20 pairs of the 48 OCSes of a pod as manufactured from a seed lose less",
    ),
    PaperClaim(
        "ocs/insertion-loss-tail",
        "Losses are ideally below 3 dB: no pair reaches it, for all the tail of splices and connectors",
        "[LF] 3.2.1, 4.1.1, Fig. 10a",
        Stated(3, "dB", "below"),
        calibrated(
            "ocs_splice_loss_max_db, where the losses of splices are cut off, to no pair that reaches it"
        ),
        "model",
        lambda: float(_insertion_loss_db().max()),
        "the worst of 48 × 136 × 136 pairs; 3 dB is a goal of the paper's, which does not say that all meet "
        "it",
    ),
    PaperClaim(
        "ocs/insertion-loss-all-pairs",
        "A typical OCS loses less than 2 dB on all of its 136 × 136 pairs",
        "[LF] 4.1.1, Fig. 10a",
        Stated(2, "dB", "below"),
        predicted(
            "fitted: the mean losses of collimators, mirrors and splices to 2 dB of most pairs, the cut of "
            "splices to 3 dB of all"
        ),
        "model",
        _typical_worst_db,
        "the paper's sentence read of whole switches and not of most pairs: the worst pair of the median "
        "OCS; "
        "the twin's tail of splices is too heavy for it",
    ),
    PaperClaim(
        "ocs/return-loss",
        "Return loss is typically −46 dB",
        "[LF] 4.1.1, Fig. 10b",
        Stated(-46, "dB", 0.5),
        by_construction("return losses are drawn around this median"),
        "model",
        lambda: float(np.median(_return_loss_db())),
        "the median over all ports of the 48 OCSes of a pod",
    ),
    PaperClaim(
        "ocs/return-loss-specification",
        "No port reflects more than the specified −38 dB",
        "[LF] 4.1.1",
        Stated(-38, "dB", "below"),
        by_construction("the draw of return losses is cut at this figure"),
        "model",
        lambda: float(_return_loss_db().max()),
    ),
    PaperClaim(
        "modules/lanes",
        "Each connection has 8 optical lanes",
        "[LF] 4.2.2",
        Stated(8, "lanes"),
        by_construction("LANES_PER_LINK"),
        "constant",
        lambda: LANES_PER_LINK,
    ),
    PaperClaim(
        "modules/spacing-cwdm4",
        "CWDM4 has a grid of 20 nm",
        "[LF] 3.3.1",
        Stated(20, "nm"),
        by_construction("the table of modules"),
        "constant",
        lambda: MODULE_KINDS["cwdm4-bidi"].spacing_nm,
    ),
    PaperClaim(
        "modules/spacing-cwdm8",
        "CWDM8 has a grid of 10 nm in the same 80 nm",
        "[LF] 3.3.1",
        Stated(10, "nm"),
        by_construction("the table of modules: 8 lanes in 80 nm"),
        "constant",
        lambda: SPAN_NM / MODULE_KINDS["cwdm8-bidi"].lanes_per_strand,
    ),
    PaperClaim(
        "modules/bandwidth-growth",
        "20 × the bandwidth from 40 Gb/s QSFP+ to 800 Gb/s OSFP",
        "[LF] 3.3.1, Fig. 8",
        Stated(20, "×"),
        by_construction("the first and the last of the table of generations"),
        "closed form",
        lambda: max(GENERATIONS) / min(GENERATIONS),
    ),
    PaperClaim(
        "modules/newest-rate",
        "The newest module runs 100 Gb/s a lane",
        "[LF] 3.3.1",
        Stated(100, "Gb/s"),
        by_construction("the table of generations: what two newest modules have in common"),
        "model",
        _newest_gbps,
        "what two of them settle on",
    ),
    PaperClaim(
        "modules/interoperation",
        "The newest module, which runs 100G PAM4, must also run 50G PAM4 and 25G NRZ",
        "[LF] 3.3.1",
        Stated(3, "rates"),
        by_construction("a module runs every rate up to its generation's"),
        "model",
        lambda: sum(rate.name in NEWEST_RATES for rate in NEWEST.rates),
    ),
)
