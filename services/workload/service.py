"""The workload service: message type → rule."""

from schemas.operator import ReleaseSlice, RequestSlice
from schemas.scheduler import SliceCompleted, SliceEvicted, SliceRefused, SliceStarted
from schemas.sequencer import Tick
from services.workload import logic
from services.workload.documents import document, document_keys
from services.workload.state import WorkloadState
from shared.engine.service import Service, on

SERVICE: Service[WorkloadState] = Service(
    name="workload",
    state=WorkloadState,
    commission=logic.commission,
    rules=(
        on(Tick, logic.on_tick),
        on(RequestSlice, logic.on_request_slice),
        on(ReleaseSlice, logic.on_release_slice),
        on(SliceStarted, logic.on_slice_started),
        on(SliceRefused, logic.on_slice_ended),
        on(SliceEvicted, logic.on_slice_ended),
        on(SliceCompleted, logic.on_slice_ended),
    ),
    due=logic.due,
    document_keys=document_keys,
    document=document,
)
