"""Links as the OCSes make and lose circuits: they train, lose light and report changes of their health.
`link_health` decides whether a link is up, degraded or down.
"""

from collections.abc import Sequence
from functools import cache
from typing import Literal

import numpy as np
import numpy.typing as npt

from schemas.body import Body
from schemas.envelope import Envelope
from schemas.messages.ocs import (
    CircuitsConnected,
    CircuitsDisconnected,
    CircuitsRestored,
    OcsDown,
    PortDown,
    PortPatched,
    PortsDown,
)
from schemas.messages.transceivers import LinksChanged, LinksTrained
from schemas.names import Join
from services.transceivers import link_optics
from services.transceivers.link_health import state_codes
from services.transceivers.link_optics import at_either_end, invalidate_masks, masks_of
from services.transceivers.outlier_inspection import schedule_early_inspection, schedule_for_new_links
from services.transceivers.state import BOTH_STRANDS, DARK, DEGRADED, DOWN, UP, TransceiversState
from shared.engine.service import Output
from shared.models.ocs.patched_fibres import port_place
from shared.models.plant.plant_format import NO_END
from shared.models.superpod.wiring import (
    ENDS_PER_CUBE,
    FACE_LINKS,
    STRANDS,
    IntArray,
    end_at,
    join_ends,
    join_ports,
    strand_at,
)


def on_connected(state: TransceiversState, body: CircuitsConnected, _message: Envelope) -> list[Output]:
    """Train the links of a slice's new circuits."""
    norths, souths = join_ends(body.joins)
    loss_db, *log10_bers = link_optics.of_joins(state, body.joins)
    lit = _strands_made(body)
    for near, far, log10_ber in ((norths, souths, log10_bers[0]), (souths, norths, log10_bers[1])):
        state.peer[near] = far
        state.lit[near] = lit
        state.loss_db[near] = loss_db
        state.worst_lane_log10_ber[near] = log10_ber
    ends = np.concatenate((norths, souths))
    if state.patched or state.impaired:
        _update_changed_links(state, ends)
    code = state_codes(state, norths)
    state.code[norths] = code
    state.code[souths] = code
    _touch_joined_cubes(state, body.joins)
    schedule_for_new_links(state, ends)
    counts = np.bincount(code, minlength=DOWN + 1)
    unwell = (code != UP) & (lit == BOTH_STRANDS)
    if state.impaired and unwell.any():
        schedule_early_inspection(state, norths[unwell])
    trained = LinksTrained(
        slice=body.slice,
        up=2 * int(counts[UP]),
        degraded=_with_code(state, ends, DEGRADED) if counts[DEGRADED] else (),
        down=_with_code(state, ends, DOWN) if counts[DOWN] else (),
    )
    return [trained]


def _update_changed_links(state: TransceiversState, ends: IntArray) -> None:
    """Update loss and bit error rate of connected ends that differ from the table of pairs."""
    moved = ends[at_either_end(masks_of(state).moved, state, ends)]
    if len(moved):
        state.loss_db[moved] = link_optics.loss_db(state, moved)
    changed = ends[link_optics.differs_from_table(state, ends)]
    if len(changed):
        state.worst_lane_log10_ber[changed] = link_optics.impaired_worst_lane_log10_ber(state, changed)


def _strands_made(body: CircuitsConnected) -> npt.NDArray[np.uint8]:
    """Which strands of each new link are made, of shape (16 × joins,)."""
    lit = np.full(FACE_LINKS * len(body.joins), BOTH_STRANDS, dtype=np.uint8)
    if not body.missing_ocs and not body.missing_ports:
        return lit
    ocs, norths, _ = join_ports(body.joins)
    if body.missing_ocs:
        lit[np.isin(ocs[::STRANDS], body.missing_ocs)] = 0
    for number, port in body.missing_ports:
        link, strand = np.divmod(np.flatnonzero((ocs == number) & (norths == port)), STRANDS)
        lit[link] &= (BOTH_STRANDS ^ (1 << strand)).astype(np.uint8)
    return lit


def on_disconnected(state: TransceiversState, body: CircuitsDisconnected, _message: Envelope) -> list[Output]:
    """Turn links dark. The command expects it, so nothing is emitted."""
    norths, souths = join_ends(body.joins)
    # A circuit that was still being made has no link yet. Its ends are already dark, because its ports
    # were free.
    ends = np.concatenate((norths, souths))
    state.peer[ends] = NO_END
    state.lit[ends] = 0
    state.loss_db[ends] = np.nan
    state.worst_lane_log10_ber[ends] = np.nan
    state.code[ends] = DARK
    _touch_joined_cubes(state, body.joins)
    return []


def on_restored(state: TransceiversState, body: CircuitsRestored, _message: Envelope) -> list[Output]:
    lit: dict[int, int] = {}
    for circuit in body.circuits:
        for side, port in zip("NS", circuit, strict=True):
            end = end_at(body.ocs, port).number
            lit[end] = lit.get(end, int(state.lit[end])) | 1 << strand_at(side, port)
    ends = sorted(lit)
    return _set_lit(state, np.array(ends), np.array([lit[end] for end in ends], dtype=np.uint8))


