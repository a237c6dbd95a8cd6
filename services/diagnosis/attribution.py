"""Attribution: from outlier link ends to suspected faults. Pure functions of values.

Rules are applied in order of certainty: first faults that a module's readings show of itself, then outliers
at one end alone. Next is what is lost between two ends, whose launch and reception are both known. Last is a
receiver that errs with normal light. A departure that is explained gives no second suspicion: light that was
never launched was not lost on the way.

`shared.models.telemetry.outlier_thresholds.is_outlier` decides which ends are outliers.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from schemas.names import FaultKind
from shared.models.assumptions import assumed
from shared.models.telemetry.outlier_thresholds import LANES, READINGS_PER_INSPECTION, THRESHOLDS, Inspection

MISREAD_DB = 1.0
"""Minimum error of the received power in dB, at one end alone, that counts as a misreading."""
DB_PER_DB = 1.8
"""Upper bound: how much an SNR in dB falls with a dB of light. The noise does not depend on light and is
measured electrically."""
CONFIDENCE_MAX = 0.98
"""Confidence of conclusive evidence; an unknown fault may look the same."""
EVEN_ODDS = 0.5


@dataclass(frozen=True, slots=True)
class Suspicion:
    """A suspected fault at a link end, with its confidence and the evidence in words."""

    kind: FaultKind
    end: int
    confidence: float
    evidence: str
    other: int | None = None
    """The other end that may have the fault instead."""
    strand: int | None = None
    """The affected strand; None for both."""
    lost_db: float = 0.0
    """Loss of the worse strand on the way, mean of both directions; 0 if nothing is lost."""
    spare: int | None = None
    """Physical port of the mirror of `end`, if its fibre was moved."""
    evidence_at_other: str | None = None
    """The evidence if the fault is at the other end, if it reads differently."""

    def evidence_at(self, end: int) -> str:
        """The evidence seen from one of the two ends, for which it says "here" or "this end"."""
        there = self.evidence_at_other
        return self.evidence if end == self.end or there is None else there


def suspicions(outliers: Mapping[int, Inspection]) -> list[Suspicion]:
    """The suspicions about all outlier ends, in order of ends; at most one for each end or link.

    `outliers` includes the far ends of their links.
    """
    suspicions_by_end: dict[int, Suspicion] = {}
    for end in sorted(outliers):
        own = suspicion_of_end(outliers[end])
        if own is not None:
            suspicions_by_end[end] = own
    for end in sorted(outliers):
        far = outliers[end].far
        if far is None or far not in outliers or outliers[far].far != end or end > far:
            continue
        if end not in suspicions_by_end and far not in suspicions_by_end:
            suspicions_of_link = _suspicions_of_link(outliers[end], outliers[far])
            suspicions_by_end |= {suspicion.end: suspicion for suspicion in suspicions_of_link}
    return [suspicions_by_end[end] for end in sorted(suspicions_by_end)]


def suspicion_of_end(inspection: Inspection) -> Suspicion | None:
    """The suspicion that an end's readings give by themselves, or None."""
    if inspection.silent:
        return None  # its host reports this, and hosts report a cube without power
    end = inspection.end
    if inspection.age_min > THRESHOLDS["age_min"].beyond:
        return Suspicion("late", end, CONFIDENCE_MAX, f"its readings are {inspection.age_min:.0f} min old")
    if inspection.unchanged:
        return Suspicion("stuck", end, CONFIDENCE_MAX, "its readings have not changed at all")
    if inspection.spread_db > THRESHOLDS["spread_db"].beyond:
        evidence = f"its lanes are {inspection.spread_db:.1f} dB apart, more than any light can be"
        return Suspicion("lying", end, _confidence_beyond("spread_db", inspection.spread_db), evidence)
    dark = [strand for strand, launched in enumerate(inspection.tx_db) if launched is None]
    if dark:
        evidence = (
            f"strand {dark[0]} launches no light, the other does"
            if len(dark) == 1
            else "it launches no light"
        )
        return Suspicion(
            "transmitter", end, CONFIDENCE_MAX, evidence, strand=dark[0] if len(dark) == 1 else None
        )
    if inspection.warmer_k > THRESHOLDS["warmer_k"].beyond:
        evidence = f"it is {inspection.warmer_k:.0f} K warmer than expected at its place"
        return Suspicion("heat", end, _confidence_beyond("warmer_k", inspection.warmer_k), evidence)
    launched_db = mean(inspection.tx_db)
    if inspection.bias > THRESHOLDS["bias"].beyond or launched_db < -THRESHOLDS["tx_db"].beyond:
        less = (
            f" and launch {-launched_db:.1f} dB less light"
            if launched_db < -THRESHOLDS["tx_db"].beyond
            else ""
        )
        evidence = f"its lasers need {100 * inspection.bias:.0f} % more bias{less}"
        sure = max(_confidence_beyond("bias", inspection.bias), _confidence_beyond("tx_db", -launched_db))
        return Suspicion("laser", end, sure, evidence)
    if inspection.outages > THRESHOLDS["outages"].beyond:
        return Suspicion(
            "flap", end, CONFIDENCE_MAX, f"it dropped its link {inspection.outages} times in a day"
        )
    return None


