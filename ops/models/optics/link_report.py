"""The report of `lightwave link budget`: every element and every lane, as JSON or tables."""

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from ops.report.tables import text_table
from shared.models.optics.budget import Budget, link_budget
from shared.models.optics.impairments import SOUND, Impairment
from shared.models.optics.link import LinkDesign, OcsPath, Strands
from shared.models.optics.manufactured_modules import AS_DESIGNED, Lanes
from shared.models.optics.receiver import BER_THRESHOLD

LANE_HEADERS = (
    *("LANE", "NM", "RECEIVED-DBM", "NEEDS-DB", "EXTINCTION-DB", "OFFSET-GHZ", "MPI-DB"),
    *("PENALTY-DB", "RAW-BER"),
    *("BER", "MARGIN", "KP4-BLOCK-LOSS", "POST-FEC-BER"),
)
RETURNED = "RETURN-DB: share of the near end's own light that goes back; of its circulator, the crosstalk"
MEASURED_FROM = 1e-15
"""Rates below are nobody's to measure: an error in a day of a lane."""
OFFSET = (
    "NEEDS-DB: more light than the receiver's design. OFFSET-GHZ: between both lasers; - where they are as "
    "designed, which counts as in the middle of the band"
)


IMPAIRMENT_FIELDS = (
    "dirt_db",
    "lost_db",
    "launch_loss_db",
    "sensitivity_loss_db",
    "leak_db",
    "excess_temperature_k",
)
"""What may be wrong with the light of an end, as `Impairment` has it."""
IMPAIRMENT_TEXT = {
    "sensitivity_loss_db": "receivers need {:.2f} dB more",
    "leak_db": "the circulator leaks {:.2f} dB more",
    "excess_temperature_k": "it is {:.1f} K warmer",
}


@dataclass(frozen=True, slots=True)
class StrandCase:
    """One fibre between two ends: what its OCS loses, and what the ports at this end's side and at the far
    end's send back; what is lost besides at either end, and the lanes with all that is wrong with the
    modules. Without an OCS by name the numbers are somebody's own."""

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
        """As the far end sees it."""
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
    """What joins two ends, as the first one receives it. The excess is that of dirty connectors; the
    impairments are all that a twin says is wrong with the light of either end, dirt included."""

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
        """As the far end receives it."""
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


def link_report(link: LinkCase) -> dict[str, Any]:
    """All figures of a link; `worst` is the lane with the least margin. `reverse` has the same of what the
    far end receives, where the ends have names."""
    return _one_way(link) | {"reverse": None if link.end is None else _one_way(link.reversed())}


def _one_way(link: LinkCase) -> dict[str, Any]:
    budgets = [_budget(link, strand) for strand in link.strands]
    number = min(range(len(budgets)), key=lambda n: budgets[n].worst.margin_orders)
    worst = budgets[number].worst
    design = link.design
    return {
        "end": link.end,
        "far_end": link.far_end,
        "rate": design.rate.name,
        "kind": design.kind.name,
        "mitigation": design.mitigation,
        "soft_fec": design.soft_fec,
        "length_km": design.length_km,
        "near_excess_db": link.near_excess_db,
        "far_excess_db": link.far_excess_db,
        "near_impairment": _impairment_row(link.near_impairment),
        "far_impairment": _impairment_row(link.far_impairment),
        "threshold_ber": BER_THRESHOLD,
        "note": link.note,
        "worst": {
            "strand": number,
            "lane": worst.lane,
            "received_dbm": worst.received_dbm,
            "interference_db": worst.interference_db,
            "ber": worst.ber,
            "margin_orders": worst.margin_orders,
            "post_fec_ber": worst.post_fec_ber,
        },
        "strands": [
            {"strand": n} | _fields(strand) | _figures(budget)
            for n, (strand, budget) in enumerate(zip(link.strands, budgets, strict=True))
        ],
    }


def _budget(link: LinkCase, strand: StrandCase) -> Budget:
    figures = (strand.loss_db, strand.near_return_db, strand.far_return_db)
    ocs = OcsPath(*(np.asarray(figure) for figure in figures))
    wrong = (
        *(link.near_excess_db, link.far_excess_db),
        *(strand.near_lost_db, strand.far_lost_db),
        link.near_impairment.leak_db,
    )
    return link_budget(link.design, Strands(ocs, *map(np.asarray, wrong)), strand.made)


def _impairment_row(end: Impairment) -> dict[str, Any] | None:
    """What is wrong with the light of an end, by name; None with a sound one."""
    return {name: getattr(end, name) for name in IMPAIRMENT_FIELDS} if end.changes_light else None


