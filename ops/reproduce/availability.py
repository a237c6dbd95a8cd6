"""Claims on availability: fabrics, goodput of equal slices, slices that can be placed."""

import math

from ops.models.availability.draw import NSDI_PLACEMENT, NSDI_PLACEMENT_FATAL
from ops.reproduce.claims import NSDI, SIGMAS, Claim, Measured, Stated
from ops.reproduce.labs import slow_repair_run
from schemas.config import RepairsConfig
from shared.models.availability import (
    AlternatingRenewal,
    fabric_availability,
    fabric_ocs,
    goodput,
    placement_curve,
)
from shared.models.superpod.wiring import ENDS_PER_CUBE, HOSTS_PER_CUBE

OCS_AVAILABILITY = 0.999
"""Assumed by [LF] 4.2.2 for its study."""
OCS_PER_DAY, HOST_PER_DAY, LINK_PER_DAY = 0.0004, 0.0008, 0.00005
REPAIR_DAYS = 3.0
"""Derived from the plateau of the published placement curve."""
FITTED_CUBE_AVAILABILITY = 0.882
"""The cube availability that the published placement curve fits (derived)."""
DIGITISED = 0.02
"""Of a probability read off a figure."""
OLD_POD = ((256, 0.55), (512, 0.25), (1024, 0.0))
"""(chips, P(can be placed)) in the static pod of the generation before; 64 chips have 0.83. Digitised."""
OLD_CUBE = 0.83
LF, T4 = "[LF] 4.2.2, Fig. 15b", "[T4] Fig. 4"
STATED_GOODPUT = (
    (T4, 0.999, 1024, "static", 25),
    (T4, 0.999, 1024, "reconfigurable", 75),
    (T4, 0.995, 1024, "reconfigurable", 75),
    (T4, 0.990, 1024, "reconfigurable", 75),
    (T4, 0.999, 2048, "reconfigurable", 50),
    (T4, 0.995, 2048, "reconfigurable", 50),
    (T4, 0.990, 2048, "reconfigurable", 50),
    (T4, 0.999, 3072, "reconfigurable", 75),
    (T4, 0.995, 3072, "reconfigurable", 75),
    (T4, 0.990, 3072, "reconfigurable", 75),
    (LF, 0.999, 1024, "static", 25),
    (LF, 0.999, 1024, "reconfigurable", 75),
    (LF, 0.995, 1024, "reconfigurable", 75),
    (LF, 0.990, 1024, "reconfigurable", 50),
    (LF, 0.999, 2048, "reconfigurable", 50),
    (LF, 0.995, 2048, "reconfigurable", 50),
    (LF, 0.990, 2048, "reconfigurable", 50),
)
"""(source, host availability, chips of a slice, fabric, goodput in percent)."""


def _fabric(kind: str, percent: int) -> Claim:
    return Claim(
        f"fabric/{kind}",
        f"With {kind} modules the fabric is available {percent} % of the time",
        "[LF] 4.2.2, Fig. 15a",
        Stated(percent, "%", 1.0),
        "closed form",
        lambda: 100.0 * fabric_availability(OCS_AVAILABILITY, fabric_ocs(kind)),
        "the paper rounds down 90.8 and rounds up 97.6; OCSes of 99.9 %",
    )


def _goodput(source: str, host: float, chips: int, fabric: str, percent: int) -> Claim:
    paper = "t4" if source == T4 else "lf"
    return Claim(
        f"goodput/{paper}-{chips}-{100 * host:.1f}-{fabric}",
        f"Hosts of {100 * host:.1f} %: slices of {chips:,} chips get {percent} % of a {fabric} pod",
        source,
        Stated(percent, "%"),
        "closed form",
        lambda: (
            100.0
            * goodput(
                host, chips, fabric, ocs_availability=OCS_AVAILABILITY if source == LF else None
            ).goodput
        ),
        "with 24 OCSes: 48 of 99.9 % alone miss the 97 %" if source == LF and fabric != "static" else "",
    )


def fitted_ocs_availability() -> float:
    """Availability of an OCS that fails at the published rate and takes three days to repair."""
    return AlternatingRenewal(1.0 / OCS_PER_DAY, REPAIR_DAYS).availability


def _placed(cubes: int, *, routed: bool) -> float:
    point = placement_curve(FITTED_CUBE_AVAILABILITY, fitted_ocs_availability())[cubes - 1]
    return point.with_fault_routing if routed else point.without_fault_routing


def _placement(cubes: int, stated: float, *, routed: bool) -> Claim:
    how = "routing around OCS faults" if routed else "any OCS fault being fatal"
    return Claim(
        f"placement/{'routed' if routed else 'fatal'}-{cubes}",
        f"A slice of {cubes} cubes can be placed with probability {stated:g}, {how}",
        NSDI,
        Stated(stated, "probability", DIGITISED),
        "closed form",
        lambda: _placed(cubes, routed=routed),
        "cubes of 88.2 % (fitted to the routed curve); an OCS fails on 0.04 % of days, 3 days to repair",
    )


