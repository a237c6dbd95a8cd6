"""Wait for a live twin to be made, in processes that start at the same time as the one that makes it."""

import time

from ops.live.settings import LiveSettings
from shared.basics.errors import OperationFailed, StoreUnreachable
from shared.runtimes.live.twin_record import find_twin

WAIT_S_MAX = 90.0
POLL_S = 0.2


def await_twin(settings: LiveSettings, wait_s: float = WAIT_S_MAX) -> None:
    """Until the Redis of the settings answers and holds a twin; OperationFailed if it does not in time."""
    store = settings.store()
    until = time.monotonic() + wait_s
    while True:
        try:
            if find_twin(store) is not None:
                return
            missing = "holds no live twin"
        except StoreUnreachable:
            missing = "does not answer"
        if time.monotonic() > until:
            raise OperationFailed(
                f"Redis at {store.name}: {missing} after {wait_s:.0f} s; `lightwave live init` makes a twin"
            )
        time.sleep(POLL_S)
