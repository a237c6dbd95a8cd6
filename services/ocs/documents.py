"""Status documents of the OCSes."""

from collections.abc import Iterable

import numpy as np
from pydantic import BaseModel

from schemas.documents import OcsDocument, OcsSummary
from services.ocs.state import NO_PORT, OcsState
from shared.engine.service import DocumentKey
from shared.models.superpod.wiring import OCS_COUNT


def document_keys(state: OcsState) -> Iterable[DocumentKey]:
    yield from (("ocs", f"{state.fabric}/ocs-{ocs}") for ocs in range(OCS_COUNT))
    yield "summaries", f"{state.fabric}/ocs"


def document(state: OcsState, key: DocumentKey) -> BaseModel | None:
    kind, name = key
    if kind == "ocs":
        return _ocs(state, name, int(name.rpartition("-")[2]))
    return OcsSummary(
        name=name,
        ocs_down=int(np.count_nonzero(state.chassis_faults)),
        circuits_made=int(np.count_nonzero(state.made)),
        cross_connects=state.cross_connects,
    )


def _ocs(state: OcsState, name: str, ocs: int) -> OcsDocument:
    wanted = state.wanted[ocs]
    return OcsDocument(
        name=name,
        state="up" if state.chassis_faults[ocs] == 0 else "down",
        radix=state.radix,
        circuits_wanted=int(np.count_nonzero(wanted != NO_PORT)),
        circuits_made=int(np.count_nonzero(state.made[ocs])),
        ports_down=tuple(
            f"{'NS'[side]}{port}" for side, port in np.argwhere(state.port_faults[:, ocs]).tolist()
        ),
        wanted=tuple(wanted.tolist()),
        made=tuple(state.made[ocs].tolist()),
        slices=tuple(state.owner[ocs].tolist()),
        changed_us=int(state.changed_us[ocs]),
    )
