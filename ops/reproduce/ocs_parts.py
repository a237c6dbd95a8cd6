"""Claims on a Palomar OCS as a device: what its parts draw, how often they leave circuits dark."""

from ops.reproduce.claims import Claim, Measured, Stated, calibrated, derived
from schemas.config import FailuresConfig, RepairsConfig
from shared.models.ocs.availability import light, lost_light, serviceable
from shared.models.ocs.parts import PARTS, POWER_W_MAX, power_w

FAULTS_PER_DAY = FailuresConfig().ocs_per_day
REPAIR_DAYS = RepairsConfig().ocs_repair_h / 24.0
SHARES = "the parts' shares in the faults of an OCS, to it: six faults in seven leave the circuits lit"


def _lost() -> dict[str, float]:
    return lost_light(FAULTS_PER_DAY, REPAIR_DAYS)


def _largest() -> Measured:
    """By what factor the drivers cost more light than the next part."""
    lost = _lost()
    others = max(amount for word, amount in lost.items() if word != "driver")
    each = ", ".join(f"{word} {100.0 * amount:.2g} %" for word, amount in lost.items())
    return Measured(lost["driver"] / others, note=f"of the time circuits are dark by {each}")


CLAIMS: tuple[Claim, ...] = (
    Claim(
        "ocs/power",
        "A chassis draws 108 W at most",
        "[LF] 4.1.1",
        Stated(POWER_W_MAX, "W", "at most"),
        calibrated("the watts of the parts, to it"),
        "closed form",
        power_w,
        f"the sum over {sum(part.count for part in PARTS)} parts",
    ),
    Claim(
        "ocs/availability-light",
        "The chassis is available above 99.98 % of the time in the field: read as no circuit dark",
        "[LF] 4.1.1",
        Stated(99.98, "% of the time", "above"),
        calibrated(SHARES),
        "closed form",
        lambda: 100.0 * light(FAULTS_PER_DAY, REPAIR_DAYS),
        "0.04 % of OCSes fail in a day (NSDI 2024) and take 3 days to repair: were each such fault dark, it "
        "would be 99.88 %",
    ),
    Claim(
        "ocs/availability-serviceable",
        "0.04 % a day with 3 days to repair leave 99.88 % of the time without anything to repair",
        "NSDI 2024 (derived)",
        Stated(99.88, "% of the time", 0.005),
        derived("no paper states it; it tells what the 99.98 % of light cannot count"),
        "closed form",
        lambda: 100.0 * serviceable(FAULTS_PER_DAY, REPAIR_DAYS),
    ),
    Claim(
        "ocs/drivers-largest",
        "The HV drivers are the part whose faults cost most: one of the largest reliability challenges",
        "[LF] 3.2.2",
        Stated(1.0, "× the next part", "above"),
        calibrated(
            "the parts' shares in the faults of an OCS, to it: of those that darken six in seven are theirs"
        ),
        "closed form",
        _largest,
        "the redundant supplies and fans fail more often and cost next to nothing",
    ),
)
