"""The rules of the service `demands`, by message type."""

from schemas.messages.scheduler import PodsJoined, PodsParted, PodsRunning
from schemas.messages.sequencer import FabricCommissioned, Tick
from services.demands import documents, logic
from services.demands.state import DemandsState, commission
from shared.engine.service import Service, on

SERVICE: Service[DemandsState] = Service(
    name="demands",
    state=DemandsState,
    commission=commission,
    rules=(
        on(Tick, logic.on_tick),
        on(FabricCommissioned, logic.on_fabric_commissioned, scope="site-wide"),
        on(PodsJoined, logic.on_pods_joined, scope="site-wide"),
        on(PodsRunning, logic.on_pods_joined, scope="addressed"),
        on(PodsParted, logic.on_pods_parted, scope="site-wide"),
    ),
    due=logic.due,
    document_keys=documents.document_keys,
    document=documents.document,
)
