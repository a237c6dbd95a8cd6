"""Technologies of optical circuit switches: [LF] Table C.1, and Palomar."""

from dataclasses import dataclass

from schemas.config.pods import OcsConfig
from shared.basics.errors import InvalidInput
from shared.basics.units import US_PER_MS, US_PER_S, to_whole_us
from shared.models.ocs.camera_alignment import AlignmentLoop, expected_us
from shared.models.ocs.ocs_assumptions import assumed
from shared.models.superpod.wiring import PALOMAR_RADIX


@dataclass(frozen=True, slots=True)
class OcsTechnology:
    """One technology, in the table's terms.

    `switching_time` is an order of magnitude; if `serial`, it applies to each connection, one after the
    other. `insertion_loss_below_db` includes connectors. `driving_voltage_v` is None if none applies or none
    is given. `latching` switches keep their circuits through a power failure. `ports` are those of one side.
    """

    name: str
    relative_cost: str
    ports: int
    switching_time: str
    serial: bool
    insertion_loss_below_db: float
    driving_voltage_v: float | None
    latching: bool
    source: str


_TABLE = "[LF] Table C.1"
TECHNOLOGIES = {
    technology.name: technology
    for technology in (
        OcsTechnology("mems", "medium", 320, "milliseconds", False, 3.0, 100.0, False, _TABLE),
        OcsTechnology("robotic", "medium", 1_008, "minutes", True, 1.0, None, True, _TABLE),
        OcsTechnology("piezo", "high", 576, "milliseconds", False, 2.5, 10.0, False, _TABLE),
        OcsTechnology("guided-wave", "low", 16, "nanoseconds", False, 6.0, 1.0, False, _TABLE),
        OcsTechnology("wavelength", "to be determined", 100, "nanoseconds", False, 6.0, 0.0, True, _TABLE),
        # 3.2.2: high-voltage drivers; the mirror state is lost with the board, so nothing latches.
        OcsTechnology(
            "palomar",
            "not given",
            PALOMAR_RADIX,
            "milliseconds",
            False,
            3.0,
            None,
            False,
            "[LF] 3.2.1, 3.2.2, 4.1.1; [T4] 2.1",
        ),
    )
}
"""By name, in the table's order. Palomar, a MEMS switch of its own design, is not in the table."""


def ocs_technology(name: str) -> OcsTechnology:
    """The technology of this name; InvalidInput names the others."""
    if name not in TECHNOLOGIES:
        raise InvalidInput(
            f"technology: {name!r} is not a known OCS; must be one of {', '.join(TECHNOLOGIES)}"
        )
    return TECHNOLOGIES[name]


def technology_ports(technology: OcsTechnology, radix: int) -> int:
    """Ports of one side for a fabric laid out for `radix`: a Palomar grows with its pod, others have a fixed
    number."""
    return radix if technology.name == "palomar" else min(radix, technology.ports)


ALIGNED_BY_CAMERA = ("palomar", "mems")
"""Technologies whose mirrors a camera loop aligns: [LF] 3.2.2. That other MEMS switches do the same is
assumed."""
DRIFTING = tuple(name for name in ALIGNED_BY_CAMERA if not TECHNOLOGIES[name].latching)
"""Technologies whose mirrors stay in place only while a camera controls them."""


def check_strays(kind: str, technology: str | None) -> None:
    """InvalidInput if a mirror fault is requested for an OCS without camera alignment; None means not
    applicable."""
    if kind == "stray" and technology not in (None, *ALIGNED_BY_CAMERA):
        raise InvalidInput(
            f"kind: 'stray' is not allowed, because no camera aligns the mirrors of {technology} OCSes; "
            f"the technology must be {' or '.join(ALIGNED_BY_CAMERA)}"
        )


CONNECTION_US = {
    "nanoseconds": to_whole_us(assumed("solid_state_ns") / 1_000, 1),
    "milliseconds": to_whole_us(assumed("piezo_ms"), US_PER_MS),
    "minutes": to_whole_us(assumed("robotic_s"), US_PER_S),
}
"""Time of one connection without camera alignment: the assumed values of the table's words."""


@dataclass(frozen=True, slots=True)
class SwitchingSpeed:
    """How fast an OCS makes circuits.

    With a camera `loop`, mirrors are aligned by it; if it is None, each connection takes `connection_us`.
    Connections are made all at once or, if `serial`, one after another.
    """

    loop: AlignmentLoop | None
    connection_us: int
    serial: bool

    def expected_us(self, circuits: int, on_one: int) -> int:
        """Mean time until the given circuits are made, at most `on_one` of them on one OCS; OCSes work in
        parallel."""
        if circuits == 0:
            return 0
        if self.loop is not None:
            return expected_us(self.loop, circuits)
        return self.connection_us * (on_one if self.serial else 1)


def switching_speed(technology: OcsTechnology, config: OcsConfig | None = None) -> SwitchingSpeed:
    """The speed of OCSes of a technology, by their configuration or by default."""
    config = config or OcsConfig()
    if config.switching_time_ms is not None:
        return SwitchingSpeed(None, to_whole_us(config.switching_time_ms, US_PER_MS), technology.serial)
    if technology.name in ALIGNED_BY_CAMERA:
        return SwitchingSpeed(AlignmentLoop(camera_noise_urad=config.camera_noise_urad), 0, technology.serial)
    return SwitchingSpeed(None, CONNECTION_US[technology.switching_time], technology.serial)
