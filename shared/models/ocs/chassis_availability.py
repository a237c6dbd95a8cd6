"""Availability of an OCS in closed form from its parts: no dark circuit, or nothing to repair.

Every part is an independent alternating renewal process: it works for an exponential time of mean 1/λ and is
out for a repair of any distribution with mean m, so it is out for the share u = λm ÷ (1 + λm) of the time.
λ is the part's share of the faults of its chassis. Parts are independent if repairs never wait for a
technician. Of n identical parts with s spares, more than s are out for

    P(Binomial(n, u) > s)

of the time. An OCS is *light* if no part whose loss darkens circuits is short, and *serviceable* if no part
at all is out.
"""

from collections.abc import Sequence
from math import comb, prod

from shared.models.ocs.parts import DARK, PARTS, OcsPart, share_of_one


def unavailability(part: OcsPart, faults_per_day: float, repair_days: float) -> float:
    """Share of the time that one such part is out, for this number of faults of its chassis a day and this
    mean repair time."""
    load = share_of_one(part) * faults_per_day * repair_days
    return load / (1.0 + load)


def shortage(part: OcsPart, faults_per_day: float, repair_days: float) -> float:
    """Share of the time that more parts of a kind are out than there are spares."""
    out = unavailability(part, faults_per_day, repair_days)
    counts = range(part.spare + 1, part.count + 1)
    return sum(comb(part.count, n) * out**n * (1.0 - out) ** (part.count - n) for n in counts)


def light_availability(faults_per_day: float, repair_days: float, parts: Sequence[OcsPart] = PARTS) -> float:
    """Share of the time that no circuit is dark because of the chassis' parts."""
    return prod(1.0 - lost for lost in light_loss_by_part(faults_per_day, repair_days, parts).values())


def serviceable_share(faults_per_day: float, repair_days: float, parts: Sequence[OcsPart] = PARTS) -> float:
    """Share of the time without anything to repair."""
    return prod((1.0 - unavailability(part, faults_per_day, repair_days)) ** part.count for part in parts)


def light_loss_by_part(
    faults_per_day: float, repair_days: float, parts: Sequence[OcsPart] = PARTS
) -> dict[str, float]:
    """Part → share of the time that it makes circuits dark; only parts that can."""
    return {part.word: shortage(part, faults_per_day, repair_days) for part in parts if part.effect in DARK}
