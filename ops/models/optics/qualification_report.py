"""The report of `lightwave pod qualify`, as JSON or a table."""

from dataclasses import dataclass

import numpy as np

from ops.report.tables import text_table
from shared.models.optics.lane_parts import CirculatorName, LaserName
from shared.models.optics.link_design import LinkDesign
from shared.models.optics.qualification import Qualification
from shared.models.superpod.wiring import LinkEnd, link_end

QUANTILES = (0.0, 0.01, 0.1, 0.5, 0.9, 0.99, 1.0)


@dataclass(frozen=True, slots=True)
class PairingRow:
    """One pairing of two link ends, with the figures of its worst lane."""

    end: str
    partner: str
    lane: int
    ber: float
    margin_orders: float
    insertion_loss_db: float
    received_dbm: float
    interference_db: float


@dataclass(frozen=True, slots=True)
class QualificationReport:
    """The figures of a qualification.

    `ends`, `partners` and `pairings` are counts; the fields with `above` count those over `threshold_ber`.
    `ber_quantiles` maps a share of all pairings, such as "0.5", to the bit error rate that they do not
    exceed. `repeat` is the command that prints the same report.
    """

    seed: int
    fabric: str
    cubes: int
    rate: str
    launch_dbm: float
    circulator: CirculatorName
    laser: LaserName
    mitigation: bool
    soft_fec: bool
    return_loss_db: float | None
    ends: int
    partners: int
    pairings: int
    threshold_ber: float
    ber_quantiles: dict[str, float]
    median_margin_orders: float
    pairings_above: int
    share_above: float
    ends_above: int
    qualified: bool
    worst: list[PairingRow]
    repeat: str


def qualification_report(result: Qualification, worst: int) -> QualificationReport:
    """All figures of a qualification, with the `worst` pairings by name."""
    conditions = result.conditions
    quantiles = np.quantile(result.log10_ber, QUANTILES)
    return QualificationReport(
        seed=conditions.seed,
        fabric=conditions.fabric,
        cubes=conditions.cubes,
        rate=conditions.design.rate.name,
        launch_dbm=conditions.design.launched_dbm,
        circulator=conditions.design.circulator,
        laser=conditions.design.laser,
        mitigation=conditions.design.mitigation,
        soft_fec=conditions.design.soft_fec,
        return_loss_db=conditions.return_loss_db,
        ends=result.log10_ber.shape[0],
        partners=result.log10_ber.shape[1],
        pairings=result.log10_ber.size,
        threshold_ber=result.threshold_ber,
        ber_quantiles={f"{share:g}": 10.0**value for share, value in zip(QUANTILES, quantiles, strict=True)},
        median_margin_orders=result.median_margin_orders,
        pairings_above=result.pairings_above,
        share_above=result.pairings_above / result.log10_ber.size,
        ends_above=result.ends_above,
        qualified=result.qualified,
        worst=[pairing_row(result, end, partner) for end, partner in result.worst(worst)],
        repeat=repeat_command(result),
    )


def pairing_row(result: Qualification, end: int, partner: int) -> PairingRow:
    """One pairing of a link end with its partner in the cube `partner`."""
    here = link_end(end)
    there = LinkEnd(partner, here.face ^ 1, here.index)
    log10_ber = float(result.log10_ber[end, partner])
    return PairingRow(
        end=here.name(result.conditions.fabric),
        partner=there.name(result.conditions.fabric),
        lane=int(result.lane[end, partner]),
        ber=10.0**log10_ber,
        margin_orders=result.threshold_log10 - log10_ber,
        insertion_loss_db=float(result.insertion_loss_db[end, partner]),
        received_dbm=float(result.received_dbm[end, partner]),
        interference_db=float(result.interference_db[end, partner]),
    )


def repeat_command(result: Qualification) -> str:
    """The command that prints the same report."""
    conditions = result.conditions
    words = ["lightwave pod qualify --seed", str(conditions.seed), "--cubes", str(conditions.cubes)]
    words += ["--no-mitigation"] * (not conditions.design.mitigation) + ["--no-soft-fec"] * (
        not conditions.design.soft_fec
    )
    default = LinkDesign()
    words += ["--rate", conditions.design.rate.name] * (conditions.design.rate != default.rate)
    if conditions.design.launch_dbm is not None:
        words += ["--launch-dbm", f"{conditions.design.launch_dbm:g}"]
    words += ["--circulator", conditions.design.circulator] * (
        conditions.design.circulator != default.circulator
    )
    words += ["--laser", conditions.design.laser] * (conditions.design.laser != default.laser)
    if conditions.return_loss_db is not None:
        words += ["--return-loss-db", f"{conditions.return_loss_db:g}"]
    return " ".join([*words, "-o", "json"])


def qualification_table(report: QualificationReport) -> str:
    """The report as text."""
    off = ["mitigation"] * (not report.mitigation) + ["soft fec"] * (not report.soft_fec)
    without = f", without {' and '.join(off)}" if off else ""
    verdict = "qualified" if report.qualified else "NOT QUALIFIED"
    reflected = report.return_loss_db
    reflects = "" if reflected is None else f", every port reflecting {reflected:g} dB"
    parts = f"{report.rate}, {report.laser}s, circulators {report.circulator}"
    rows = [[f"{100 * float(share):g}%", f"{ber:.1e}"] for share, ber in report.ber_quantiles.items()]
    pairings = f"{report.pairings:,} pairings of {report.ends:,} link ends"
    failed = f"{report.pairings_above:,} pairings ({100 * report.share_above:.2g}%)"
    lines = [
        f"{verdict}: {pairings} with {report.partners} partners each{without}{reflects}",
        f"modules: {parts}, {report.launch_dbm:g} dBm a lane",
        f"above {report.threshold_ber:g}: {failed}, {report.ends_above:,} link ends",
        f"median margin: {report.median_margin_orders:.2f} orders of magnitude",
        "",
        text_table(("PAIRINGS", "BER-UP-TO"), rows),
    ]
    if report.worst:
        headers = ("END", "PARTNER", "LANE", "BER", "MARGIN", "LOSS-DB", "RECEIVED-DBM", "INTERFERENCE-DB")
        lines += ["", text_table(headers, [_pairing_cells(pairing) for pairing in report.worst])]
    return "\n".join([*lines, "", f"repeat: {report.repeat}"])


def _pairing_cells(pairing: PairingRow) -> list[object]:
    return [
        pairing.end,
        pairing.partner,
        pairing.lane,
        f"{pairing.ber:.1e}",
        f"{pairing.margin_orders:.2f}",
        f"{pairing.insertion_loss_db:.2f}",
        f"{pairing.received_dbm:.2f}",
        f"{pairing.interference_db:.2f}",
    ]
