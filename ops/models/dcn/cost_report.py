"""The report of `lightwave dcn cost`: answers next to those of the papers, sensitivities, and bills."""

from dataclasses import asdict, dataclass

from ops.models.dcn.study_report import rows_table
from ops.report.tables import text_table
from shared.models.dcn.cost import (
    PAPER,
    PRICES,
    BillItem,
    Prices,
    answers,
    cost_of,
    dcn_bills,
    pod_bills,
    sensitivities,
    spread,
    watts_of,
)
from shared.models.network.blocks import NetworkLayout

SENSITIVITIES_SHOWN = 3
"""Rows per answer in the table; JSON has all."""


@dataclass(frozen=True, slots=True)
class CostAnswer:
    """An answer, its quantiles (5, 50, 95 %) over random prices, and the figure of a paper."""

    answer: str
    value: float
    p5: float
    p50: float
    p95: float
    paper: float
    source: str


@dataclass(frozen=True, slots=True)
class PriceSensitivity:
    """An answer at the low and high end of one price. `fit_to_paper` is the price that would give the paper's
    figure; None if no price does."""

    answer: str
    price: str
    at_low: float
    at_high: float
    fit_to_paper: float | None


@dataclass(frozen=True, slots=True)
class BillPart:
    """One kind of part; costs are in dollars, powers in watts."""

    part: str
    number: float
    cost_each: float
    watts_each: float
    cost: int
    watts: int


@dataclass(frozen=True, slots=True)
class CostBill:
    """The parts of a network or a pod fabric, and their sums."""

    cost: int
    watts: int
    parts: list[BillPart]


@dataclass(frozen=True, slots=True)
class UnitPrice:
    """A price and its range. Every price is an assumption."""

    price: str
    value: float
    low: float
    high: float
    unit: str
    reason: str


@dataclass(frozen=True, slots=True)
class CostReport:
    """`dcn cost`."""

    answers: list[CostAnswer]
    sensitivity: list[PriceSensitivity]
    bills: dict[str, CostBill]
    prices: list[UnitPrice]


def cost_report(plant: NetworkLayout, prices: Prices, seed: int, draws: int) -> CostReport:
    """Answers with their spread over `draws` random prices, sensitivities, bills and prices."""
    bills = dcn_bills(plant, prices) | {f"pod, {name}": bill for name, bill in pod_bills(prices).items()}
    return CostReport(
        answers=_answers(plant, prices, seed, draws),
        sensitivity=[
            PriceSensitivity(
                answer=one.answer,
                price=one.price,
                at_low=round(one.low, 4),
                at_high=round(one.high, 4),
                fit_to_paper=None if one.fit is None else float(f"{one.fit:.4g}"),
            )
            for one in sensitivities(plant, prices)
        ],
        bills={name: _bill(items) for name, items in bills.items()},
        prices=[
            UnitPrice(name, prices[name], price.low, price.high, price.unit, price.reason)
            for name, price in PRICES.items()
        ],
    )


def _answers(plant: NetworkLayout, prices: Prices, seed: int, draws: int) -> list[CostAnswer]:
    spreads = spread(plant, seed, draws)
    values = answers(plant, prices)
    rows = []
    for name, (stated, source) in PAPER.items():
        p5, p50, p95 = (round(value, 4) for value in spreads[name])
        rows.append(CostAnswer(name, round(values[name], 4), p5, p50, p95, stated, source))
    return rows


def _bill(items: list[BillItem]) -> CostBill:
    return CostBill(
        cost=round(cost_of(items)),
        watts=round(watts_of(items)),
        parts=[
            BillPart(
                part=item.part,
                number=item.number,
                cost_each=item.cost,
                watts_each=item.watts,
                cost=round(item.number * item.cost),
                watts=round(item.number * item.watts),
            )
            for item in items
        ],
    )


def cost_table(report: CostReport) -> str:
    """The answers, the most important prices of each, and the sums of the bills."""
    shown: list[PriceSensitivity] = []
    for answer in PAPER:
        shown += [row for row in report.sensitivity if row.answer == answer][:SENSITIVITIES_SHOWN]
    bills = [(name, f"{bill.cost:,}", f"{bill.watts:,}") for name, bill in report.bills.items()]
    return "\n\n".join(
        [
            rows_table([asdict(row) for row in report.answers]),
            rows_table([asdict(row) for row in shown]),
            text_table(("BILL", "COST ($)", "POWER (W)"), bills),
            "fit-to-paper: the price that alone would give the paper's figure; it is a fit, not a source",
        ]
    )