def _suspicions_of_link(first: Inspection, second: Inspection) -> Iterator[Suspicion]:
    """The suspicions about a link whose ends show nothing by themselves."""
    lost = [
        way for inspection, far in ((first, second), (second, first)) for way in _lost_db(inspection, far)
    ]
    both_db = [_both_ways_db(lost[strand], lost[2 + strand]) for strand in range(2)]
    by_strand = [way_db > THRESHOLDS["rx_db"].beyond for way_db in both_db]
    if all(by_strand):
        yield replace(_path_loss(first, second), lost_db=max(both_db))
        return
    if any(by_strand):
        strand = by_strand.index(True)
        yield _mirror(first, second, strand, both_db[strand])
        return
    for inspection, ways in ((first, lost[:2]), (second, lost[2:])):
        suspicion = _misread(inspection, ways) or _receiver(inspection) or _circulator(inspection)
        if suspicion is not None:
            yield suspicion


def _lost_db(inspection: Inspection, far: Inspection) -> list[float | None]:
    """Loss in dB beyond that of the circuit, by strand towards this end; None if unknown."""
    if inspection.silent or far.silent:
        return [None, None]
    return [
        None if received is None or launched is None else launched - received
        for received, launched in zip(inspection.rx_db, far.tx_db, strict=True)
    ]


def _both_ways_db(out_db: float | None, back_db: float | None) -> float:
    """Loss in dB of a strand in both directions; 0 if one direction is unknown.

    An obstacle takes the same from both directions. They differ only by the error of the known module values.
    If they differ by more, one end misreads its light, and the loss is the smaller of the two.
    """
    if out_db is None or back_db is None:
        return 0.0
    if abs(out_db - back_db) > THRESHOLDS["rx_db"].beyond:
        return min(out_db, back_db)
    return (out_db + back_db) / 2.0


def _path_loss(first: Inspection, second: Inspection) -> Suspicion:
    """The suspicion if both strands lose light in both directions: dirt or a bent fibre.

    Dirt reflects most light to its own end. A bend reflects nothing, and less light comes back from behind
    it. The returned light over the launched light decides. MPI is relative to the received light.
    """
    back = [mean(inspection.mpi_db) + mean(inspection.rx_db) for inspection in (first, second)]
    noise_db = _pair_noise_db()
    lost_db = -mean((*first.rx_db, *second.rx_db))
    dirty = max(back) > THRESHOLDS["mpi_db"].beyond / 2.0
    nearer, farther = (first, second) if (back[0] > back[1]) == dirty else (second, first)
    apart_db = abs(back[0] - back[1])
    side = _normal_share(apart_db / noise_db)
    evidence = f"{lost_db:.1f} dB are lost in both directions"
    if not dirty:
        evidence += ", and no additional light comes back"
        return Suspicion("fibre", nearer.end, min(side, CONFIDENCE_MAX), evidence, other=farther.end)
    here, there = (
        f"{evidence}, and {own_db:.1f} dB more light comes back here ({other_db:.1f} dB at the other end)"
        for own_db, other_db in ((max(back), min(back)), (min(back), max(back)))
    )
    return Suspicion(
        "connector", nearer.end, min(side, CONFIDENCE_MAX), here, other=farther.end, evidence_at_other=there
    )


