"""Assumed durations of manual and automatic work on a datacenter network.

Numbers that a paper states are kept where they are used, with their source. Assumed prices and watts are in
`shared.models.dcn.cost`.
"""

from shared.models.assumptions import Assumption

ASSUMPTIONS: dict[str, Assumption] = {
    "drain_s": Assumption(
        10.0,
        "s",
        "weights reach all switches, what is on the way arrives: Gemini takes about that",
    ),
    "qualify_s": Assumption(30.0, "s", "error counts of a new circuit are watched before it carries traffic"),
    "undrain_s": Assumption(10.0, "s", "weights reach all switches again"),
    "strand_by_hand_s": Assumption(
        120.0, "s", "one person unplugs, cleans, inspects and plugs one strand at a panel or a rack"
    ),
    "technicians": Assumption(4.0, "people", "at work on one network at a time"),
    "module_by_hand_s": Assumption(
        180.0, "s", "one person takes a module and its line card's port from a block and puts in a newer one"
    ),
}
"""By name, unit last."""


def assumed(name: str) -> float:
    return ASSUMPTIONS[name].value
