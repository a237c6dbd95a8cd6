"""The table of the service `diagnosis`: which rule handles which message."""

from schemas.failures import ParametersChanged
from schemas.ocs import (
    CircuitsConnected,
    CircuitsDisconnected,
    LinkTestRefused,
    MirrorSteady,
    MirrorStoodOut,
    OcsPartDown,
    OcsPartUp,
    PortPatched,
)
from schemas.repairs import RepairCompleted
from schemas.sequencer import Tick
from schemas.transceivers import EndsStoodOut, LinkTested
from services.diagnosis import blind, documents, logic, mirrors
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
        on(OcsPartDown, blind.on_part_down),
        on(OcsPartUp, blind.on_part_up),
        on(MirrorStoodOut, mirrors.on_stood_out),
        on(MirrorSteady, mirrors.on_steady),
        on(PortPatched, mirrors.on_steady),
        on(ParametersChanged, logic.on_parameters_changed),
        on(RepairCompleted, logic.on_repair_completed),
        on(LinkTested, logic.on_link_tested),
        on(LinkTestRefused, logic.on_test_refused),
    ),
    due=logic.due,
    document_keys=documents.document_keys,
    document=documents.document,
)
