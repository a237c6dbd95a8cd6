"""The report of `lightwave link budget`: every element and every lane, as JSON or tables."""

from dataclasses import asdict, dataclass, replace

import numpy as np

from ops.report.tables import text_table
from shared.models.optics.budget import Budget, BudgetStep, LaneBudget, link_budget
from shared.models.optics.impairments import SOUND, Impairment
from shared.models.optics.link_design import LinkDesign, OcsPath, Strands
from shared.models.optics.manufactured_modules import AS_DESIGNED, Lanes
from shared.models.optics.receiver import BER_THRESHOLD

LANE_HEADERS = (
    *("LANE", "NM", "RECEIVED-DBM", "NEEDS-DB", "EXTINCTION-DB", "OFFSET-GHZ", "MPI-DB"),
    *("PENALTY-DB", "RAW-BER"),
    *("BER", "MARGIN", "KP4-BLOCK-LOSS", "POST-FEC-BER"),
)
RETURN_NOTE = "RETURN-DB: share of the near end's own light that goes back; of its circulator, the crosstalk"
MEASURABLE_RATE = 1e-15
"""Lower rates cannot be measured: about one error per day and lane."""
OFFSET_NOTE = (
    "NEEDS-DB: more light than the receiver's design. OFFSET-GHZ: between both lasers; - if both are as "
    "designed, computed as the middle of the band"
)


@dataclass(frozen=True, slots=True)
class ImpairmentReport:
    """The impairments of an end that change its light, as in `Impairment`."""

    dirt_db: float
    lost_db: tuple[float, float]
    launch_loss_db: tuple[float, float]
    sensitivity_loss_db: float
    leak_db: float
    excess_temperature_k: float


@dataclass(frozen=True, slots=True)
class WorstLane:
    """The lane with the least margin, and its strand."""

    strand: int
    lane: int
    received_dbm: float
    interference_db: float | None
    ber: float
    margin_orders: float
    post_fec_ber: float


@dataclass(frozen=True, slots=True)
class StrandReport:
    """One strand: its path through the OCS, then the figures of its `Budget`."""

    strand: int
    ocs: str | None
    north: int | None
    south: int | None
    insertion_loss_db: float
    near_return_loss_db: float
    far_return_loss_db: float
    launch_dbm: float
    loss_db: float
    received_dbm: float
    interference_dbm: float | None
    interference_db: float | None
    elements: tuple[BudgetStep, ...]
    lanes: tuple[LaneBudget, ...]


@dataclass(frozen=True, slots=True)
class DirectionReport:
    """What one end of a link receives from the other. `length_km` is that of the fibre."""

    end: str | None
    far_end: str | None
    rate: str
    kind: str
    mitigation: bool
    soft_fec: bool
    length_km: float
    near_excess_db: float
    far_excess_db: float
    near_impairment: ImpairmentReport | None
    far_impairment: ImpairmentReport | None
    threshold_ber: float
    note: str | None
    worst: WorstLane
    strands: list[StrandReport]


@dataclass(frozen=True, slots=True)
class LinkReport:
    """Both directions of a link. `reverse` is what the far end receives; None if the ends have no names."""

    forward: DirectionReport
    reverse: DirectionReport | None

    def as_json(self) -> dict[str, object]:
        """The fields of the forward direction, and `reverse` next to them."""
        return asdict(self.forward) | {"reverse": None if self.reverse is None else asdict(self.reverse)}


@dataclass(frozen=True, slots=True)
class StrandCase:
    """One strand between two ends.

    - `loss_db`: insertion loss of its OCS. `near_return_db`, `far_return_db`: return loss of the OCS ports.
    - `near_lost_db`, `far_lost_db`: additional loss at either end.
    - `made`, `made_reverse`: the lanes, with all impairments of the modules.
    - `ocs`: None if the figures were given by hand.
    """

    loss_db: float
    near_return_db: float
    far_return_db: float
    ocs: str | None = None
    north: int | None = None
    south: int | None = None
    near_lost_db: float = 0.0
    far_lost_db: float = 0.0
    made: Lanes = AS_DESIGNED
    made_reverse: Lanes = AS_DESIGNED

    def reversed(self) -> "StrandCase":
        """The same strand, seen from the far end."""
        return replace(
            self,
            near_return_db=self.far_return_db,
            far_return_db=self.near_return_db,
            near_lost_db=self.far_lost_db,
            far_lost_db=self.near_lost_db,
            made=self.made_reverse,
            made_reverse=self.made,
        )


