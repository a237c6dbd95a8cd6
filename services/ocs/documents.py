"""Status documents of the OCSes."""

from collections.abc import Iterable
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from schemas.documents.pods import ManualCircuitStatus, OcsDocument, OcsSummary, PatchStatus
from schemas.name_parts import is_within
from schemas.names import number_of
from services.ocs.mirror_faults import failed_mirror_reason
from services.ocs.ports import current_ports, dead_ports, free_spares, patches_of
from services.ocs.state import NO_OWNER, OcsState
from services.ocs.switch import ocs_keys
from shared.engine.service import DocumentKey
from shared.models.network.wiring import NO_PORT
from shared.models.ocs.camera_alignment import REASONS
from shared.models.ocs.parts import PART, part_word
from shared.models.ocs.patched_fibres import SIDES, port_at
from shared.models.optics.palomar import DECIMALS, manufactured_ocses

STEPS_PER_DB = 10**DECIMALS
FABRICS_CACHE_MAX = 32
"""Maximum number of fabrics whose loss tables are cached; 3.6 MB each."""


def document_keys(state: OcsState) -> Iterable[DocumentKey]:
    yield from ocs_keys(state.fabric, state.ocs_count)
    yield "summaries", f"{state.fabric}/ocs"


def document(state: OcsState, key: DocumentKey) -> OcsDocument | OcsSummary:
    kind, name = key
    if kind == "ocs":
        return _ocs(state, name, number_of(name))
    return OcsSummary(
        name=name,
        ocs_down=int(np.count_nonzero(state.chassis_faults)),
        ocs_held=int(np.count_nonzero(state.held & (state.chassis_faults == 0))),
        ocs_parts_down=sum(part_word(part) in PART for part in state.broken),
        circuits_made=int(np.count_nonzero(state.made)),
        cross_connects=state.cross_connects,
    )


def _ocs(state: OcsState, name: str, ocs: int) -> OcsDocument:
    wanted = state.wanted[ocs]
    return OcsDocument(
        name=name,
        state="down" if state.chassis_faults[ocs] else "held" if state.is_held(ocs) else "up",
        radix=state.ports,
        circuits_wanted=int(np.count_nonzero(wanted != NO_PORT)),
        circuits_made=int(np.count_nonzero(state.made[ocs])),
        circuits_stale=_stale(state, ocs),
        parts_down=_parts_down(state, name),
        ports_down=_ports_down(state, ocs),
        patches=_patches(state, ocs),
        ports_dead=tuple(f"{SIDES[side]}{port}" for side, port in dead_ports(state, ocs)),
        spares_left=(len(free_spares(state, ocs, 0)), len(free_spares(state, ocs, 1))),
        wanted=tuple(wanted.tolist()),
        made=tuple(state.made[ocs].tolist()),
        slices=tuple(np.maximum(state.owner[ocs], NO_OWNER).tolist()),
        losses_db=_losses_db(state, ocs),
        unaligned=_unaligned(state, ocs),
        manual_circuits=_manual_circuits(state, ocs),
        changed_us=int(state.changed_us[ocs]),
    )


def _ports_down(state: OcsState, ocs: int) -> tuple[str, ...]:
    """The broken ports by physical port, without those that were given up for good."""
    if not state.port_faults[:, ocs].any():
        return ()
    down = np.argwhere(state.port_faults[:, ocs])
    dead = set(dead_ports(state, ocs))
    ports = current_ports(state, down[:, 0], ocs, down[:, 1]).tolist()
    ports_down = sorted(set(zip(down[:, 0].tolist(), ports, strict=True)) - dead)
    return tuple(f"{SIDES[side]}{port}" for side, port in ports_down)


def _patches(state: OcsState, ocs: int) -> tuple[PatchStatus, ...]:
    return tuple(
        PatchStatus(port=f"{SIDES[side]}{port}", spare=f"{SIDES[side]}{spare}")
        for side, port, spare in patches_of(state, ocs)
    )


def _unaligned(state: OcsState, ocs: int) -> tuple[str, ...]:
    first = ocs * state.radix
    waiting = [
        f"N{place - first}: {REASONS[failed.reason]}"
        for place, failed in sorted(state.realignments.items())
        if place // state.radix == ocs
    ]
    dead = set(dead_ports(state, ocs)) if state.failed_mirrors else set()
    failed_mirrors = [
        f"{SIDES[side]}{port}: {failed_mirror_reason(misses)}"
        for (side, at, port), misses in sorted(
            (port_at(place), n) for place, n in state.failed_mirrors.items()
        )
        if at == ocs and (side, port) not in dead
    ]
    return tuple(waiting + failed_mirrors)


def _manual_circuits(state: OcsState, ocs: int) -> tuple[ManualCircuitStatus, ...]:
    first = ocs * state.radix
    return tuple(
        ManualCircuitStatus(north=place - first, request=request)
        for place, request in sorted(state.manual_circuits.items())
        if place // state.radix == ocs
    )


def _stale(state: OcsState, ocs: int) -> int:
    return sum(at // state.radix == ocs for at in state.stale)


def _parts_down(state: OcsState, name: str) -> tuple[str, ...]:
    """Return the broken parts of an OCS, in order of name; `power` is the supply of the whole chassis."""
    inside = [part.removeprefix(name).removeprefix("/") for part in state.broken if is_within(part, name)]
    return tuple(sorted(part or "power" for part in inside))


def _losses_db(state: OcsState, ocs: int) -> tuple[float | None, ...]:
    """Insertion loss of each wanted circuit in dB, by North port; None where no circuit is wanted.

    The loss belongs to the pair of ports, so it is known before the circuit is made.
    """
    table = _loss_table(state.seed, state.fabric, *state.wanted.shape, state.technology)[ocs]
    wanted = state.wanted[ocs].astype(np.int64)
    norths, souths = np.arange(state.radix), wanted
    if state.patched:
        norths = current_ports(state, 0, ocs, norths)
        souths = np.where(wanted == NO_PORT, NO_PORT, current_ports(state, 1, ocs, np.maximum(wanted, 0)))
    steps = table[norths, souths]
    return tuple([None if loss_db < 0 else loss_db for loss_db in (steps / STEPS_PER_DB).tolist()])


@lru_cache(maxsize=FABRICS_CACHE_MAX)
def _loss_table(seed: int, fabric: str, ocs_count: int, radix: int, technology: str) -> npt.NDArray[np.int32]:
    """The loss of every pair of ports in steps of 0.0001 dB, of shape (OCSes, North ports, South ports + 1).

    The last column is −1; NO_PORT indexes it. The table is cached because documents are made at every change
    of a circuit, too often to add up losses each time.
    """
    losses_db = manufactured_ocses(seed, fabric, radix, ocs_count, technology).insertion_loss_db()
    table = np.full((ocs_count, radix, radix + 1), -1, dtype=np.int32)
    table[:, :, :radix] = np.rint(losses_db * STEPS_PER_DB)
    table.flags.writeable = False
    return table
