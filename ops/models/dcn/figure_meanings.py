"""Names, units and meanings of the figures of `lightwave dcn`."""

from collections.abc import Mapping

from shared.basics.field_text import format_percent

SHARES = frozenset(
    {
        *("use", "use_back", "use_at_once", "use_rerouted", "optimum", "worst_use", "lower_bound"),
        *("largest_use", "largest_use_of_all", "largest_use_by_tables", "largest_use_before"),
        *("largest_use_at_once", "largest_use_rerouted", "largest_use_planned_anew"),
        *("throughput", "capacity_left", "capacity_kept", "least_capacity_kept"),
        *("least_left", "mean_left", "most_left"),
    }
)
"""Figures that are fractions; tables show them in percent, and JSON as they are."""
MEANINGS: Mapping[str, str] = {
    "topology": "the trunks that the demand is split over",
    "demand": "the demand of the plan",
    "pairs_checked_for_isolation": "pairs of blocks whose isolation was checked",
    "largest_use": "load over capacity of the fullest trunk",
    "largest_use_of_all": "the same in the worst hour of the history",
    "largest_use_by_tables": "the same with whole table entries for weights",
    "lower_bound": "lower bound of the fullest trunk's use, for any weights",
    "optimum": "the least possible use of the fullest trunk",
    "worst_use": "use of the fullest trunk if some pairs want more",
    "demand_gbps": "Gb/s, all demand",
    "mean_path": "trunks that a bit passes, on average",
    "slowdown": "factor by which flows take longer as trunks fill; - if one is full",
    "throughput": "share of the demand that flows get if they share fairly",
    "circuits_made": "circuits to make",
    "circuits_removed": "circuits to remove",
    "circuits_kept": "circuits that stay",
    "at_least_made": "circuits that any plan must make",
    "stages": "stages, one after the other",
    "seconds": "seconds, all stages",
    "least_capacity_kept": "capacity that the worst stage leaves",
    "least_left": "capacity left to the block that loses most",
    "mean_left": "capacity left to a block, on average",
    "most_left": "capacity left to the block that loses least",
    "cut_off_gbps": "Gb/s of demand without a path",
    "largest_use_before": "use of the fullest trunk before the failure",
    "largest_use_at_once": "the same right after it, with the old weights",
    "largest_use_rerouted": "the same with new weights",
    "largest_use_planned_anew": "the same after the planned rewiring",
}
"""Figure → its meaning, with its unit unless it is a share."""


def figure_text(name: str, value: object) -> object:
    """The cell of a figure: shares in percent, other numbers with separators or four digits."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    if name in SHARES:
        return format_percent(value)
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.4g}" if abs(value) < 1_000 else f"{value:,.0f}"
