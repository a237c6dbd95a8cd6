"""What no paper gives of a datacenter network: seconds of people and programs, prices and watts of parts.

A number that a paper states stands where it is used, with its source; only assumptions stand here. What is
told of cost and power depends on prices, so each can be given another value, and every answer comes with what
it is worth (`shared.models.dcn.cost.sensitivities`).
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
    """The value of an assumption."""
    return ASSUMPTIONS[name].value
