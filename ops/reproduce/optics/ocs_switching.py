"""Claims on how long connections take, of Palomar and of the other technologies of Table C.1."""

from ops.reproduce.claim import Measured, PaperClaim, Stated, by_construction, derived
from shared.basics.units import US_PER_S
from shared.models.ocs.alignment import failure_probability
from shared.models.ocs.ocs_assumptions import assumed
from shared.models.ocs_technologies import ocs_technology, switching_speed
from shared.models.superpod.wiring import CHIPS_PER_CUBE, OCS_COUNT, STRANDS

CUBES = 4_096 // CHIPS_PER_CUBE
ON_ONE = STRANDS * CUBES
"""Circuits of one OCS when every face of a pod is joined anew; each has a port of its own."""
MILLISECONDS, MINUTES = (50.5, "ms", 49.5), (5.5, "minutes", 4.5)
"""What we take the table's words for: 1 to 100 of the ones, 1 to 10 of the others."""
NANOSECONDS = 100.0
"""The same, at most: less than one would be as good."""


def whole_pod_s(technology: str) -> float:
    """Until every circuit of a pod is made, on average."""
    return switching_speed(ocs_technology(technology)).expected_us(OCS_COUNT * ON_ONE, ON_ONE) / US_PER_S


def _one_s(technology: str) -> float:
    return switching_speed(ocs_technology(technology)).expected_us(1, 1) / US_PER_S


def _palomar() -> Measured:
    loop = switching_speed(ocs_technology("palomar")).loop
    failing = "" if loop is None else f"; a connection fails with {failure_probability(loop):.0e}"
    one = f"one connection {1_000.0 * _one_s('palomar'):.1f} ms{failing}"
    return Measured(1_000.0 * whole_pod_s("palomar"), note=one)


def _robot() -> Measured:
    """How many times as long the circuits of a pod take as one of them."""
    whole_s, one_s = whole_pod_s("robotic"), _one_s("robotic")
    longer = whole_s / whole_pod_s("mems")
    return Measured(
        whole_s / one_s, note=f"{whole_s / 60.0:.0f} minutes, {longer:,.0f} times as long as MEMS"
    )


CLAIMS: tuple[PaperClaim, ...] = (
    PaperClaim(
        "ocs/switching",
        "An OCS switches in milliseconds: all 6,144 circuits of a pod at once",
        "[T4] 2.1, [LF] Table C.1 (derived)",
        Stated(*MILLISECONDS),
        derived("milliseconds is the papers' word, 1 to 100 is ours; slew, frames and gain are assumed"),
        "closed form",
        _palomar,
        "the slowest of them, on average, by the camera loop",
    ),
    PaperClaim(
        "ocs/robotic-minutes",
        "A robotic switch takes minutes for a connection",
        "[LF] Table C.1",
        Stated(*MINUTES),
        by_construction("robotic_s is assumed: the least that the table's word says, 1 to 10 is ours"),
        "constant",
        lambda: _one_s("robotic") / 60.0,
    ),
    PaperClaim(
        "ocs/robotic-serial",
        "A robotic switch makes one connection after another: those of a pod take 128 times as long as one",
        "[LF] C.2, Table C.1 (derived)",
        Stated(ON_ONE, "× one connection"),
        derived("the table says minutes a connection; how many there are on an OCS is our arithmetic"),
        "closed form",
        _robot,
        "one connection for each working port; OCSes work side by side",
    ),
    PaperClaim(
        "ocs/guided-wave",
        "Guided-wave and wavelength switches take nanoseconds",
        "[LF] Table C.1",
        Stated(NANOSECONDS, "ns", "below"),
        by_construction("solid_state_ns is assumed to be what the table's word says"),
        "constant",
        lambda: assumed("solid_state_ns"),
        "the twin's clock counts microseconds",
    ),
)
