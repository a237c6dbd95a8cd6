"""How much of the time an OCS leaves no circuit dark, and has nothing to repair: closed form from its parts.

Every part is an alternating renewal process by itself: it works for an exponential time of mean 1/λ and is
out for a repair of any distribution with mean m, so that it is out for the share u = λm ÷ (1 + λm) of the
time. λ is the part's share of the faults of its chassis. Parts are independent where nobody waits for a
technician. Of n like parts with s spare, more than s are out for

    P(Binomial(n, u) > s)

of the time. An OCS is *light* while no kind of part whose loss darkens circuits is short, *serviceable* while
no part at all is out.
"""

from collections.abc import Sequence
from math import comb, prod

from shared.models.ocs.parts import DARK, PARTS, OcsPart, share_of_one


def unavailability(part: OcsPart, faults_per_day: float, repair_days: float) -> float:
    """Share of the time that one such part is out, in a chassis of so many faults a day, each of which takes
    this mean time to repair."""
    load = share_of_one(part) * faults_per_day * repair_days
    return load / (1.0 + load)


def shortage(part: OcsPart, faults_per_day: float, repair_days: float) -> float:
    """Share of the time that more of a kind of part are out than are spare."""
    out = unavailability(part, faults_per_day, repair_days)
    counts = range(part.spare + 1, part.count + 1)
    return sum(comb(part.count, n) * out**n * (1.0 - out) ** (part.count - n) for n in counts)


def light_availability(faults_per_day: float, repair_days: float, parts: Sequence[OcsPart] = PARTS) -> float:
    """Share of the time that no circuit is dark through a fault of the chassis' parts."""
    return prod(1.0 - lost for lost in light_loss_by_part(faults_per_day, repair_days, parts).values())


def serviceable_share(faults_per_day: float, repair_days: float, parts: Sequence[OcsPart] = PARTS) -> float:
    """Share of the time that there is nothing to repair."""
    return prod((1.0 - unavailability(part, faults_per_day, repair_days)) ** part.count for part in parts)


def light_loss_by_part(
    faults_per_day: float, repair_days: float, parts: Sequence[OcsPart] = PARTS
) -> dict[str, float]:
    """Part → share of the time that circuits are dark because of it; only those that can darken any."""
    return {part.word: shortage(part, faults_per_day, repair_days) for part in parts if part.effect in DARK}
