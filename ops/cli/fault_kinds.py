"""The kinds of faults as `lightwave inject --help` lists them."""

from ops.common.tables import columns
from shared.models.fault_row import FaultRow
from shared.models.faults import FAULTS

NO_WRAP = "\b\n"
"""What tells the help's formatter to leave the lines of a paragraph alone."""


def fault_list() -> str:
    """Every kind: what it strikes, how bad it may be, and what it does."""
    rows = [[kind, row.example, _severity(row), row.meaning] for kind, row in FAULTS.items()]
    slow = ", ".join(kind for kind, row in FAULTS.items() if row.onset_h is not None)
    table = columns(("KIND", "TARGET", "SEVERITY", "WHAT IT DOES"), rows)
    return f"{NO_WRAP}{table}\n\nWith --onset a fault grows to its severity: {slow}."


def _severity(row: FaultRow) -> str:
    found = row.severity
    if found is None:
        return "-"
    sign = "±" if found.either_way else ""
    return f"{sign}{found.least:g}-{found.most:g} {found.unit}"
