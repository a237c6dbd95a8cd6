"""Sets the clock of a live twin directly, without a command."""

from shared.runtimes.live.live_clock import CLOCK_NOTE, ClockStore, _fields
from shared.runtimes.simulated_clock import Epoch


def write_epoch(store: ClockStore, epoch: Epoch) -> None:
    """Set the clock for all processes, without any check."""
    store.set_globals(CLOCK_NOTE, _fields(epoch))
