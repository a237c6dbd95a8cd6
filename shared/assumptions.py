"""What the papers do not give: every number that the models had to assume, each with the reason for it.

A number that a paper states stands where it is used, with its source; only assumptions stand here.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Assumption:
    """A named number that no paper gives. `unit` as people write it ("" for none)."""

    value: float
    unit: str
    reason: str


ASSUMPTIONS: dict[str, Assumption] = {
    "ocs_collimator_loss_db": Assumption(
        0.4,
        "dB",
        "a fibre array and lens array couple with a few tenths of a dB; two make half of the typical loss",
    ),
    "ocs_mirror_loss_db": Assumption(
        0.12, "dB", "median of a gold mirror near 1300 nm (0.1 dB) and its residual curvature and pointing"
    ),
    "ocs_mirror_loss_spread": Assumption(
        0.25,
        "",
        "logistic scale of the logarithm: the quarter of a die that is left out loses 1.4 times the median",
    ),
    "ocs_deflection_loss_db": Assumption(
        0.25,
        "dB",
        "a beam across the whole die meets both mirrors at a few degrees more: clipping and astigmatism",
    ),
    "ocs_splice_loss_db": Assumption(
        0.15, "dB", "mean of the splices and connectors of one port: the exponential tail of [LF] Figure 10"
    ),
    "ocs_splice_loss_max_db": Assumption(
        0.75, "dB", "a port that loses more is spliced anew, which keeps every pair below the goal of 3 dB"
    ),
    "ocs_return_loss_spread_db": Assumption(
        1.3,
        "dB",
        "logistic scale: nine ports in ten between -50 and -42 dB, one in 500 reworked for the specification",
    ),
}
"""By name, in the order of the models: noun first, unit last."""


def assumed(name: str) -> float:
    """The value of an assumption."""
    return ASSUMPTIONS[name].value
