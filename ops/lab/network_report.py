"""Report of a network's run between two times: demand and served traffic, weights, rewirings, faults."""

from dataclasses import replace
from typing import Any

from services.totals.network_totals import NetworkTotals


def network_report(fabric: str, end: NetworkTotals, since: NetworkTotals | None = None) -> dict[str, Any]:
    """Report from `since`, or from the commissioning, up to `end`.

    Shares are of the total demand meanwhile. The peak utilisation is a mean over that time."""
    now, was = end.traffic, since.traffic if since else None
    before = since or replace(
        end,
        weights=0,
        rewirings=dict.fromkeys(end.rewirings, 0),
        kept=0,
        circuits_made=0,
        faults=dict.fromkeys(end.faults, 0),
        repairs=0,
    )

    def increase(field: str) -> int:
        return int(getattr(now, field)) - (int(getattr(was, field)) if was else 0)

    requested_mbit, known_us = increase("demanded_mbit"), increase("known_us")
    return {
        "fabric": fabric,
        "served": increase("served_mbit") / requested_mbit if requested_mbit else 1.0,
        "use": increase("use_ppm_s") / known_us if known_us else 0.0,
        "overfull": increase("overfull_us") / known_us if known_us else 0.0,
        "direct": increase("direct_mbit") / requested_mbit if requested_mbit else 1.0,
        "mean_path": increase("hops_mbit") / requested_mbit if requested_mbit else 1.0,
        "weights_solved": end.weights - before.weights,
        "rewirings": {word: n - before.rewirings[word] for word, n in end.rewirings.items()},
        "plans_not_worth_it": end.kept - before.kept,
        "cross_connects": end.circuits_made - before.circuits_made,
        "faults": {word: n - before.faults[word] for word, n in end.faults.items()},
        "repairs": end.repairs - before.repairs,
    }
