"""Orders of drills to pause or kill a process of a live twin.

The sequencer notes each order in Redis when the order's message is on the log, and the supervisor of the
process takes it. Both steps happen at most once for a message: an order is noted under its id only if that id
is new, and only the supervisor that marks it as taken acts. An order that no supervisor takes in time is
missed, so a supervisor that starts later does not act on it.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypedDict, get_args

from schemas.envelope import Envelope
from schemas.messages.drills import DrillProcessOrder
from shared.basics.units import US_PER_S
from shared.storage.store.state_store import GlobalNotes

ORDERS_NOTE, SUPERVISORS_NOTE = "process-orders", "supervisors"
ENDED_NOTE, ALL_DRILLS = "process-orders-ended", "*"
"""The note of when the orders of drills were ended, by the name of a drill, and the name for all of them."""
TAKE_US_MAX = 20 * US_PER_S
"""Wall time after which an order counts as missed."""
SEEN_US_MAX = 6 * US_PER_S
"""A supervisor whose last beat is older accepts no orders."""
KEEP_US = 7 * 24 * 3_600 * US_PER_S
"""How long the ids of orders are kept, in wall time: until then a repeat of the message is recognized."""
PAUSE_S_MAX, PAUSE_S_DEFAULT = 600.0, 10.0
"""Wall time of a pause: the longest, and that of an order without a duration."""

OrderVerb = Literal["pause-process", "kill-process"]
VERBS: tuple[OrderVerb, ...] = get_args(OrderVerb)
OrderState = Literal["open", "taken", "missed"]


class _Row(TypedDict):
    process: str
    verb: OrderVerb
    pause_s: float
    drill: str
    noted_us: int
    state: OrderState


@dataclass(frozen=True, slots=True)
class ProcessOrder:
    """An order that this supervisor took. `pause_s` is wall time: a twin with a paused process may stand
    still in simulated time."""

    message_id: str
    drill: str
    verb: OrderVerb
    pause_s: float
    noted_us: int


def note_order(notes: GlobalNotes, message: Envelope) -> bool:
    """Note the order of a message that is on the log. False if it was noted before."""
    body = message.body
    if not isinstance(body, DrillProcessOrder):
        raise TypeError(f"{message.id}: is {message.type}, not an order to a process")
    pause_s = PAUSE_S_DEFAULT if body.for_us is None else body.for_us / US_PER_S
    now_us = notes.wall_us()
    row: _Row = {
        "process": body.process,
        "verb": body.verb,
        "pause_s": min(pause_s, PAUSE_S_MAX),
        "drill": body.drill,
        "noted_us": now_us,
        "state": "open",
    }
    _forget_old(notes, now_us)
    return notes.swap_globals(ORDERS_NOTE, message.id, None, {message.id: json.dumps(row)})


def take_orders(notes: GlobalNotes, process: str) -> list[ProcessOrder]:
    """Take the open orders to a process, oldest first; the caller must act on each. Orders of drills that
    were stopped since are missed."""
    now_us = notes.wall_us()
    ended = _ended(notes)
    taken = []
    for message_id, text, row in _rows(notes):
        if row["process"] != process or row["state"] != "open":
            continue
        is_late = now_us - row["noted_us"] > TAKE_US_MAX or row["noted_us"] <= _ended_us(ended, row["drill"])
        marked: _Row = {**row, "state": "missed" if is_late else "taken"}
        is_own = notes.swap_globals(ORDERS_NOTE, message_id, text, {message_id: json.dumps(marked)})
        if is_own and not is_late:
            taken.append(ProcessOrder(message_id, row["drill"], row["verb"], row["pause_s"], row["noted_us"]))
    return taken


def end_orders(notes: GlobalNotes, drill: str | None = None) -> None:
    """End the orders so far of a drill, or of all drills: supervisors take none of them any more, and let
    paused processes continue. A stop of drills cannot do that by the log, because a site with a paused
    process stands still."""
    now_us = notes.wall_us()
    old = {name: None for name, at_us in _ended(notes).items() if now_us - at_us > KEEP_US}
    notes.set_globals(ENDED_NOTE, {**old, drill or ALL_DRILLS: str(now_us)})


def has_ended(notes: GlobalNotes, order: ProcessOrder) -> bool:
    """Whether the drill of an order was stopped since the order was noted."""
    return order.noted_us <= _ended_us(_ended(notes), order.drill)


def _ended(notes: GlobalNotes) -> dict[str, int]:
    """Drill, or all, → wall time until which its orders have ended."""
    return {name: int(at) for name, at in notes.read_globals(ENDED_NOTE).items() if at.isdecimal()}


def _ended_us(ended: Mapping[str, int], drill: str) -> int:
    return max(ended.get(drill, -1), ended.get(ALL_DRILLS, -1))


def beat(notes: GlobalNotes, process: str) -> None:
    """Record that a supervisor of this process accepts orders now."""
    notes.set_globals(SUPERVISORS_NOTE, {process: str(notes.wall_us())})


def supervised_processes(notes: GlobalNotes) -> frozenset[str]:
    """The processes whose supervisors accept orders now."""
    now_us = notes.wall_us()
    beats: Mapping[str, str] = notes.read_globals(SUPERVISORS_NOTE)
    return frozenset(
        process
        for process, beat_us in beats.items()
        if beat_us.isdecimal() and now_us - int(beat_us) <= SEEN_US_MAX
    )


def _rows(notes: GlobalNotes) -> list[tuple[str, str, _Row]]:
    """(message id, text, row) of every order, oldest first. Ignores rows that the twin did not write."""
    found = []
    for message_id, text in notes.read_globals(ORDERS_NOTE).items():
        try:
            row: _Row = json.loads(text)
            is_own = row["verb"] in VERBS and {*row} == {*_Row.__annotations__}
            found += [(float(row["noted_us"]), message_id, text, row)] if is_own else []
        except (TypeError, ValueError, KeyError):
            continue
    return [tuple_[1:] for tuple_ in sorted(found, key=lambda one: one[:2])]


def _forget_old(notes: GlobalNotes, now_us: int) -> None:
    old = [message_id for message_id, _, row in _rows(notes) if now_us - row["noted_us"] > KEEP_US]
    if old:
        notes.set_globals(ORDERS_NOTE, dict.fromkeys(old))
