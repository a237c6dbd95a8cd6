"""Faults that degrade optical links: of modules, connectors, fibres and mirrors, and of telemetry readings.

Their effects on light and readings are in `shared.models.optics.impairments`. All spontaneous ones share one
rate per link end (`optics_per_day`), in the proportions of `NATURAL_SHARES`. Neither the rate nor the shares
are in the papers.
"""

from typing import TYPE_CHECKING

from shared.models.faults.fault_definition import FaultDefinition, Severity, WorkKind
from shared.models.faults.repair_work import WORK_DEFINITIONS

if TYPE_CHECKING:
    from schemas.names import FaultKind

_WEEKS_2 = 14 * 24.0


def _end(
    meaning: str, severity: Severity | None, onset_h: float | None, *, work: WorkKind = "replace"
) -> FaultDefinition:
    return FaultDefinition(
        strikes="end",
        example="cube-12/+y/7",
        rate="optics_per_day",
        repair_time=WORK_DEFINITIONS[work].hours or "link_repair_h",
        work=work,
        repair_priority=1,
        meaning=meaning,
        severity=severity,
        onset_h=onset_h,
    )


def _db(kind: str, meaning: str, most: float, *, is_signed: bool = False) -> Severity:
    drawn = f"{kind}_least_db", f"{kind}_most_db"
    return Severity("dB", meaning, 0.05, most, *drawn, is_signed=is_signed)


LINK_FAULTS: "dict[FaultKind, FaultDefinition]" = {
    "connector": _end(
        "dirt on the connector attenuates and reflects light in both directions of the link",
        _db("connector_excess", "loss", 30.0),
        0.0,
        work="clean",
    ),
    "fibre": _end(
        "the cable of the end is bent or loose: both directions lose light",
        _db("fibre_excess", "loss", 30.0),
        0.0,
        work="reseat",
    ),
    "laser": _end(
        "the lasers of the module wear out: bias rises, then launched power falls",
        _db("laser_wear", "launched power lost", 30.0),
        _WEEKS_2,
    ),
    "receiver": _end(
        "the receivers of the module degrade: they need more light",
        _db("receiver_wear", "more light needed", 30.0),
        _WEEKS_2,
    ),
    "transmitter": _end("the lasers of one strand are dark: the link works one way only", None, None),
    "flap": _end(
        "the link drops briefly and repeatedly",
        Severity("s", "each outage", 0.01, 3_600.0, "flap_least_s", "flap_most_s", is_logarithmic=True),
        None,
        work="reseat",
    ),
    "circulator": _end(
        "the module's circulator leaks its own light into its receivers",
        _db("circulator_leak", "more crosstalk", 40.0),
        _WEEKS_2,
    ),
    "heat": _end(
        "the module is too warm: its lasers drift and launch less",
        Severity("K", "warmer", 1.0, 60.0, "heat_least_k", "heat_most_k"),
        6.0,
    ),
    "calibration": _end(
        "the module misreads received power",
        _db("calibration_error", "read too high or too low", 10.0, is_signed=True),
        None,
    ),
    "stuck": _end("the module's readings no longer change", None, None),
    "late": _end(
        "the module's readings arrive late",
        Severity("min", "late", 1.0, 1_440.0, "late_least_min", "late_most_min", is_logarithmic=True),
        None,
    ),
    "lying": _end("the module's readings are unrelated to the light", None, None),
}
"""Faults of link ends, in the order in which faults of the same microsecond start."""

PATH_FAULTS: "dict[FaultKind, FaultDefinition]" = {
    "mirror": FaultDefinition(
        strikes="port",
        example="ocs-17/N24",
        rate=None,
        repair_time="ocs_repair_h",
        work="align",
        repair_priority=1,
        meaning="the mirror of a port drifts: one strand of its link loses light in both directions",
        severity=_db("mirror_drift", "loss", 30.0),
        onset_h=48.0,
        needs="end",
    ),
    "shake": FaultDefinition(
        strikes="ocs",
        example="ocs-17",
        rate=None,
        repair_time="ocs_repair_h",
        repair_priority=1,
        meaning="the chassis vibrates, and every circuit through it loses light",
        severity=_db("shake", "loss at every port", 10.0),
        onset_h=None,
        needs="end",
    ),
    "batch": FaultDefinition(
        strikes="batch",
        example="batch-7",
        rate="batch_per_day",
        repair_time="link_repair_h",
        work="replace",
        repair_priority=1,
        meaning="the lasers of all modules of a batch wear out",
        severity=_db("laser_wear", "launched power lost", 30.0),
        onset_h=_WEEKS_2,
    ),
}
"""Faults of many links at once, or of one strand of the link over a port."""

NATURAL_SHARES: "dict[FaultKind, float]" = {
    "connector": 0.30,
    "fibre": 0.10,
    "laser": 0.18,
    "receiver": 0.10,
    "transmitter": 0.05,
    "flap": 0.07,
    "circulator": 0.03,
    "heat": 0.05,
    "calibration": 0.04,
    "stuck": 0.03,
    "late": 0.03,
    "lying": 0.02,
}
"""Shares of all spontaneous faults of link ends. Assumed, with dirt first as in field reports of optical
links; they add up to 1."""
