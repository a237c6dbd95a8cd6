"""Modules as manufactured from a seed, with variation between lanes.

[LF] 4.1.2: all corner cases of manufacturing and component variation have to be resolved. A module is a
function of (seed, fabric, link end, generation): generation 0 is the original module, and each replacement is
one more. Its test station sets limits: modules beyond them are not shipped. A laser's bias is set in steps,
so its extinction ratio is one of few. The spread of each figure is assumed. All values are rounded, so
differences in the last bit between machines have no effect.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import scipy  # which loads scipy.special when it is first used

from shared.basics.keyed_random import draw_uniform_array
from shared.models.assumptions import assumed
from shared.models.optics.module_kinds import LANES_PER_LINK
from shared.models.optics.multipath_interference import GHZ_PER_NM

FloatArray = npt.NDArray[np.float64]

DECIMALS = 4
SHIPPED_SIGMAS = 2.0
"""Modules farther from the mean are not shipped."""
EXTINCTION_STEP_DB = 0.25
FABRICS_KEPT_MAX = 64
"""Fabrics whose modules are cached: 1.6 megabytes each for 64 cubes."""


@dataclass(frozen=True, slots=True)
class ManufacturedModules:
    """Read-only, of shape (link ends, 8 lanes).

    - `launch_db`: average laser power over the design. `sensitivity_db`: light that the receiver needs beyond
      the design.
    - `burst_orders`: orders of magnitude of additional burst errors. `extinction_db`: extinction ratio.
    - `frequency_ghz`: the laser's offset from the grid at the common reference temperature.
    """

    launch_db: FloatArray
    sensitivity_db: FloatArray
    burst_orders: FloatArray
    extinction_db: FloatArray
    frequency_ghz: FloatArray


@dataclass(frozen=True, slots=True)
class Lanes:
    """The lanes that an end receives over some strands, between modules as manufactured.

    Arrays of one broadcast shape (…, lanes). `far_launch_db` is of the signal, `near_launch_db` of the
    reflected own light. `offset_ghz` is between both lasers. `numbers`: which lanes of a strand these are, if
    not all of them in order.
    """

    far_launch_db: FloatArray
    near_launch_db: FloatArray
    sensitivity_db: FloatArray
    burst_orders: FloatArray
    extinction_db: FloatArray | None
    offset_ghz: FloatArray | None
    numbers: npt.NDArray[np.intp] | None = None

    @property
    def lanes(self) -> int:
        """Number of lanes of a strand."""
        return int(self.far_launch_db.shape[-1])

    def each(self) -> "Lanes":
        """One row for each strand, for arrays of shape (…, lanes)."""
        return self._with(lambda array: array.reshape(-1, array.shape[-1]))

    def part(self, strands: int | npt.NDArray[np.intp]) -> "Lanes":
        """One or some of the strands, for arrays of shape (strands, lanes)."""
        numbers = None if self.numbers is None else self.numbers.take(strands, axis=0)
        return self._with(lambda array: array.take(strands, axis=0), numbers)

    def single(self, strand: npt.NDArray[np.intp], lane: npt.NDArray[np.intp]) -> "Lanes":
        """Some lanes, each as the only one of a strand: of shape (lanes, 1), from shape (strands, lanes)."""
        number = strand * self.lanes + lane
        return self._with(lambda array: array.reshape(-1, 1).take(number, axis=0), lane[:, None])

    def _with(
        self, change: Callable[[FloatArray], FloatArray], numbers: npt.NDArray[np.intp] | None = None
    ) -> "Lanes":
        return Lanes(
            change(self.far_launch_db),
            change(self.near_launch_db),
            change(self.sensitivity_db),
            change(self.burst_orders),
            None if self.extinction_db is None else change(self.extinction_db),
            None if self.offset_ghz is None else change(self.offset_ghz),
            numbers,
        )

    def of_design(self, by_lane: FloatArray) -> FloatArray:
        """Values of a design for these lanes, from those by lane of a strand."""
        return by_lane if self.numbers is None else by_lane.take(self.numbers)


_NOTHING = np.zeros(1)
AS_DESIGNED = Lanes(_NOTHING, _NOTHING, _NOTHING, _NOTHING, None, None)
"""Modules exactly as designed, with both lasers in the middle of each other's band: the worst case."""


