"""What `lightwave dcn cost` prints: answers beside the papers', what they hang on, and the bills."""

from typing import Any

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
"""Of each answer, in the table; JSON has all."""


def cost_content(plant: NetworkLayout, prices: Prices, seed: int, draws: int) -> dict[str, Any]:
    """Answers with how they spread, sensitivities, bills and the prices behind them."""
    bills = dcn_bills(plant, prices) | {f"pod, {name}": bill for name, bill in pod_bills(prices).items()}
    return {
        "answers": _answers(plant, prices, seed, draws),
        "sensitivity": [
            {
                "answer": one.answer,
                "price": one.price,
                "at_low": round(one.low, 4),
                "at_high": round(one.high, 4),
                "fit_to_paper": None if one.fit is None else float(f"{one.fit:.4g}"),
            }
            for one in sensitivities(plant, prices)
        ],
        "bills": {name: _bill(items) for name, items in bills.items()},
        "prices": [
            {
                "price": name,
                "value": prices[name],
                "low": price.low,
                "high": price.high,
                "unit": price.unit,
                "reason": price.reason,
            }
            for name, price in PRICES.items()
        ],
    }


def _answers(plant: NetworkLayout, prices: Prices, seed: int, draws: int) -> list[dict[str, Any]]:
    spreads = spread(plant, seed, draws)
    values = answers(plant, prices)
    rows = []
    for name, (stated, source) in PAPER.items():
        parts = {f"p{part}": round(value, 4) for part, value in zip((5, 50, 95), spreads[name], strict=True)}
        rows.append(
            {"answer": name, "value": round(values[name], 4), **parts, "paper": stated, "source": source}
        )
    return rows


def _bill(items: list[BillItem]) -> dict[str, Any]:
    return {
        "cost": round(cost_of(items)),
        "watts": round(watts_of(items)),
        "parts": [
            {
                "part": item.part,
                "number": item.number,
                "cost_each": item.cost,
                "watts_each": item.watts,
                "cost": round(item.number * item.cost),
                "watts": round(item.number * item.watts),
            }
            for item in items
        ],
    }


def cost_table(content: dict[str, Any]) -> str:
    """Answers, the prices that move each most, and the bills' sums."""
    shown: list[dict[str, Any]] = []
    for answer in PAPER:
        shown += [row for row in content["sensitivity"] if row["answer"] == answer][:SENSITIVITIES_SHOWN]
    bills = [(name, f"{bill['cost']:,}", f"{bill['watts']:,}") for name, bill in content["bills"].items()]
    return "\n\n".join(
        [
            rows_table(content["answers"]),
            rows_table(shown),
            text_table(("BILL", "COST ($)", "POWER (W)"), bills),
            "fit-to-paper: what that price alone would have to be for the paper's figure: a fit, no source",
        ]
    )
