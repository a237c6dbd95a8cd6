"""Orders of drills to processes, and a store for them without Redis."""

from schemas.envelope import Envelope, enclose
from schemas.messages.drills import DrillProcessOrder
from shared.runtimes.live.process.process_orders import OrderVerb
from shared.storage.store.memory_store import MemoryStore


class Notes(MemoryStore):
    """A store whose wall clock the test moves."""

    now_s = 100.0

    def __init__(self) -> None:
        super().__init__(wall_s=lambda: self.now_s)


def order(number: int, verb: OrderVerb = "kill-process", for_us: int | None = None) -> Envelope:
    body = DrillProcessOrder(
        drill="pod-0/drill-1", step="kill", verb=verb, process="scheduler", for_us=for_us
    )
    return enclose(body, fabric="pod-0", at_us=7, cause="x/1", source="drills@pod-0", seq=number)
