"""Claims about a Palomar OCS as a device: the power of its parts, how often they darken circuits, and how
fast they switch."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from ops.reproduce.claim import SIGMAS, Measured, PaperClaim, Stated, calibrated, derived, over_seeds
from ops.reproduce.lab_runs import OCS_DAYS, OCS_PART_RUNS, POD, ClaimRun, lab_runs
from schemas.config.failures import FailuresConfig
from schemas.config.repairs import RepairsConfig
from schemas.messages.ocs import OcsDown, OcsPartDown, OcsPartUp, OcsUp, PortsDown, PortsUp
from shared.basics.units import US_PER_DAY, US_PER_S
from shared.models.ocs.camera_alignment import failure_probability
from shared.models.ocs.chassis_availability import light_availability, light_loss_by_part, serviceable_share
from shared.models.ocs.parts import PARTS, power_w
from shared.models.ocs_technologies import ocs_technology, switching_speed
from shared.models.superpod.wiring import CHIPS_PER_CUBE, OCS_COUNT, STRANDS

FAULTS_PER_DAY = FailuresConfig().ocs_per_day
REPAIR_DAYS = RepairsConfig().ocs_repair_h / 24.0
SHARES = (
    "the parts' shares in the faults of an OCS, to it: six faults in seven leave the circuits lit. With 12 h "
    "to repair any fault this would be true for any shares; but 3 days are fitted to the placement curve"
)

CIRCUITS_PER_OCS = STRANDS * 4_096 // CHIPS_PER_CUBE
"""Circuits per OCS when every face of a pod is joined. Each circuit has its own port."""
MILLISECONDS = (50.5, "ms", 49.5)
"""Our reading of the paper's word: 1 to 100 ms."""


def _lost() -> dict[str, float]:
    return light_loss_by_part(FAULTS_PER_DAY, REPAIR_DAYS)


def _largest() -> Measured:
    """Return the factor by which the drivers cost more light than the next part."""
    lost = _lost()
    others = max(amount for word, amount in lost.items() if word != "driver")
    each = ", ".join(f"{word} {100.0 * amount:.2g} %" for word, amount in lost.items())
    return Measured(lost["driver"] / others, note=f"share of the time that circuits are dark: {each}")


def _placed_by_parts() -> Measured:
    """Return the probability that none of the 48 OCSes has a dark circuit."""
    dark = light_availability(FAULTS_PER_DAY, REPAIR_DAYS) ** OCS_COUNT
    any_fault = serviceable_share(FAULTS_PER_DAY, REPAIR_DAYS) ** OCS_COUNT
    return Measured(dark, note=f"{any_fault:.3f} if any fault counts")


@dataclass
class OutageSpans:
    """The time that each of a set of parts was out, in microseconds."""

    since_us: dict[str, int] = field(default_factory=dict)
    out_us: int = 0
    count: int = 0

    def out(self, name: str, at_us: int) -> None:
        self.since_us[name] = at_us
        self.count += 1

    def back(self, name: str, at_us: int) -> None:
        self.out_us += at_us - self.since_us.pop(name)


def _dark_and_broken_share(run: ClaimRun) -> tuple[tuple[float, int], tuple[float, int]]:
    """Return (share of OCS-time with circuits dark, number of spans), and the same for OCSes with something
    to repair, from the messages of one run.

    An OCS is dark from the first to the last reason that takes light from it.
    """
    dark, broken = OutageSpans(), OutageSpans()
    reasons: dict[str, set[str]] = {}
    repairs: dict[str, set[str]] = {}
    for message in run.messages:
        body, at_us = message.body, message.at_us
        match body:
            case OcsDown() | OcsUp():
                ocs, why = f"{POD}/ocs-{body.ocs}", "chassis"
                _record_reason(dark, reasons, ocs, why, isinstance(body, OcsDown), at_us)
            case PortsDown() | PortsUp():
                ocs, why = f"{POD}/ocs-{body.ocs}", body.part
                _record_reason(dark, reasons, ocs, why, isinstance(body, PortsDown), at_us)
                _record_reason(broken, repairs, ocs, why, isinstance(body, PortsDown), at_us)
            case OcsPartDown() | OcsPartUp():
                ocs = "/".join(body.part.split("/")[:2])
                _record_reason(broken, repairs, ocs, body.part, isinstance(body, OcsPartDown), at_us)
            case _:
                pass
    end_us = round(run.days * US_PER_DAY)
    for spans in (dark, broken):
        for name in [*spans.since_us]:
            spans.back(name, end_us)
    all_us = OCS_COUNT * end_us
    return (dark.out_us / all_us, dark.count), (broken.out_us / all_us, broken.count)


def _record_reason(
    spans: OutageSpans, reasons: dict[str, set[str]], ocs: str, why: str, is_out: bool, at_us: int
) -> None:
    """Add or remove a reason why an OCS is out. The OCS is out while there is any."""
    found = reasons.setdefault(ocs, set())
    if is_out:
        if not found:
            spans.out(ocs, at_us)
        found.add(why)
    else:
        found.remove(why)
        if not found:
            spans.back(ocs, at_us)