def on_ocs_down(state: TransceiversState, body: OcsDown, _message: Envelope) -> list[Output]:
    """All links through this OCS lose their light at once."""
    dimension, index = divmod(body.ocs, FACE_LINKS)
    first = np.arange(state.cubes) * ENDS_PER_CUBE + index
    ends = np.concatenate([first + face * FACE_LINKS for face in (2 * dimension, 2 * dimension + 1)])
    return _set_lit(state, np.sort(ends), np.zeros(len(ends), dtype=np.uint8))


def on_port_down(state: TransceiversState, body: PortDown, _message: Envelope) -> list[Output]:
    return _lose_strands(state, body.ocs, body.side, (body.port,))


def on_ports_down(state: TransceiversState, body: PortsDown, _message: Envelope) -> list[Output]:
    return _lose_strands(state, body.ocs, body.side, body.ports)


def on_port_patched(state: TransceiversState, body: PortPatched, _message: Envelope) -> list[Output]:
    """Apply a patch: the fibre at this port now has another mirror, collimator and splice."""
    state.patched[port_place("NS".index(body.side), body.ocs, body.port)] = body.spare
    invalidate_masks(state)
    end = end_at(body.ocs, body.port).number
    peer = int(state.peer[end])
    if peer == NO_END:
        return []
    ends = np.array(sorted({end, peer}))
    state.loss_db[ends] = link_optics.loss_db(state, ends)
    recompute_ber(state, ends)
    touch(state, ends)
    return [*evaluate_links(state, ends)]


def _lose_strands(
    state: TransceiversState, ocs: int, side: Literal["N", "S"], ports: Sequence[int]
) -> list[Output]:
    """Turn off the strand of the link at each of these ports. Spare and unconnected ports have none."""
    lit: dict[int, int] = {}
    for port in ports:
        end = end_at(ocs, port).number if port < STRANDS * state.cubes else NO_END
        peer = NO_END if end == NO_END else int(state.peer[end])
        if peer == NO_END:
            continue
        for number in (end, peer):
            lit[number] = lit.get(number, int(state.lit[number])) & ~(1 << strand_at(side, port))
    ends = sorted(lit)
    if not ends:
        return []
    return _set_lit(state, np.array(ends), np.array([lit[end] for end in ends], dtype=np.uint8))


def _set_lit(state: TransceiversState, ends: IntArray, lit: npt.NDArray[np.uint8]) -> list[Output]:
    """Set which strands of these ends are made, and evaluate their links.

    An end that is down for another reason stays down, but its document may change.
    """
    is_shown = (state.lit[ends] == BOTH_STRANDS) != (lit == BOTH_STRANDS)
    state.lit[ends] = lit
    if is_shown.any():
        touch(state, ends[is_shown])
    return [*evaluate_links(state, ends)]


def evaluate_links(state: TransceiversState, ends: IntArray) -> list[Body]:
    """Recompute the state of these ends and report the connected ones that changed."""
    ends = ends[state.peer[ends] != NO_END]
    code = state_codes(state, ends)
    moved = code != state.code[ends]
    if not moved.any():
        return []
    ends = ends[moved]
    state.code[ends] = code[moved]
    touch(state, ends)
    up, degraded, down = (_with_code(state, ends, c) for c in (UP, DEGRADED, DOWN))
    if state.impaired and (degraded or down):
        schedule_early_inspection(state, ends[state.code[ends] != UP])
    return [LinksChanged(up=up, degraded=degraded, down=down)]


def recompute_ber(state: TransceiversState, ends: IntArray) -> None:
    """Recompute the bit error rate of connected ends, with all impairments of both ends."""
    state.worst_lane_log10_ber[ends] = link_optics.worst_lane_log10_ber(state, ends)


def _with_code(state: TransceiversState, ends: IntArray, code: int) -> tuple[int, ...]:
    return tuple(np.sort(ends[state.code[ends] == code]).tolist())


def touch(state: TransceiversState, ends: IntArray) -> None:
    """Mark the cubes of these link ends as changed."""
    _touch_cubes(state, set((ends // ENDS_PER_CUBE).tolist()))


def _touch_joined_cubes(state: TransceiversState, joins: tuple[Join, ...]) -> None:
    _touch_cubes(state, {join[1] for join in joins} | {join[2] for join in joins})


def _touch_cubes(state: TransceiversState, cubes: set[int]) -> None:
    keys = _keys(state.fabric, state.cubes)
    state.changed_us[list(cubes)] = state.now_us
    state.changed_documents.update(map(keys.__getitem__, cubes))
    state.changed_documents.add(keys[-1])


@cache
def _keys(fabric: str, cubes: int) -> tuple[tuple[str, str], ...]:
    """The document keys of a fabric's cubes, in order, and of its summary; the same objects every time."""
    links = tuple(("links", f"{fabric}/cube-{cube}") for cube in range(cubes))
    return (*links, ("summaries", f"{fabric}/transceivers"))
