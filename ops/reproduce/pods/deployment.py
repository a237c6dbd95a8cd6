"""Claims about how soon chips can be used as racks arrive. The papers have words, and no number."""

from dataclasses import replace
from functools import lru_cache
from statistics import fmean

from ops.reproduce.claim import Measured, PaperClaim, Stated, derived, over_seeds
from ops.reproduce.lab_runs import SEEDS
from shared.models.availability.deployment import (
    ASSUMPTIONS,
    BLOCK_CHIPS,
    RACK_CHIPS,
    Deployed,
    Rollout,
    deployed,
)

SOURCE = "[LF] 4.2.3, [T4] 2.4 (derived)"
GREATLY = 0.5
"""Factor over the wait for a block: our reading of *greatly* and *significantly*."""
COULD_BE_EITHER = 2.0
"""Factor by which each assumption is halved and doubled, to find what a row depends on."""


def _wait_ratio(found: Deployed) -> float:
    return found.mean_wait(found.by_rack) / found.mean_wait(found.by_block)


def _first_days(useful: tuple[float, ...]) -> float:
    """Return the days until the first block's worth of chips can be used, in any racks."""
    return sorted(useful)[BLOCK_CHIPS // RACK_CHIPS - 1]


@lru_cache(maxsize=64)
def _rollouts(rollout: Rollout) -> tuple[Deployed, ...]:
    return tuple(deployed(rollout, seed) for seed in SEEDS)


def _wait() -> Measured:
    """Return the wait of a chip in its own rack over that in a block. The note has the results of other
    assumptions."""
    plain = Rollout()
    found = _rollouts(plain)
    by_rack, by_block = (
        fmean(one.mean_wait(getattr(one, way)) for one in found) for way in ("by_rack", "by_block")
    )
    first, at_once = (
        fmean(_first_days(getattr(one, way)) for one in found) for way in ("by_rack", "by_block")
    )
    other = {
        name: [
            fmean(
                _wait_ratio(one) for one in _rollouts(replace(plain, **{name: factor * getattr(plain, name)}))
            )
            for factor in (1.0 / COULD_BE_EITHER, COULD_BE_EITHER)
        ]
        for name in ASSUMPTIONS
    }
    name, ends = max(other.items(), key=lambda one: max(one[1]))
    least = min(min(one) for one in other.values())
    return over_seeds(
        [_wait_ratio(one) for one in found],
        f"{by_rack:.1f} days per chip by rack, {by_block:.1f} in blocks of 1,024; with any one assumption "
        f"halved or doubled {least:.2f} to {max(ends):.2f}, most by {name}; the first 1,024 chips "
        f"work after {first:.0f} days, {at_once:.0f} as a block",
    )


CLAIMS: tuple[PaperClaim, ...] = (
    PaperClaim(
        "deployment/wait",
        "Racks that can be used on arrival greatly shorten the time to production against 1,024 chips at "
        "once",
        SOURCE,
        Stated(GREATLY, "× the wait", "at most"),
        derived("the papers say greatly and significantly; at most half of the wait is our reading"),
        "model",
        _wait,
        "from a rack's arrival to its use, in a pod of 64 racks; a rack never waits longer alone than in a "
        "block, so only the amount is compared; pace, delays, crews, tests and repairs are assumed "
        "(docs/reference/availability.md)",
    ),
)
