"""Status documents of the link ends: one for the 96 ends of each cube, and a summary."""

from collections.abc import Iterable, Iterator
from functools import lru_cache

import numpy as np

from schemas.documents.pods import EndImpairment, EndModule, LinkGroupDocument, LinksSummary
from schemas.names import number_of
from services.transceivers.link_optics import path_loss_db, receiving
from services.transceivers.state import BOTH_STRANDS, LINK_STATES, TransceiversState
from shared.engine.service import DocumentKey
from shared.models.optics.impairments import SOUND
from shared.models.plant.plant_format import NO_END
from shared.models.superpod.wiring import ENDS_PER_CUBE

BERS_KEPT_MAX = 65_536
WRONG_WITH_LIGHT = tuple(name for name in EndImpairment.model_fields if name != "end")


def document_keys(state: TransceiversState) -> Iterable[DocumentKey]:
    yield from (("links", f"{state.fabric}/cube-{cube}") for cube in range(state.cubes))
    yield "summaries", f"{state.fabric}/transceivers"


def document(state: TransceiversState, key: DocumentKey) -> LinkGroupDocument | LinksSummary:
    kind, name = key
    if kind == "links":
        return _group(state, name, number_of(name))
    counts = np.bincount(state.code, minlength=len(LINK_STATES)).tolist()
    return LinksSummary.model_validate({"name": name} | dict(zip(LINK_STATES, counts, strict=True)))


def _group(state: TransceiversState, name: str, cube: int) -> LinkGroupDocument:
    ends = slice(cube * ENDS_PER_CUBE, (cube + 1) * ENDS_PER_CUBE)
    lit = state.lit[ends] == BOTH_STRANDS
    far = np.where(lit, state.peer[ends], NO_END)
    dead = (state.impaired.get(end, SOUND).dead for end in range(ends.start, ends.stop))
    conditions = ("failed" if is_dead else "ok" for is_dead in dead)
    losses_db = path_loss_db(state, ends).tolist()
    log10_bers = state.worst_lane_log10_ber[ends].tolist()
    return LinkGroupDocument.model_validate(
        {
            "name": name,
            "states": tuple(LINK_STATES[code] for code in state.code[ends].tolist()),
            "conditions": tuple(conditions),
            "far_ends": tuple(far.tolist()),
            "losses_db": tuple(
                loss if light else None for light, loss in zip(lit.tolist(), losses_db, strict=True)
            ),
            "bers": tuple(
                _ber(log10_ber) if light else None
                for light, log10_ber in zip(receiving(state, ends).tolist(), log10_bers, strict=True)
            ),
            "changed_us": int(state.changed_us[cube]),
            "commissioned_us": state.commissioned_us,
            "impaired": tuple(_impaired(state, ends)),
            "replaced": tuple(_replaced(state, ends)),
        }
    )


def _impaired(state: TransceiversState, ends: slice) -> Iterator[EndImpairment]:
    """The impairments of these ends that affect their light or their modules."""
    for end in sorted(end for end in state.impaired if ends.start <= end < ends.stop):
        condition = state.impaired[end]
        if condition.changes_light or condition.unpowered or condition.worked_on:
            yield EndImpairment.model_validate(
                {"end": end} | {name: getattr(condition, name) for name in WRONG_WITH_LIGHT}
            )


def _replaced(state: TransceiversState, ends: slice) -> Iterator[EndModule]:
    """The modules at these ends that replaced an original one."""
    for end in sorted(end for end in state.replaced if ends.start <= end < ends.stop):
        module = state.replaced[end]
        yield EndModule(end=end, generation=module.generation, since_us=module.since_us)


@lru_cache(maxsize=BERS_KEPT_MAX)
def _ber(log10_ber: float) -> float:
    """The bit error rate with three significant digits."""
    return float(f"{10.0**log10_ber:.2e}")