def _in_the_lab(which: int) -> Callable[[], Measured]:
    """Return the percentage of OCS-time that is light (0) or serviceable (1), over the runs. Lost time is a
    sum of log-normal repairs; the mean square of each is e^σ² times its squared mean."""

    def measure() -> Measured:
        found = [_dark_and_broken_share(run) for run in lab_runs(OCS_PART_RUNS)]
        years = len(found) * OCS_COUNT * OCS_DAYS / 365.0
        spans = sum(row[which][1] for row in found)
        measured = over_seeds(
            [100.0 * (1.0 - row[which][0]) for row in found],
            f"{years:,.0f} OCS-years; tolerance: three standard deviations of the time of {spans:,} repairs",
        )
        deviation = math.sqrt(math.exp(RepairsConfig().repair_sigma ** 2) / spans)
        return replace(measured, tolerance=SIGMAS * (100.0 - measured.value) * deviation)

    return measure


def _switching_ms() -> Measured:
    """Return the mean time until every circuit of a pod is made. The note has one connection."""
    speed = switching_speed(ocs_technology("palomar"))
    whole_s, one_s = (
        speed.expected_us(circuits, on_one) / US_PER_S
        for circuits, on_one in ((OCS_COUNT * CIRCUITS_PER_OCS, CIRCUITS_PER_OCS), (1, 1))
    )
    loop = speed.loop
    failing = "" if loop is None else f"; a connection fails with {failure_probability(loop):.0e}"
    return Measured(1_000.0 * whole_s, note=f"one connection {1_000.0 * one_s:.1f} ms{failing}")


CLAIMS: tuple[PaperClaim, ...] = (
    PaperClaim(
        "ocs/power",
        "A chassis draws at most 108 W",
        "[LF] 4.1.1",
        Stated(108, "W", "at most"),
        calibrated("the watts of the parts, to it"),
        "closed form",
        power_w,
        f"the sum over {sum(part.count for part in PARTS)} parts",
    ),
    PaperClaim(
        "ocs/availability-light",
        "The chassis is available above 99.98 % of the time in the field: read as no circuit dark",
        "[LF] 4.1.1",
        Stated(99.98, "% of the time", "above"),
        calibrated(SHARES),
        "closed form",
        lambda: 100.0 * light_availability(FAULTS_PER_DAY, REPAIR_DAYS),
        "0.04 % of OCSes fail per day (NSDI 2024) and take 3 days to repair: if every fault were dark, it "
        "would be 99.88 %",
    ),
    PaperClaim(
        "ocs/availability-serviceable",
        "With 0.04 % faults per day and 3 days to repair, an OCS needs no repair 99.88 % of the time",
        "NSDI 2024 (derived)",
        Stated(99.88, "% of the time", 0.005),
        derived("no paper states it; it covers faults that the 99.98 % of light cannot include"),
        "closed form",
        lambda: 100.0 * serviceable_share(FAULTS_PER_DAY, REPAIR_DAYS),
    ),
    PaperClaim(
        "ocs/light-in-the-lab",
        "A pod whose parts fail and are repaired for centuries has as much light as in the closed form",
        "[LF] 4.1.1 (derived)",
        Stated(100.0 * light_availability(FAULTS_PER_DAY, REPAIR_DAYS), "% of the time"),
        derived("the closed form is ours: the row compares the twin with it"),
        "lab run",
        _in_the_lab(0),
        runs=OCS_PART_RUNS,
    ),
    PaperClaim(
        "ocs/serviceable-in-the-lab",
        "Such a pod needs no repair for as much of the time as in the closed form",
        "NSDI 2024 (derived)",
        Stated(100.0 * serviceable_share(FAULTS_PER_DAY, REPAIR_DAYS), "% of the time"),
        derived("the closed form is ours: the row compares the twin with it"),
        "lab run",
        _in_the_lab(1),
        runs=OCS_PART_RUNS,
    ),
    PaperClaim(
        "ocs/drivers-largest",
        "The HV drivers are the part whose faults cost most: one of the largest reliability challenges",
        "[LF] 3.2.2",
        Stated(1.0, "× the next part", "above"),
        calibrated(
            "the parts' shares in the faults of an OCS, to it: six in seven faults that darken are theirs"
        ),
        "closed form",
        _largest,
        "supplies, fans and CPU boards have more faults: supplies and fans are redundant, and a CPU takes no "
        "light. The next part is the chassis' power, whose share is assumed as well",
    ),
    PaperClaim(
        "ocs/placement-by-parts",
        "A slice that needs every OCS has all of them 94 % of the time",
        "NSDI 2024 (derived)",
        Stated(0.94, "probability", 0.02),
        derived("the plateau is the paper's; our reading is that only faults that darken stop a placement"),
        "closed form",
        _placed_by_parts,
        "3 days of repair are fitted to the plateau if any fault stops a placement, although a failed spare "
        "fan stops none: the twin can match only one of these two figures",
    ),
    PaperClaim(
        "ocs/switching",
        "An OCS switches in milliseconds: all 6,144 circuits of a pod at once",
        "[T4] 2.1, [LF] Table C.1 (derived)",
        Stated(*MILLISECONDS),
        derived("milliseconds is the papers' word, 1 to 100 is ours; slew, frames and gain are assumed"),
        "closed form",
        _switching_ms,
        "the slowest of them, on average, by the camera loop",
    ),
)
