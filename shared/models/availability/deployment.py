"""Time until the chips of arriving racks can be used: rack by rack with OCSes, or only in whole blocks ([LF]
4.2.3, [T4] 2.4).

Racks are planned at a steady pace and arrive late by chance. Crews install them in order of arrival. Each
rack is tested; a rack that fails is repaired and tested again. With OCSes a rack of 64 chips is then usable.
Without OCSes, a block of 16 racks waits for its last rack and is then tested as a whole. Both cases use the
same arrivals and the same cable work; only the waiting differs.
"""

from dataclasses import dataclass
from heapq import heapreplace

from shared.basics.checks import check_count, check_not_negative, check_positive
from shared.basics.errors import InvalidInput
from shared.basics.keyed_random import draw_exponential, draw_uniform
from shared.models.assumptions import Assumption, by_default

RACK_CHIPS = 64
BLOCK_CHIPS = 1_024
"""Chips of the previous generation, which was usable only as a whole ([LF] 4.2.3, [T4] 2.4)."""
TESTS_MAX = 20
"""Tests of one rack, at most; after that it counts as repaired."""
ASSUMPTIONS: dict[str, Assumption] = {
    "racks_per_week": Assumption(8.0, "racks", "a pod of 64 racks in two months, one or two a working day"),
    "late_days": Assumption(
        3.0, "days", "mean by which a rack comes after its day, exponential: one part lacks"
    ),
    "crews": Assumption(4.0, "crews", "each puts up one rack and its cables at a time"),
    "install_days": Assumption(1.0, "days", "a rack is placed, powered, cabled and cleaned by one crew"),
    "test_days": Assumption(
        1.0, "days", "of a rack, or of a block as a whole: burn-in and link tests overnight"
    ),
    "faulty": Assumption(0.1, "", "share of tests that find something: a tray, a cable, a module"),
    "repair_days": Assumption(2.0, "days", "mean, exponential: a part from the shelf and a technician"),
}
"""By name, unit last. No paper gives these numbers."""


@dataclass(frozen=True, slots=True)
class Rollout:
    """The number of racks and how they arrive, are installed and are tested; defaults are ASSUMPTIONS."""

    racks: int = 64
    racks_per_week: float = by_default(ASSUMPTIONS, "racks_per_week")
    late_days: float = by_default(ASSUMPTIONS, "late_days")
    crews: float = by_default(ASSUMPTIONS, "crews")
    install_days: float = by_default(ASSUMPTIONS, "install_days")
    test_days: float = by_default(ASSUMPTIONS, "test_days")
    faulty: float = by_default(ASSUMPTIONS, "faulty")
    repair_days: float = by_default(ASSUMPTIONS, "repair_days")

    def __post_init__(self) -> None:
        check_count("racks", self.racks, 1, 4_096)
        check_positive("racks_per_week", self.racks_per_week)
        for name in ("late_days", "install_days", "test_days", "repair_days"):
            check_not_negative(name, getattr(self, name))
        if not (self.crews >= 1.0 and float(self.crews).is_integer()):
            raise InvalidInput(f"crews: {self.crews} is not allowed; must be a whole number of at least 1")
        if not 0.0 <= self.faulty < 1.0:
            raise InvalidInput(f"faulty: {self.faulty} is not allowed; must be at least 0 and below 1")


@dataclass(frozen=True, slots=True)
class Deployed:
    """Days from the start, by rack in the planned order."""

    arrived: tuple[float, ...]
    by_rack: tuple[float, ...]
    by_block: tuple[float, ...]

    def mean_wait(self, useful: tuple[float, ...]) -> float:
        """Mean days that an installed chip is present but not usable."""
        return sum(at - arrived for at, arrived in zip(useful, self.arrived, strict=True)) / len(self.arrived)


def deployed(rollout: Rollout, seed: int, block_chips: int = BLOCK_CHIPS) -> Deployed:
    """Simulates one roll-out. Blocks are of racks planned one after another.

    InvalidInput unless the racks make whole blocks.
    """
    size = block_chips // RACK_CHIPS
    if size < 1 or block_chips % RACK_CHIPS or rollout.racks % size:
        raise InvalidInput(
            f"block_chips: {block_chips} is not allowed; {rollout.racks} racks of {RACK_CHIPS} chips must "
            "make whole blocks"
        )
    arrived = [
        7.0 * rack / rollout.racks_per_week
        + draw_exponential(seed, f"rack-{rack}", "deploy-late", 0, rollout.late_days)
        for rack in range(rollout.racks)
    ]
    good = _tested(rollout, seed, _put_up(rollout, arrived))
    blocks = [good[first : first + size] for first in range(0, rollout.racks, size)]
    by_block = tuple(max(block) + rollout.test_days for block in blocks for _ in block)
    return Deployed(tuple(arrived), tuple(good), by_block)


def _put_up(rollout: Rollout, arrived: list[float]) -> list[float]:
    """When each rack is installed: the next free crew takes the rack that arrived first."""
    free = [0.0] * int(rollout.crews)
    installed = [0.0] * len(arrived)
    for rack in sorted(range(len(arrived)), key=lambda one: (arrived[one], one)):
        installed[rack] = max(free[0], arrived[rack]) + rollout.install_days
        heapreplace(free, installed[rack])
    return installed


def _tested(rollout: Rollout, seed: int, installed: list[float]) -> list[float]:
    """When each rack has passed a test."""
    good = []
    for rack, at in enumerate(installed):
        name, passed = f"rack-{rack}", at + rollout.test_days
        for trial in range(TESTS_MAX):
            if draw_uniform(seed, name, "deploy-faulty", trial) >= rollout.faulty:
                break
            passed += draw_exponential(seed, name, "deploy-repair", trial, rollout.repair_days)
            passed += rollout.test_days
        good.append(passed)
    return good
