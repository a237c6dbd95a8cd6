"""The rules of the service `diagnosis`, by message type."""

from schemas.messages.failures import ParametersChanged
from schemas.messages.ocs import (
    CircuitsConnected,
    CircuitsDisconnected,
    LinkTestRefused,
    MirrorSteady,
    MirrorStoodOut,
    OcsPartDown,
    OcsPartUp,
    PortPatched,
)
from schemas.messages.repairs import RepairCompleted
from schemas.messages.sequencer import Tick
from schemas.messages.transceivers import EndsStoodOut, LinkTested
from services.diagnosis import camera_evidence, documents, failed_cameras, logic
from services.diagnosis.state import DiagnosisState, commission
from shared.engine.service import Service, on

SERVICE: Service[DiagnosisState] = Service(
    name="diagnosis",
    state=DiagnosisState,
    commission=commission,
    rules=(
        on(Tick, logic.on_tick),
        on(CircuitsConnected, logic.on_connected),
        on(CircuitsDisconnected, logic.on_disconnected),
        on(EndsStoodOut, logic.on_stood_out),
        on(OcsPartDown, failed_cameras.on_part_down),
        on(OcsPartUp, failed_cameras.on_part_up),
        on(MirrorStoodOut, camera_evidence.on_mirror_stood_out),
        on(MirrorSteady, camera_evidence.on_mirror_steady),
        on(PortPatched, camera_evidence.on_mirror_steady),
        on(ParametersChanged, logic.on_parameters_changed),
        on(RepairCompleted, logic.on_repair_completed),
        on(LinkTested, logic.on_link_tested),
        on(LinkTestRefused, logic.on_test_refused),
    ),
    due=logic.due,
    document_keys=documents.document_keys,
    document=documents.document,
)
