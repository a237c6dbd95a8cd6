"""The budget of one strand, element by element: what the far end's light loses on its way to this end's
receiver, what every element adds to it of this end's own light, and what each lane then errs.

[LF] 3.3, 4.1.2, Appendix B. As `link.evaluate` has it for many at once; here for one, with every step shown.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from shared.basics.checks import check_range, not_negative
from shared.models.optics.fec import block_loss
from shared.models.optics.link import (
    LinkDesign,
    Switched,
    dispersion_ps_per_nm,
    evaluate,
    lanes_nm,
    reflections,
)

RANGES = {
    "loss_db": (0.0, 30.0, "dB"),
    "return_loss_db": (-80.0, -10.0, "dB"),
    "excess_db": (0.0, 40.0, "dB"),
    "fibre_loss_db": (0.0, 20.0, "dB"),
    "launch_dbm": (-20.0, 10.0, "dBm"),
    "length_km": (0.0, 10.0, "km"),
}
"""What is physical: an OCS's insertion loss, its ports' reflection, the excess of a dirty connector (several
may add up to more), a `LinkDesign`."""
LASER = "far laser"
AS_RECEIVED = {
    "mux": "near demux",
    "circulator": "near circulator",
    "circulator port": "near circulator's port",
    "near fibre": "near fibre and connectors",
    "far fibre": "far fibre and connectors",
    "far circulator port": "far circulator's port",
    "demux": "far mux",
}
"""Elements that light on the way in meets by other names than on the way out."""


@dataclass(frozen=True, slots=True)
class Step:
    """One element as the far end's light meets it: what it takes (None: the source), what is left after it,
    what it sends back of light that arrives from the near end, and how much of that reaches the receiver
    (None: nothing)."""

    element: str
    loss_db: float | None
    power_dbm: float
    return_db: float | None
    interference_dbm: float | None


@dataclass(frozen=True, slots=True)
class LaneBudget:
    """One lane. Rates are of bits: `raw_ber` as decided, `ber` after the inner code if there is one,
    `post_fec_ber` after KP4, which loses `block_loss` of its blocks. `margin_orders` is that of `ber` below
    2×10⁻⁴ in orders of magnitude."""

    lane: int
    wavelength_nm: float
    received_dbm: float
    dispersion_ps_per_nm: float
    penalty_db: float
    raw_ber: float
    ber: float
    margin_orders: float
    block_loss: float
    post_fec_ber: float


@dataclass(frozen=True, slots=True)
class Budget:
    """One strand. `interference_db` is over the received power: the MPI; None where no light comes back."""

    launch_dbm: float
    loss_db: float
    received_dbm: float
    interference_dbm: float | None
    interference_db: float | None
    steps: tuple[Step, ...]
    lanes: tuple[LaneBudget, ...]

    @property
    def worst(self) -> LaneBudget:
        """The lane with the least margin."""
        return min(self.lanes, key=lambda lane: lane.margin_orders)


def link_budget(
    design: LinkDesign,
    loss_db: float,
    near_return_db: float,
    far_return_db: float,
    near_excess_db: float = 0.0,
    far_excess_db: float = 0.0,
) -> Budget:
    """Of a strand whose OCS loses so much, and whose ports send back so much of what arrives (negative). The
    excess is that of dirty connectors. InvalidInput names a value out of its range."""
    for return_db, excess_db in ((near_return_db, near_excess_db), (far_return_db, far_excess_db)):
        check_ranges({"loss_db": loss_db, "return_loss_db": return_db})
        not_negative("excess-db", excess_db)
    check_ranges({name: getattr(design, name) for name in ("launch_dbm", "fibre_loss_db", "length_km")})
    ocs = Switched(np.asarray(loss_db), np.asarray(near_return_db), np.asarray(far_return_db))
    steps = _steps(design, ocs, near_excess_db, far_excess_db)
    found = evaluate(design, ocs, near_excess_db, far_excess_db)
    received_dbm, interference_db = float(found.received_dbm[0]), float(found.interference_db[0])
    dispersion = dispersion_ps_per_nm(lanes_nm(design.kind), design.length_km)
    columns = (
        lanes_nm(design.kind),
        found.received_dbm,
        dispersion,
        found.penalty_db,
        found.raw_ber,
        found.ber,
        found.margin,
        block_loss(found.ber),
        found.post_fec_ber,
    )
    rows = zip(*(column.tolist() for column in columns), strict=True)
    back = math.isfinite(interference_db)
    return Budget(
        design.launch_dbm,
        design.launch_dbm - received_dbm,
        received_dbm,
        received_dbm + interference_db if back else None,
        interference_db if back else None,
        steps,
        tuple(LaneBudget(lane, *row) for lane, row in enumerate(rows)),
    )


def check_ranges(values: Mapping[str, float]) -> None:
    """InvalidInput for the first value, by its name in `RANGES`, that is not physical."""
    for name, value in values.items():
        check_range(name.replace("_", "-"), value, *RANGES[name])


def _steps(
    design: LinkDesign, ocs: Switched, near_excess_db: float, far_excess_db: float
) -> tuple[Step, ...]:
    """From the far laser to the near receiver. Losses are the same both ways, so this is the path that the
    near end's own light takes, from its end; what neither takes nor sends back is left out."""
    path = design.path(ocs, near_excess_db, far_excess_db)
    back_dbm = {name: float(power) for name, power in reflections(path, design.launch_dbm)}
    power_dbm = design.launch_dbm
    steps = [Step(LASER, None, power_dbm, None, None)]
    for element in reversed(path):
        loss_db = float(element.loss_db)
        if not loss_db and element.return_db is None:
            continue
        power_dbm -= loss_db
        return_db = None if element.return_db is None else float(element.return_db)
        name = AS_RECEIVED.get(element.name, element.name)
        steps.append(Step(name, loss_db, power_dbm, return_db, back_dbm.get(element.name)))
    return tuple(steps)