@dataclass(frozen=True, slots=True)
class LinkCase:
    """A link, as its near end `end` receives it.

    `near_excess_db` and `far_excess_db` are the loss of dirty connectors. The impairments include them.
    """

    design: LinkDesign
    strands: tuple[StrandCase, ...]
    end: str | None = None
    far_end: str | None = None
    near_excess_db: float = 0.0
    far_excess_db: float = 0.0
    note: str | None = None
    near_impairment: Impairment = SOUND
    far_impairment: Impairment = SOUND

    def reversed(self) -> "LinkCase":
        """The same link, as the far end receives it."""
        return replace(
            self,
            strands=tuple(strand.reversed() for strand in self.strands),
            end=self.far_end,
            far_end=self.end,
            near_excess_db=self.far_excess_db,
            far_excess_db=self.near_excess_db,
            near_impairment=self.far_impairment,
            far_impairment=self.near_impairment,
        )


def link_report(link: LinkCase) -> LinkReport:
    """Compute the budget of a link in both directions. Raises InvalidInput that names a value out of its
    range."""
    reverse = None if link.end is None else _direction_report(link.reversed())
    return LinkReport(_direction_report(link), reverse)


def _direction_report(link: LinkCase) -> DirectionReport:
    budgets = [_budget(link, strand) for strand in link.strands]
    number = min(range(len(budgets)), key=lambda n: budgets[n].worst.margin_orders)
    worst = budgets[number].worst
    design = link.design
    return DirectionReport(
        end=link.end,
        far_end=link.far_end,
        rate=design.rate.name,
        kind=design.kind.name,
        mitigation=design.mitigation,
        soft_fec=design.soft_fec,
        length_km=design.length_km,
        near_excess_db=link.near_excess_db,
        far_excess_db=link.far_excess_db,
        near_impairment=_impairment_report(link.near_impairment),
        far_impairment=_impairment_report(link.far_impairment),
        threshold_ber=BER_THRESHOLD,
        note=link.note,
        worst=WorstLane(
            strand=number,
            lane=worst.lane,
            received_dbm=worst.received_dbm,
            interference_db=worst.interference_db,
            ber=worst.ber,
            margin_orders=worst.margin_orders,
            post_fec_ber=worst.post_fec_ber,
        ),
        strands=[
            _strand_report(n, strand, budget)
            for n, (strand, budget) in enumerate(zip(link.strands, budgets, strict=True))
        ],
    )


def _budget(link: LinkCase, strand: StrandCase) -> Budget:
    ocs = OcsPath(*map(np.asarray, (strand.loss_db, strand.near_return_db, strand.far_return_db)))
    losses_db = (
        *(link.near_excess_db, link.far_excess_db),
        *(strand.near_lost_db, strand.far_lost_db),
        link.near_impairment.leak_db,
    )
    return link_budget(link.design, Strands(ocs, *map(np.asarray, losses_db)), strand.made)


def _impairment_report(end: Impairment) -> ImpairmentReport | None:
    """None if the end is sound."""
    if not end.changes_light:
        return None
    return ImpairmentReport(
        dirt_db=end.dirt_db,
        lost_db=end.lost_db,
        launch_loss_db=end.launch_loss_db,
        sensitivity_loss_db=end.sensitivity_loss_db,
        leak_db=end.leak_db,
        excess_temperature_k=end.excess_temperature_k,
    )


def _strand_report(number: int, strand: StrandCase, budget: Budget) -> StrandReport:
    return StrandReport(
        strand=number,
        ocs=strand.ocs,
        north=strand.north,
        south=strand.south,
        insertion_loss_db=strand.loss_db,
        near_return_loss_db=strand.near_return_db,
        far_return_loss_db=strand.far_return_db,
        launch_dbm=budget.launch_dbm,
        loss_db=budget.loss_db,
        received_dbm=budget.received_dbm,
        interference_dbm=budget.interference_dbm,
        interference_db=budget.interference_db,
        elements=budget.steps,
        lanes=budget.lanes,
    )


