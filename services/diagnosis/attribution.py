"""From what stands out at the ends of links to what is held for the matter: rules of plain values.

The order is that of what is sure: what a module's readings say of themselves; then what stands at one end
alone; then what was lost on the way between two ends, by whose launch and reception both are known; last what
a receiver makes of light that is as it should be. What explains a departure is not held for a second matter:
light that was never launched was not lost on the way.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from schemas.names import FaultKind
from shared.models.assumptions import assumed
from shared.models.telemetry.inspections import LANES, READINGS_PER_INSPECTION, THRESHOLDS, Inspection

MISREAD_DB = 1.0
"""Received power off by so much at one end alone, and nothing else, is misread."""
DB_PER_DB = 1.8
"""An SNR falls by so much with a dB of light, at most: noise that does not depend on light, measured
electrically."""
CONFIDENCE_MAX = 0.98
"""Of evidence that leaves nothing open: something that is not known of may look the same."""
EVEN_ODDS = 0.5


@dataclass(frozen=True, slots=True)
class Suspicion:
    """What is held for the matter: a kind of fault at a link end, with how sure that is and the evidence in
    words. `other` is the end that it may be instead. `strand` is the one that is struck, None for both.
    `lost_db` is what the worse strand loses on the way, of the mean of both ways; 0 where nothing is lost
    there. `spare` is where the mirror of `end` is, if not at the port where its fibre was wired.
    `evidence_there` is the evidence as it reads if it is the other end, where that reads differently."""

    kind: FaultKind
    end: int
    confidence: float
    evidence: str
    other: int | None = None
    strand: int | None = None
    lost_db: float = 0.0
    spare: int | None = None
    evidence_at_other: str | None = None

    def evidence_at(self, end: int) -> str:
        """The evidence in words by which "here" is this end, one of the two."""
        there = self.evidence_at_other
        return self.evidence if end == self.end or there is None else there


def suspicions(outliers: Mapping[int, Inspection]) -> list[Suspicion]:
    """Of all that stand out, each with the far end of its link; one for an end or a link at most, in order of
    ends."""
    found: dict[int, Suspicion] = {}
    for end in sorted(outliers):
        own = suspicion_of_end(outliers[end])
        if own is not None:
            found[end] = own
    for end in sorted(outliers):
        far = outliers[end].far
        if far is None or far not in outliers or outliers[far].far != end or end > far:
            continue
        if end not in found and far not in found:
            found |= {one.end: one for one in _suspicions_of_link(outliers[end], outliers[far])}
    return [found[end] for end in sorted(found)]


def suspicion_of_end(look: Inspection) -> Suspicion | None:
    """What an end shows whatever is at its far end."""
    if look.silent:
        return None  # its host knows, and a cube without power is seen by its hosts
    end = look.end
    if look.age_min > THRESHOLDS["age_min"].beyond:
        return Suspicion("late", end, CONFIDENCE_MAX, f"its readings are {look.age_min:.0f} min old")
    if look.unchanged:
        return Suspicion("stuck", end, CONFIDENCE_MAX, "its readings have not changed by a digit")
    if look.spread_db > THRESHOLDS["spread_db"].beyond:
        said = f"its lanes are {look.spread_db:.1f} dB apart, which no light is"
        return Suspicion("lying", end, _confidence_beyond("spread_db", look.spread_db), said)
    dark = [strand for strand, launched in enumerate(look.tx_db) if launched is None]
    if dark:
        said = f"strand {dark[0]} launches no light, the other does" if len(dark) == 1 else "it launches none"
        return Suspicion("transmitter", end, CONFIDENCE_MAX, said, strand=dark[0] if len(dark) == 1 else None)
    if look.warmer_k > THRESHOLDS["warmer_k"].beyond:
        said = f"it is {look.warmer_k:.0f} K warmer than its place"
        return Suspicion("heat", end, _confidence_beyond("warmer_k", look.warmer_k), said)
    launched_db = mean(look.tx_db)
    if look.bias > THRESHOLDS["bias"].beyond or launched_db < -THRESHOLDS["tx_db"].beyond:
        less = f" and launch {-launched_db:.1f} dB less" if launched_db < -THRESHOLDS["tx_db"].beyond else ""
        said = f"its lasers need {100 * look.bias:.0f} % more bias{less}"
        sure = max(_confidence_beyond("bias", look.bias), _confidence_beyond("tx_db", -launched_db))
        return Suspicion("laser", end, sure, said)
    if look.outages > THRESHOLDS["outages"].beyond:
        return Suspicion("flap", end, CONFIDENCE_MAX, f"it dropped its link {look.outages} times in a day")
    return None


def _suspicions_of_link(one: Inspection, two: Inspection) -> Iterator[Suspicion]:
    """What stands at a link whose ends have nothing to say of themselves."""
    lost = [way for look, far in ((one, two), (two, one)) for way in _lost_db(look, far)]
    both_db = [_both_ways_db(lost[strand], lost[2 + strand]) for strand in range(2)]
    by_strand = [way_db > THRESHOLDS["rx_db"].beyond for way_db in both_db]
    if all(by_strand):
        yield replace(_path_loss(one, two), lost_db=max(both_db))
        return
    if any(by_strand):
        strand = by_strand.index(True)
        yield _mirror(one, two, strand, both_db[strand])
        return
    for look, ways in ((one, lost[:2]), (two, lost[2:])):
        suspicion = _misread(look, ways) or _receiver(look) or _circulator(look)
        if suspicion is not None:
            yield suspicion


def _lost_db(look: Inspection, far: Inspection) -> list[float | None]:
    """By strand, how much more is lost to this end than the circuit should take."""
    if look.silent or far.silent:
        return [None, None]
    return [
        None if received is None or launched is None else launched - received
        for received, launched in zip(look.rx_db, far.tx_db, strict=True)
    ]


def _both_ways_db(there_db: float | None, back_db: float | None) -> float:
    """What a strand loses both ways, as whatever stands in the way takes it; 0 where nothing is known of a
    way. Both are the same but for what is known of modules being off by some: of ways that are apart by more
    than that, one end misreads its light, and lost is what both say."""
    if there_db is None or back_db is None:
        return 0.0
    if abs(there_db - back_db) > THRESHOLDS["rx_db"].beyond:
        return min(there_db, back_db)
    return (there_db + back_db) / 2.0


def _path_loss(one: Inspection, two: Inspection) -> Suspicion:
    """Both strands lose both ways: dirt, which reflects most to its own end, or a bend, from behind which
    less comes back. What comes back over what was launched tells: MPI is over what is received."""
    back = [mean(look.mpi_db) + mean(look.rx_db) for look in (one, two)]
    noise_db = _pair_noise_db()
    lost_db = -mean((*one.rx_db, *two.rx_db))
    dirty = max(back) > THRESHOLDS["mpi_db"].beyond / 2.0
    nearer, farther = (one, two) if (back[0] > back[1]) == dirty else (two, one)
    apart_db = abs(back[0] - back[1])
    side = _normal_share(apart_db / noise_db)
    said = f"{lost_db:.1f} dB are lost both ways"
    if not dirty:
        said += ", and nothing more comes back"
        return Suspicion("fibre", nearer.end, min(side, CONFIDENCE_MAX), said, other=farther.end)
    here, there = (
        f"{said}, and {own_db:.1f} dB more come back here ({other_db:.1f} dB there)"
        for own_db, other_db in ((max(back), min(back)), (min(back), max(back)))
    )
    return Suspicion(
        "connector", nearer.end, min(side, CONFIDENCE_MAX), here, other=farther.end, evidence_at_other=there
    )


def _mirror(one: Inspection, two: Inspection, strand: int, lost_db: float) -> Suspicion:
    said = f"strand {strand} loses {lost_db:.1f} dB both ways, the other nothing"
    return Suspicion("mirror", one.end, EVEN_ODDS, said, two.end, strand, lost_db)


def _misread(look: Inspection, ways: list[float | None]) -> Suspicion | None:
    """All lanes off alike, and the SNR as if they were not."""
    if any(way is None for way in ways):
        return None
    off_db = mean(look.rx_db)
    if abs(off_db) < MISREAD_DB or abs(mean(look.snr_db)) > THRESHOLDS["snr_db"].beyond:
        return None
    which = "more" if off_db > 0 else "less"
    said = f"it reads {abs(off_db):.1f} dB {which} light than there is, and errs as usual"
    return Suspicion("calibration", look.end, CONFIDENCE_MAX, said)


def _receiver(look: Inspection) -> Suspicion | None:
    """Less SNR than the light that there is should give."""
    snr_db, light_db = mean(look.snr_db), min(mean(look.rx_db), 0.0)
    missing_db = DB_PER_DB * light_db - snr_db
    limit_db = THRESHOLDS["snr_db"].beyond
    if missing_db < limit_db or mean(look.mpi_db) > THRESHOLDS["mpi_db"].beyond:
        return None
    said = f"its SNR is {missing_db:.1f} dB less than the light should give"
    return Suspicion("receiver", look.end, _confidence_beyond("snr_db", missing_db), said)


def _circulator(look: Inspection) -> Suspicion | None:
    """More of the own light comes back, and nothing is lost on the way. MPI is over what is received: where
    that is less, nothing more need come back."""
    missing_db = -mean(look.rx_db)
    back_db = mean(look.mpi_db) - (missing_db if missing_db > THRESHOLDS["rx_db"].beyond else 0.0)
    if back_db < THRESHOLDS["mpi_db"].beyond:
        return None
    said = f"{back_db:.1f} dB more of its own light come back, and none is lost on the way"
    return Suspicion("circulator", look.end, _confidence_beyond("mpi_db", back_db), said)


def farther_off(
    one_urad: float | None, other_urad: float | None, unseen_urad: float, scatter: float
) -> float:
    """How sure it is that the first of two mirrors is farther off than the other, by what cameras say: None
    of one that was not told of, which reads `unseen_urad` at most if it is seen at all. `scatter` is that of
    a reading, as a share of it."""
    if one_urad is None and other_urad is None:
        return EVEN_ODDS
    one, other = (unseen_urad if urad is None else urad for urad in (one_urad, other_urad))
    sure = _normal_share((one - other) / (scatter * math.hypot(one, other)))
    return min(max(sure, 1.0 - CONFIDENCE_MAX), CONFIDENCE_MAX)


def mean(values: tuple[float | None, ...] | list[float]) -> float:
    """Of those that are there; 0 without any."""
    there = [value for value in values if value is not None]
    return sum(there) / len(there) if there else 0.0


def _confidence_beyond(name: str, amount: float) -> float:
    """How sure it is that an amount is not noise about half its threshold, and what was expected off."""
    threshold = THRESHOLDS[name]
    scale = threshold.beyond / 4.0
    return min(_normal_share(max(amount - threshold.beyond / 2.0, 0.0) / scale), CONFIDENCE_MAX)


def _pair_noise_db() -> float:
    """Standard deviation of the difference of what comes back at two ends, each the mean of two strands:
    that of one strand."""
    noise_db = assumed("reading_mpi_noise_db") / math.sqrt(READINGS_PER_INSPECTION * LANES)
    return math.hypot(noise_db, assumed("accepted_mpi_sigma_db"))


def _normal_share(sigmas: float) -> float:
    return 0.5 * (1.0 + math.erf(sigmas / math.sqrt(2.0)))
