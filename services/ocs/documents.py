"""Status documents of the OCSes."""

from collections.abc import Iterable

import numpy as np

from schemas.documents import OcsDocument, OcsSummary
from schemas.names import number_of
from services.ocs.state import NO_PORT, OcsState
from services.ocs.switch import ocs_keys
from shared.engine.service import DocumentKey


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