def _mirror(first: Inspection, second: Inspection, strand: int, lost_db: float) -> Suspicion:
    evidence = f"strand {strand} loses {lost_db:.1f} dB in both directions, the other none"
    return Suspicion("mirror", first.end, EVEN_ODDS, evidence, second.end, strand, lost_db)


def _misread(inspection: Inspection, ways: list[float | None]) -> Suspicion | None:
    """A misreading: all lanes are off by the same amount, and the SNR is as expected."""
    if any(way is None for way in ways):
        return None
    off_db = mean(inspection.rx_db)
    if abs(off_db) < MISREAD_DB or abs(mean(inspection.snr_db)) > THRESHOLDS["snr_db"].beyond:
        return None
    which = "more" if off_db > 0 else "less"
    evidence = f"it reads {abs(off_db):.1f} dB {which} light than there is, and its bit errors are normal"
    return Suspicion("calibration", inspection.end, CONFIDENCE_MAX, evidence)


def _receiver(inspection: Inspection) -> Suspicion | None:
    """A receiver fault: less SNR than the received light should give."""
    snr_db, light_db = mean(inspection.snr_db), min(mean(inspection.rx_db), 0.0)
    missing_db = DB_PER_DB * light_db - snr_db
    limit_db = THRESHOLDS["snr_db"].beyond
    if missing_db < limit_db or mean(inspection.mpi_db) > THRESHOLDS["mpi_db"].beyond:
        return None
    evidence = f"its SNR is {missing_db:.1f} dB lower than the received light should give"
    return Suspicion("receiver", inspection.end, _confidence_beyond("snr_db", missing_db), evidence)


def _circulator(inspection: Inspection) -> Suspicion | None:
    """A circulator fault: more of the end's own light comes back, and nothing is lost on the way.

    MPI is relative to the received light: if less is received, MPI rises without more light coming back.
    """
    missing_db = -mean(inspection.rx_db)
    back_db = mean(inspection.mpi_db) - (missing_db if missing_db > THRESHOLDS["rx_db"].beyond else 0.0)
    if back_db < THRESHOLDS["mpi_db"].beyond:
        return None
    evidence = f"{back_db:.1f} dB more of its own light comes back, and none is lost on the way"
    return Suspicion("circulator", inspection.end, _confidence_beyond("mpi_db", back_db), evidence)


def farther_off(
    one_urad: float | None, other_urad: float | None, unseen_urad: float, scatter: float
) -> float:
    """The confidence that the first of two mirrors is farther off, from camera readings.

    None is a mirror without a report, which reads at most `unseen_urad` if it is visible. `scatter` is the
    scatter of a reading, as a share of it.
    """
    if one_urad is None and other_urad is None:
        return EVEN_ODDS
    first, other = (unseen_urad if urad is None else urad for urad in (one_urad, other_urad))
    sure = _normal_share((first - other) / (scatter * math.hypot(first, other)))
    return min(max(sure, 1.0 - CONFIDENCE_MAX), CONFIDENCE_MAX)


def mean(values: tuple[float | None, ...] | list[float]) -> float:
    """The mean of the known values; 0 without any."""
    there = [value for value in values if value is not None]
    return sum(there) / len(there) if there else 0.0


def _confidence_beyond(name: str, amount: float) -> float:
    """The confidence that an amount beyond its threshold is not noise or an error of the expected value."""
    threshold = THRESHOLDS[name]
    scale = threshold.beyond / 4.0
    return min(_normal_share(max(amount - threshold.beyond / 2.0, 0.0) / scale), CONFIDENCE_MAX)


def _pair_noise_db() -> float:
    """Standard deviation of the difference of the returned light at two ends, each the mean of two strands.

    It equals that of one strand.
    """
    noise_db = assumed("reading_mpi_noise_db") / math.sqrt(READINGS_PER_INSPECTION * LANES)
    return math.hypot(noise_db, assumed("accepted_mpi_sigma_db"))


def _normal_share(sigmas: float) -> float:
    return 0.5 * (1.0 + math.erf(sigmas / math.sqrt(2.0)))