def _old_placement(chips: int, stated: float) -> Claim:
    return Claim(
        f"placement/previous-generation-{chips}",
        f"In the static pods before, {chips:,} chips could be placed with probability {stated:g}",
        NSDI,
        Stated(stated, "probability", DIGITISED),
        "closed form",
        lambda: OLD_CUBE ** (chips // 64),
        "all of one fixed group have to work, each 64 chips with the 0.83 stated for them: the published "
        "curve falls more slowly at first, and faster at last, than such independent failures",
    )


def _cube_from_failures() -> float:
    """Percent of time that all 16 hosts and 96 link ends of a cube work, at the published rates."""
    host = AlternatingRenewal(1.0 / HOST_PER_DAY, REPAIR_DAYS).availability
    link = AlternatingRenewal(1.0 / LINK_PER_DAY, REPAIR_DAYS).availability
    return 100.0 * host**HOSTS_PER_CUBE * link**ENDS_PER_CUBE


def _cube_in_the_lab() -> Measured:
    """Time lost is a sum over faults of log-normal repairs, each of mean square e^σ² over its mean's."""
    run = slow_repair_run()
    works = 100.0 * run.report["cube_availability"]
    faults = run.report["faults"]["host"] + run.report["faults"]["link"]
    deviation = (100.0 - works) * math.sqrt(math.exp(RepairsConfig().repair_sigma ** 2) / faults)
    return Measured(
        works,
        tolerance=SIGMAS * deviation,
        note=f"{run.days:,.0f} days of a pod with log-normal repairs of 3 days in the mean; tolerance: three "
        f"deviations of what {faults:,} such repairs lose",
    )


CLAIMS: tuple[Claim, ...] = (
    _fabric("cwdm4-duplex", 90),
    _fabric("cwdm4-bidi", 95),
    _fabric("cwdm8-bidi", 98),
    *(_goodput(*stated) for stated in STATED_GOODPUT),
    Claim(
        "goodput/times-static",
        "Up to 3 × better system availability than a static fabric",
        "[LF] abstract",
        Stated(3, "×"),
        "closed form",
        lambda: (
            goodput(0.999, 1024, "reconfigurable", ocs_availability=OCS_AVAILABILITY).goodput
            / goodput(0.999, 1024, "static").goodput
        ),
        "goodput of slices of 1,024 chips, hosts of 99.9 %; at larger slices a static pod promises nothing",
    ),
    Claim(
        "goodput/one-cube",
        "For a slice of one cube the goodput is the same for static and reconfigurable",
        "[LF] 4.2.2",
        Stated(0, "cubes"),
        "closed form",
        lambda: (
            goodput(0.99, 64, "reconfigurable", ocs_availability=OCS_AVAILABILITY).held_back_cubes
            - goodput(0.99, 64, "static").held_back_cubes
        ),
    ),
    Claim(
        "goodput/hosts-help",
        "From hosts of 99 % to 99.9 % fewer cubes are held back from slices of one cube",
        "[LF] 4.2.2",
        Stated(0, "cubes", "above"),
        "closed form",
        lambda: (
            goodput(0.99, 64, "reconfigurable").held_back_cubes
            - goodput(0.999, 64, "reconfigurable").held_back_cubes
        ),
    ),
    Claim(
        "goodput/hold-back",
        "Hosts of 99 %: what is held back from slices of 1,024 chips exceeds 1,024 chips",
        "[LF] 4.2.2",
        Stated(1024, "chips", "above"),
        "closed form",
        lambda: 64 * goodput(0.99, 1024, "reconfigurable", ocs_availability=OCS_AVAILABILITY).held_back_cubes,
    ),
    *(_placement(cubes, stated, routed=True) for cubes, stated in NSDI_PLACEMENT),
    *(_placement(cubes, stated, routed=False) for cubes, stated in NSDI_PLACEMENT_FATAL),
    *(_old_placement(chips, stated) for chips, stated in OLD_POD),
    Claim(
        "availability/ocs-field",
        "An OCS is typically available more than 99.98 % of the time",
        "[LF] 4.1.1",
        Stated(99.98, "%", "above"),
        "closed form",
        lambda: 100.0 * fitted_ocs_availability(),
        "0.04 % of OCSes fail a day and take 3 days to repair (NSDI 2024): the two papers agree only if a "
        "chassis is back within 12 hours",
    ),
    Claim(
        "availability/cube-from-failures",
        "Failures of machines and cables with 3 days to repair explain a cube availability of 94.8 %",
        "NSDI 2024 (derived)",
        Stated(94.8, "%", 0.1),
        "closed form",
        _cube_from_failures,
        "the figure is stated as about so much",
    ),
    Claim(
        "availability/cube-in-the-lab",
        "A pod with these failures and repairs has cubes of 94.8 %",
        "NSDI 2024 (derived)",
        Stated(94.8, "%"),
        "lab run",
        _cube_in_the_lab,
    ),
)