def _fields(strand: StrandCase) -> dict[str, Any]:
    return {
        "ocs": strand.ocs,
        "north": strand.north,
        "south": strand.south,
        "insertion_loss_db": strand.loss_db,
        "near_return_loss_db": strand.near_return_db,
        "far_return_loss_db": strand.far_return_db,
    }


def _figures(budget: Budget) -> dict[str, Any]:
    figures = asdict(budget)
    return figures | {"elements": figures.pop("steps"), "lanes": figures.pop("lanes")}


def link_table(content: dict[str, Any]) -> str:
    """The report for people: elements in the order in which the far end's light meets them, then lanes."""
    aids = [word for word, on in (("mitigation", "mitigation"), ("soft FEC", "soft_fec")) if content[on]]
    how = f"with {' and '.join(aids)}" if aids else "without mitigation and soft FEC"
    lines = [f"{content['rate']} over {content['kind']}, {how}"]
    if content["end"]:
        lines.insert(0, f"{content['end']} receives from {content['far_end']}")
    lines += [content["note"]] * (content["note"] is not None)
    lines += [
        f"wrong at {content[end]}: {_impairment_text(content[wrong])}"
        for end, wrong in (("end", "near_impairment"), ("far_end", "far_impairment"))
        if content[wrong]
    ]
    for strand in content["strands"]:
        lines += ["", *_strand(strand)]
    lines += ["", RETURNED, OFFSET, f"worst: {_verdict(content)}"]
    if content["reverse"]:
        lines.append(f"worst the other way, at {content['far_end']}: {_verdict(content['reverse'])}")
    return "\n".join(lines)


def _impairment_text(wrong: dict[str, Any]) -> str:
    """`dirt takes 2.00 dB, strand 1 launches 60.00 dB less`."""
    found = [f"dirt takes {wrong['dirt_db']:.2f} dB"] if wrong["dirt_db"] else []
    for name, said in (("lost_db", "loses {:.2f} dB"), ("launch_loss_db", "launches {:.2f} dB less")):
        first, second = wrong[name]
        if first == second and first:
            found.append(f"it {said.format(first)}")
        elif first != second:
            found += [f"strand {n} {said.format(amount)}" for n, amount in enumerate(wrong[name]) if amount]
    for name, said in IMPAIRMENT_TEXT.items():
        if wrong[name]:
            found.append(said.format(wrong[name]))
    return ", ".join(found)


def _verdict(content: dict[str, Any]) -> str:
    worst = content["worst"]
    verdict = "within" if worst["margin_orders"] >= 0 else "ABOVE"
    lane = f"strand {worst['strand']}, lane {worst['lane']}: BER {worst['ber']:.2g}"
    margin = f"{content['threshold_ber']:g} by {abs(worst['margin_orders']):.2f} orders of magnitude"
    return f"{lane}, {verdict} {margin}"


def _strand(strand: dict[str, Any]) -> list[str]:
    through = ""
    if strand["ocs"]:
        through = f": N{strand['north']} and S{strand['south']} of {strand['ocs']}"
    rows = [
        [step["element"]]
        + [_decibels(step[name]) for name in ("loss_db", "power_dbm", "return_db", "interference_dbm")]
        for step in strand["elements"]
    ]
    total = [strand["loss_db"], strand["received_dbm"], None, strand["interference_dbm"]]
    rows.append(["received", *map(_decibels, total)])
    mpi_db = strand["interference_db"]
    return [
        f"strand {strand['strand']}{through}",
        text_table(("ELEMENT", "LOSS-DB", "POWER-DBM", "RETURN-DB", "INTERFERENCE-DBM"), rows),
        f"interference over signal (MPI): {'none' if mpi_db is None else f'{mpi_db:.2f} dB'}",
        "",
        text_table(LANE_HEADERS, [_lane(lane) for lane in strand["lanes"]]),
    ]


def _decibels(value: float | None) -> str | None:
    return None if value is None else f"{value:.2f}"


def _rate(value: float) -> str:
    """As people can measure it."""
    return f"<{MEASURED_FROM:g}" if value < MEASURED_FROM else f"{value:.1e}"


def _lane(lane: dict[str, Any]) -> list[object]:
    rates = (_rate(lane[name]) for name in ("block_loss", "post_fec_ber"))
    return [
        lane["lane"],
        f"{lane['wavelength_nm']:g}",
        f"{lane['received_dbm']:.2f}",
        f"{lane['sensitivity_db']:+.2f}",
        f"{lane['extinction_db']:.2f}",
        None if lane["offset_ghz"] is None else f"{lane['offset_ghz']:.1f}",
        _decibels(lane["interference_db"]),
        f"{lane['penalty_db']:.4f}",
        f"{lane['raw_ber']:.1e}",
        f"{lane['ber']:.1e}",
        f"{lane['margin_orders']:.2f}",
        *rates,
    ]
