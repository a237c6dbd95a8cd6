"""What the failure of a part of a chassis does, and its return (Lightwave Fabrics 3.2.2).

Supplies and fans are redundant. Without its CPU or FPGA an OCS carries out nothing: circuits hold, those
given up too, until it is back. Without a camera or an injection module it can park mirrors, which needs no
alignment, and make nothing: its circuits hold, open loop. A driver board takes those over its mirrors along.
"""

from schemas.names import number_of
from schemas.ocs import CircuitsParked, OcsFreed, OcsHeld, OcsPartDown, OcsPartUp
from services.ocs.by_hand import lose_by_hand
from services.ocs.chassis import breaks, darken_by_own, lighten_by_own, mends
from services.ocs.ports import lose_board, return_board
from services.ocs.restores import forget_realignments, restore_later
from services.ocs.state import OcsState
from services.ocs.switch import forget_stale, touch
from shared.engine.service import Output
from shared.models.ocs.parts import PART, OcsPart, part_word


def lose_part(state: OcsState, target: str) -> list[Output]:
    """A part of a chassis, or the power of the whole, has one fault more."""
    if not breaks(state, target):
        return []
    ocs, part = ocs_of(target), PART[part_word(target)]
    effect = _effect(state, part)
    touch(state, (ocs,))
    if effect == "mirrors":
        return [lose_board(state, target, ocs)]
    said: list[Output] = [OcsPartDown(part=target)]
    if part.effect == "light" and _out(state, target) != part.spare + 1:
        return said
    if effect == "light":
        return [*said, *darken_by_own(state, ocs), *lose_by_hand(state, ocs)]
    if not state.held[ocs]:
        said.append(OcsHeld(ocs=ocs))
    (state.frozen_faults if effect == "commands" else state.blind_faults)[ocs] += 1
    return said


def return_part(state: OcsState, target: str, cause: str) -> list[Output]:
    """One fault less."""
    if not mends(state, target):
        return []
    ocs, part = ocs_of(target), PART[part_word(target)]
    effect = _effect(state, part)
    touch(state, (ocs,))
    if effect == "mirrors":
        return [return_board(state, target, ocs, cause)]
    said: list[Output] = [OcsPartUp(part=target)]
    if part.effect == "light" and _out(state, target) != part.spare:
        return said
    if effect == "light":
        return said + lighten_by_own(state, ocs, cause)
    (state.frozen_faults if effect == "commands" else state.blind_faults)[ocs] -= 1
    if not state.frozen_faults[ocs]:
        said += park(state, ocs)
    if not state.held[ocs]:
        forget_realignments(state, ocs)  # all that is missing turns now
        restore_later(state, ocs, None, cause)
        said.append(OcsFreed(ocs=ocs))
    return said


def _effect(state: OcsState, part: OcsPart) -> str:
    """What comes of a part's failure: OCSes of a pod that latch keep their circuits without power and drivers
    (Table C.1), and carry out nothing meanwhile. A network's chassis goes dark with all that is in it."""
    if state.latches and state.network is None and part.effect in ("light", "mirrors"):
        return "commands"
    return part.effect


def ocs_of(target: str) -> int:
    """The number of the OCS that a part is in: 17 of `pod-0/ocs-17/cpu`, and of `pod-0/ocs-17` itself."""
    return number_of(target.split("/")[1])


def _out(state: OcsState, target: str) -> int:
    """How many parts of the same kind are broken in the chassis of a part, itself included."""
    parent, _, last = target.rpartition("/")
    part = PART[part_word(target)]
    if part.count == 1:
        return int(target in state.broken)
    numbers = range(part.count)
    return sum(f"{parent}/{last.partition('-')[0]}-{number}" in state.broken for number in numbers)


def park(state: OcsState, ocs: int) -> list[Output]:
    """The controller is back: what was given up meanwhile is taken away at once."""
    circuits = forget_stale(state, ocs)
    return [CircuitsParked(ocs=ocs, circuits=circuits)] if circuits else []
