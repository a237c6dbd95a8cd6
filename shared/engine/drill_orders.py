"""How a service handles the orders of drills: by its rules for the same requests of operators."""

from collections.abc import Iterable
from typing import Any

from schemas.envelope import Envelope
from schemas.messages.drills import DrillOrder
from shared.engine.service import Output, RuleRow, on
from shared.engine.state import State


def on_drill_orders(*rows: RuleRow[Any]) -> RuleRow[Any]:
    """Return the row for drills' orders to a fabric: the request in each order is handled by the row of its
    type. Orders with other requests are left to other services."""
    rules = {row.body: row.rule for row in rows}

    def handle(state: State, body: DrillOrder, message: Envelope) -> Iterable[Output]:
        rule = rules.get(type(body.request))
        return () if rule is None else rule(state, body.request, message)

    return on(DrillOrder, handle, scope="addressed")