def extinctions_db() -> tuple[float, ...]:
    """All extinction ratios that lasers are set to, ascending."""
    farthest = round(SHIPPED_SIGMAS * assumed("laser_extinction_sigma_db") / EXTINCTION_STEP_DB)
    middle_db = assumed("laser_extinction_db")
    return tuple(middle_db + EXTINCTION_STEP_DB * step for step in range(-farthest, farthest + 1))


def purpose_of_generation(purpose: str, generation: int) -> str:
    """Draws of a module are independent for each generation."""
    return purpose if generation == 0 else f"{purpose}, generation {generation}"


@lru_cache(maxsize=FABRICS_KEPT_MAX)
def manufactured_modules(seed: int, fabric: str, ends: int) -> ManufacturedModules:
    """The modules of the first `ends` link ends of a fabric, cached."""
    return manufacture_modules(seed, fabric, np.arange(ends))


def manufacture_modules(
    seed: int, fabric: str, ends: npt.NDArray[np.int64], generation: int = 0
) -> ManufacturedModules:
    """The modules of these link ends, of shape (n,), in the same order."""
    first = LANES_PER_LINK * ends.astype(np.uint64)[:, None]
    module, lane = first, (first + np.arange(LANES_PER_LINK, dtype=np.uint64)).astype(np.uint64)

    def scattered(what: str, counts: npt.NDArray[np.uint64]) -> FloatArray:
        """Normal, cut where nothing is shipped."""
        drawn = draw_uniform_array(seed, fabric, purpose_of_generation(f"module {what}", generation), counts)
        outside = 0.5 * math.erfc(SHIPPED_SIGMAS / math.sqrt(2.0))
        found: FloatArray = scipy.special.ndtri(outside + drawn * (1.0 - 2.0 * outside))
        return found

    launch = assumed("laser_launch_module_sigma_db") * scattered("launch", module)
    launch = launch + assumed("laser_launch_lane_sigma_db") * scattered("lane launch", lane)
    sensitivity = assumed("receiver_sensitivity_sigma_db") * scattered("sensitivity", lane)
    bursts = assumed("burst_error_sigma_orders") * scattered("bursts", lane)
    extinction = assumed("laser_extinction_sigma_db") * scattered("extinction", lane)
    steps = np.rint(extinction / EXTINCTION_STEP_DB)
    frequency = assumed("laser_wavelength_sigma_nm") * GHZ_PER_NM * scattered("wavelength", lane)
    made = ManufacturedModules(
        np.round(launch, DECIMALS),
        np.round(sensitivity, DECIMALS),
        np.round(bursts, DECIMALS),
        assumed("laser_extinction_db") + EXTINCTION_STEP_DB * steps,
        np.round(frequency, DECIMALS),
    )
    for array in (getattr(made, name) for name in ManufacturedModules.__dataclass_fields__):
        array.flags.writeable = False
    return made


def lanes_looped(made: ManufacturedModules, end: int, strands: int) -> Lanes:
    """The lanes of a module that receives its own light, its first strand looped to its second.

    Of shape (strands, lanes of a strand).
    """

    def own(lanes: FloatArray) -> FloatArray:
        found: FloatArray = lanes[end].reshape(strands, LANES_PER_LINK // strands)
        return found

    def other(lanes: FloatArray) -> FloatArray:
        return own(lanes)[::-1]

    return Lanes(
        other(made.launch_db),
        own(made.launch_db),
        own(made.sensitivity_db),
        own(made.burst_orders),
        other(made.extinction_db),
        own(made.frequency_ghz) - other(made.frequency_ghz),
    )


def lanes_between(
    made: ManufacturedModules,
    ends: npt.NDArray[np.int64],
    peers: npt.NDArray[np.int64],
    strands: int,
    warmer_k: float = 0.0,
) -> Lanes:
    """The lanes that these ends receive from these peers, of shape (…, strands, lanes of a strand).

    A strand has the same lanes at both ends. `warmer_k`: temperature of the near module above the far one.
    """
    near, far = np.broadcast_arrays(ends, peers)

    def by_strand(lanes: FloatArray) -> FloatArray:
        return lanes.reshape(*near.shape, strands, LANES_PER_LINK // strands)

    drifted = -assumed("laser_drift_nm_per_k") * GHZ_PER_NM * warmer_k
    return Lanes(
        by_strand(made.launch_db[far]),
        by_strand(made.launch_db[near]),
        by_strand(made.sensitivity_db[near]),
        by_strand(made.burst_orders[near]),
        by_strand(made.extinction_db[far]),
        by_strand(made.frequency_ghz[near] + drifted - made.frequency_ghz[far]),
    )
