"""Stock of spare parts.

If a stock is limited, a repair takes a part when its work starts, and each used part is ordered again and
arrives after the lead time. If work turns out to need a part later and none is in stock, it is borrowed and
the level becomes negative. A stock that is changed at run time counts the parts in use and on order too.
"""

from collections import Counter

from schemas.config.repairs import RepairShopConfig
from schemas.names import FaultKind
from services.repairs.state import Repair, RepairsState
from shared.basics.units import US_PER_DAY
from shared.models.ocs.parts import PART

TRAY_KINDS: tuple[FaultKind, ...] = ("host", "chip")
"""Kinds of faults that use the same spare part: a chip is replaced with the tray of its host."""


def stock_of(state: RepairsState, repair: Repair) -> str | None:
    """The stock that a repair takes its part from; None if it needs none or the stock is unlimited.

    Every kind of OCS part has its own stock.
    """
    config = state.config
    if repair.kind in TRAY_KINDS:
        return None if config.value_or("host_spares", None) is None else "host"
    if repair.work == "replace":
        return None if config.value_or("link_spares", None) is None else "link"
    if repair.kind in PART:
        return None if config.value_or("ocs_spares", None) is None else repair.kind
    return None


def is_in_stock(state: RepairsState, repair: Repair) -> bool:
    """Whether the part that a repair needs is in stock."""
    stock = stock_of(state, repair)
    return stock is None or _stock_level(state, stock) > 0


def queued_in_stock(state: RepairsState) -> list[int]:
    """The queued repairs whose part is in stock. Repairs with the same fault and work need the same part."""
    examples = {(repair.kind, repair.work): repair for repair in state.queued.values()}
    in_stock = {needs for needs, repair in examples.items() if is_in_stock(state, repair)}
    return [number for number, repair in state.queued.items() if (repair.kind, repair.work) in in_stock]


def take(state: RepairsState, repair: Repair) -> None:
    """Take the part for a repair that starts."""
    _change(state, repair, -1)


def put_back(state: RepairsState, repair: Repair) -> None:
    """Put back the part of a cancelled repair."""
    _change(state, repair, +1)


def order(state: RepairsState, repair: Repair) -> None:
    """Order another part for one that was used."""
    stock = stock_of(state, repair)
    if stock is not None:
        arrives_us = state.now_us + round(state.config.value_or("spares_lead_days", 0.0) * US_PER_DAY)
        state.spares_on_order = (*state.spares_on_order, (arrives_us, stock))


def next_delivery_us(state: RepairsState) -> int | None:
    """The time of the next delivery that a queued repair waits for; None if none does."""
    if not state.spares_on_order:
        return None
    examples = {(repair.kind, repair.work): repair for repair in state.queued.values()}
    lacking = {stock_of(state, repair) for repair in examples.values() if not is_in_stock(state, repair)}
    return min((arrives_us for arrives_us, stock in state.spares_on_order if stock in lacking), default=None)


def receive(state: RepairsState) -> None:
    """Add parts that have arrived to the stock."""
    come = [stock for arrives_us, stock in state.spares_on_order if arrives_us <= state.now_us]
    if come:
        state.spares_on_order = tuple(row for row in state.spares_on_order if row[0] > state.now_us)
        for stock in come:
            state.stock_levels[stock] = _stock_level(state, stock) + 1


def change_stocks(state: RepairsState, before: RepairShopConfig) -> None:
    """Change the levels of the stocks whose sizes differ from those in `before`.

    A stock that becomes limited lacks the parts that are being built in. One that becomes unlimited forgets
    its level and its orders.
    """
    for name in ("host_spares", "link_spares", "ocs_spares"):
        was: int | None = before.value_or(name, None)
        size: int | None = state.config.value_or(name, None)
        if was == size:
            continue
        if size is None:
            state.spares_on_order = tuple(row for row in state.spares_on_order if _parameter(row[1]) != name)
            for stock in [one for one in state.stock_levels if _parameter(one) == name]:
                del state.stock_levels[stock]
        elif was is None:
            in_use = Counter(stock_of(state, repair) for repair in state.begun.values())
            taken = {stock: count for stock, count in in_use.items() if stock and _parameter(stock) == name}
            state.stock_levels |= {stock: size - count for stock, count in taken.items()}
        else:
            for stock, level in state.stock_levels.items():
                if _parameter(stock) == name:
                    state.stock_levels[stock] = level + size - was


def _stock_level(state: RepairsState, stock: str) -> int:
    """The current level; the initial stock until the first part is taken."""
    level = state.stock_levels.get(stock)
    return _initial_stock(state, stock) if level is None else level


def _initial_stock(state: RepairsState, stock: str) -> int:
    return int(getattr(state.config, _parameter(stock)))


def _parameter(stock: str) -> str:
    """The parameter that has the size of a stock."""
    return f"{stock}_spares" if stock in ("host", "link") else "ocs_spares"


def _change(state: RepairsState, repair: Repair, by: int) -> None:
    stock = stock_of(state, repair)
    if stock is not None:
        state.stock_levels[stock] = _stock_level(state, stock) + by
