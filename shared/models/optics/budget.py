"""Budget of one strand, element by element: loss of the far end's light, reflections of the own light, and
the errors of each lane.

[LF] 3.3, 4.1.2, Appendix B. The same as `lane_ber.evaluate`, but for one strand and with every step shown.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from shared.basics.checks import check_not_negative, check_range
from shared.models.optics.fec import block_loss
from shared.models.optics.lane_ber import evaluate, received_light
from shared.models.optics.link_design import LinkDesign, Strands, dispersion_ps_per_nm, lanes_nm
from shared.models.optics.manufactured_modules import AS_DESIGNED, Lanes
from shared.models.optics.path_losses import reflections

RANGES = {
    "loss_db": (0.0, 30.0, "dB"),
    "return_loss_db": (-80.0, -10.0, "dB"),
    "excess_db": (0.0, 40.0, "dB"),
    "fibre_loss_db": (0.0, 20.0, "dB"),
    "launch_dbm": (-20.0, 10.0, "dBm"),
    "length_km": (0.0, 10.0, "km"),
    "warmer_k": (-60.0, 60.0, "K"),
}
"""Physical ranges: an OCS's insertion loss, its ports' reflection, the excess of a dirty connector (several
may add up to more), a `LinkDesign`, and the temperature difference of two modules."""
LASER = "far laser"
AS_RECEIVED = {
    "mux": "near demux",
    "circulator": "near circulator",
    "circulator connector": "near circulator's connector",
    "circulator port": "near circulator's port",
    "near fibre": "near fibre and connectors",
    "far fibre": "far fibre and connectors",
    "far circulator connector": "far circulator's connector",
    "far circulator port": "far circulator's port",
    "demux": "far mux",
}
"""Element names on the way in that differ from those on the way out."""


@dataclass(frozen=True, slots=True)
class BudgetStep:
    """One element on the path of the far end's light.

    `loss_db` is its loss (None: the source) and `power_dbm` the power after it. `return_db` is the reflection
    of light from the near end; `interference_dbm` is the part of it that reaches the receiver (None:
    nothing).
    """

    element: str
    loss_db: float | None
    power_dbm: float
    return_db: float | None
    interference_dbm: float | None


@dataclass(frozen=True, slots=True)
class LaneBudget:
    """One lane.

    - `launch_dbm`: power of the far laser. `sensitivity_db`: light that the receiver needs beyond its design.
    - `offset_ghz`: frequency difference of the two lasers; None: their beat is in the middle of the band.
    - `interference_db`: the MPI; None if no light comes back.
    - `raw_ber`: bit error rate of decisions. `ber`: after the inner code, if there is one.
    - `post_fec_ber`: after KP4, which loses the share `block_loss` of its blocks.
    - `margin_orders`: orders of magnitude of `ber` below 2×10⁻⁴.
    """

    lane: int
    wavelength_nm: float
    launch_dbm: float
    received_dbm: float
    sensitivity_db: float
    extinction_db: float
    offset_ghz: float | None
    interference_db: float | None
    dispersion_ps_per_nm: float
    penalty_db: float
    raw_ber: float
    ber: float
    margin_orders: float
    block_loss: float
    post_fec_ber: float


@dataclass(frozen=True, slots=True)
class Budget:
    """One strand.

    Its own figures are of the first lane, between modules as designed. `interference_db` is relative to the
    received power (the MPI); None if no light comes back.
    """

    launch_dbm: float
    loss_db: float
    received_dbm: float
    interference_dbm: float | None
    interference_db: float | None
    steps: tuple[BudgetStep, ...]
    lanes: tuple[LaneBudget, ...]

    @property
    def worst(self) -> LaneBudget:
        """The lane with the least margin."""
        return min(self.lanes, key=lambda lane: lane.margin_orders)


def link_budget(design: LinkDesign, strand: Strands, made: Lanes = AS_DESIGNED) -> Budget:
    """The budget of one strand between modules as manufactured. InvalidInput names a value out of
    its range."""
    for return_db, excess_db in (
        (strand.ocs.near_return_db, strand.near_excess_db),
        (strand.ocs.far_return_db, strand.far_excess_db),
    ):
        check_ranges({"loss_db": float(strand.ocs.loss_db), "return_loss_db": float(return_db)})
        check_not_negative("excess-db", float(excess_db))
    given = {"fibre_loss_db": design.fibre_loss_db, "length_km": design.length_km}
    check_ranges(given | {"launch_dbm": design.launched_dbm})
    steps = _steps(design, strand)
    nominal = received_light(design, strand)
    received_dbm, interference_db = float(nominal.received_dbm[0]), float(nominal.interference_db[0])
    back = math.isfinite(interference_db)
    return Budget(
        design.launched_dbm,
        design.launched_dbm - received_dbm,
        received_dbm,
        received_dbm + interference_db if back else None,
        interference_db if back else None,
        steps,
        _lanes(design, strand, made),
    )


def _lanes(design: LinkDesign, strand: Strands, made: Lanes) -> tuple[LaneBudget, ...]:
    found = evaluate(design, strand, made)
    lanes = len(found.ber)
    columns = (
        lanes_nm(design.kind),
        design.launched_dbm + made.far_launch_db,
        found.received_dbm,
        made.sensitivity_db,
        design.extinction_of(made),
        np.full(lanes, None) if made.offset_ghz is None else made.offset_ghz,
        np.array([mpi_db if math.isfinite(mpi_db) else None for mpi_db in found.interference_db.tolist()]),
        dispersion_ps_per_nm(lanes_nm(design.kind), design.length_km),
        found.penalty_db,
        found.raw_ber,
        found.ber,
        found.margin,
        block_loss(found.ber),
        found.post_fec_ber,
    )
    rows = zip(*(np.broadcast_to(column, lanes).tolist() for column in columns), strict=True)
    return tuple(LaneBudget(lane, *row) for lane, row in enumerate(rows))


def check_ranges(values: Mapping[str, float]) -> None:
    """InvalidInput for the first value, by its name in `RANGES`, that is not physical."""
    for name, value in values.items():
        check_range(name.replace("_", "-"), value, *RANGES[name])


def _steps(design: LinkDesign, strand: Strands) -> tuple[BudgetStep, ...]:
    """From the far laser to the near receiver.

    Losses are the same in both directions, so this is the path of the near end's own light, seen from its
    end. Elements without loss and reflection are left out.
    """
    path = design.path(strand)
    back_dbm = {name: float(power) for name, power in reflections(path, design.launched_dbm)}
    power_dbm = design.launched_dbm
    steps = [BudgetStep(LASER, None, power_dbm, None, None)]
    for element in reversed(path):
        loss_db = float(element.loss_db)
        if not loss_db and element.return_db is None:
            continue
        power_dbm -= loss_db
        return_db = None if element.return_db is None else float(element.return_db)
        name = AS_RECEIVED.get(element.name, element.name)
        steps.append(BudgetStep(name, loss_db, power_dbm, return_db, back_dbm.get(element.name)))
    return tuple(steps)
