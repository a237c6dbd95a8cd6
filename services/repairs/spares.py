"""What is on the shelf to repair with. Where a stock is limited, a part is taken as work on a repair begins,
and for each that was used up another is ordered, which comes after the lead time. Work that turns out to take
a part when it is under way fetches it elsewhere, if none is there: the shelf then owes it."""

from schemas.config.repairs import RepairsConfig
from schemas.names import FaultKind
from services.repairs.state import Repair, RepairsState
from shared.basics.units import US_PER_DAY
from shared.models.ocs.parts import PART

TRAY_KINDS: tuple[FaultKind, ...] = ("host", "chip")
"""Repaired with the same part: a chip is replaced with the tray of its host."""


def stock_of(state: RepairsState, repair: Repair) -> str | None:
    """The shelf from which the part for a repair comes; None where it takes none, or there always is one.
    Every kind of part of an OCS has a shelf of its own."""
    config = state.config
    if not isinstance(config, RepairsConfig):
        return None
    if repair.kind in TRAY_KINDS:
        return None if config.host_spares is None else "host"
    if repair.work == "replace":
        return None if config.link_spares is None else "link"
    if repair.kind in PART:
        return None if config.ocs_spares is None else repair.kind
    return None


def is_in_stock(state: RepairsState, repair: Repair) -> bool:
    """Whether the part that a repair takes is on the shelf."""
    stock = stock_of(state, repair)
    return stock is None or _stock_level(state, stock) > 0


def take(state: RepairsState, repair: Repair) -> None:
    """For a repair that begins."""
    _change(state, repair, -1)


def put_back(state: RepairsState, repair: Repair) -> None:
    """From a repair that is called off."""
    _change(state, repair, +1)


def order(state: RepairsState, repair: Repair) -> None:
    """Another one for a part that was used up."""
    stock, config = stock_of(state, repair), state.config
    if stock is not None and isinstance(config, RepairsConfig):
        comes_us = state.now_us + round(config.spares_lead_days * US_PER_DAY)
        state.spares_on_order = (*state.spares_on_order, (comes_us, stock))


def next_delivery_us(state: RepairsState) -> int | None:
    """When the next part comes that a repair waits for; None while none does."""
    if not state.spares_on_order:
        return None
    lacking = {stock_of(state, repair) for repair in state.queued.values() if not is_in_stock(state, repair)}
    return min((comes_us for comes_us, stock in state.spares_on_order if stock in lacking), default=None)


def receive(state: RepairsState) -> None:
    """Put on their shelves what has come by now."""
    come = [stock for comes_us, stock in state.spares_on_order if comes_us <= state.now_us]
    if come:
        state.spares_on_order = tuple(row for row in state.spares_on_order if row[0] > state.now_us)
        for stock in come:
            state.stock_levels[stock] = _stock_level(state, stock) + 1


def _stock_level(state: RepairsState, stock: str) -> int:
    """As many as were bought at first, until the first is taken."""
    many = state.stock_levels.get(stock)
    return _initial_stock(state, stock) if many is None else many


def _initial_stock(state: RepairsState, stock: str) -> int:
    name = f"{stock}_spares" if stock in ("host", "link") else "ocs_spares"
    return int(getattr(state.config, name))


def _change(state: RepairsState, repair: Repair, by: int) -> None:
    stock = stock_of(state, repair)
    if stock is not None:
        state.stock_levels[stock] = _stock_level(state, stock) + by