def link_table(report: LinkReport) -> str:
    """The report as text: elements in the order in which the far end's light passes them, then lanes."""
    forward = report.forward
    aids = ["mitigation"] * forward.mitigation + ["soft FEC"] * forward.soft_fec
    how = f"with {' and '.join(aids)}" if aids else "without mitigation and soft FEC"
    lines = [f"{forward.rate} over {forward.kind}, {how}"]
    if forward.end:
        lines.insert(0, f"{forward.end} receives from {forward.far_end}")
    if forward.note is not None:
        lines.append(forward.note)
    lines += [
        f"wrong at {end}: {_impairment_text(impairment)}"
        for end, impairment in (
            (forward.end, forward.near_impairment),
            (forward.far_end, forward.far_impairment),
        )
        if impairment is not None
    ]
    for strand in forward.strands:
        lines += ["", *_strand_lines(strand)]
    lines += ["", RETURN_NOTE, OFFSET_NOTE, f"worst: {_verdict(forward)}"]
    if report.reverse is not None:
        lines.append(f"worst the other way, at {forward.far_end}: {_verdict(report.reverse)}")
    return "\n".join(lines)


def _impairment_text(found: ImpairmentReport) -> str:
    """`dirt takes 2.00 dB, strand 1 launches 60.00 dB less`."""
    texts = [f"dirt takes {found.dirt_db:.2f} dB"] if found.dirt_db else []
    for by_strand, form in (
        (found.lost_db, "loses {:.2f} dB"),
        (found.launch_loss_db, "launches {:.2f} dB less"),
    ):
        first, second = by_strand
        if first == second and first:
            texts.append(f"it {form.format(first)}")
        elif first != second:
            texts += [f"strand {n} {form.format(amount)}" for n, amount in enumerate(by_strand) if amount]
    for value, form in (
        (found.sensitivity_loss_db, "receivers need {:.2f} dB more"),
        (found.leak_db, "the circulator leaks {:.2f} dB more"),
        (found.excess_temperature_k, "it is {:.1f} K warmer"),
    ):
        if value:
            texts.append(form.format(value))
    return ", ".join(texts)


def _verdict(report: DirectionReport) -> str:
    worst = report.worst
    verdict = "within" if worst.margin_orders >= 0 else "ABOVE"
    lane = f"strand {worst.strand}, lane {worst.lane}: BER {worst.ber:.2g}"
    margin = f"{report.threshold_ber:g} by {abs(worst.margin_orders):.2f} orders of magnitude"
    return f"{lane}, {verdict} {margin}"


def _strand_lines(strand: StrandReport) -> list[str]:
    through = f": N{strand.north} and S{strand.south} of {strand.ocs}" if strand.ocs else ""
    rows = [
        [
            step.element,
            *map(_decibels, (step.loss_db, step.power_dbm, step.return_db, step.interference_dbm)),
        ]
        for step in strand.elements
    ]
    total = (strand.loss_db, strand.received_dbm, None, strand.interference_dbm)
    rows.append(["received", *map(_decibels, total)])
    mpi_db = strand.interference_db
    return [
        f"strand {strand.strand}{through}",
        text_table(("ELEMENT", "LOSS-DB", "POWER-DBM", "RETURN-DB", "INTERFERENCE-DBM"), rows),
        f"interference over signal (MPI): {'none' if mpi_db is None else f'{mpi_db:.2f} dB'}",
        "",
        text_table(LANE_HEADERS, [_lane_row(lane) for lane in strand.lanes]),
    ]


def _decibels(value: float | None) -> str | None:
    return None if value is None else f"{value:.2f}"


def _rate(value: float) -> str:
    """A rate, or the lowest that can be measured if it is below that."""
    return f"<{MEASURABLE_RATE:g}" if value < MEASURABLE_RATE else f"{value:.1e}"


def _lane_row(lane: LaneBudget) -> list[object]:
    return [
        lane.lane,
        f"{lane.wavelength_nm:g}",
        f"{lane.received_dbm:.2f}",
        f"{lane.sensitivity_db:+.2f}",
        f"{lane.extinction_db:.2f}",
        None if lane.offset_ghz is None else f"{lane.offset_ghz:.1f}",
        _decibels(lane.interference_db),
        f"{lane.penalty_db:.4f}",
        f"{lane.raw_ber:.1e}",
        f"{lane.ber:.1e}",
        f"{lane.margin_orders:.2f}",
        _rate(lane.block_loss),
        _rate(lane.post_fec_ber),
    ]
