"""What the gateway stands on; each runtime brings its own."""

from collections.abc import Callable
from dataclasses import dataclass

from schemas.config import FabricConfig
from shared.runtimes.clock import Clock
from shared.storage.log.reader import LogReader
from shared.storage.store import DocumentReader, Inbox


def _always(_fabric: str) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class TwinPorts:
    """A living twin as the gateway sees it.

    `config` is what a fabric was commissioned with, `site` the site whose log it shares; both raise KeyError
    for an unknown fabric, `config` also for one whose beginning is not on the log yet. `health` lists
    problems in one sentence each, none when all is well. `runtime_metrics` are counts and gauges of the
    runtime itself. `telemetry` is a fabric's newest frame (Arrow IPC stream), or None. `is_quiet` says
    whether `log` holds all that follows from a fabric's last request or Tick; where a whole cascade is
    written at once it always does. `join` makes room for a new fabric (name, site, configuration), whose
    commissioning may then be put into the site's inbox; done once more it changes nothing.
    """

    documents: DocumentReader
    inbox: Inbox
    log: LogReader
    clock: Clock
    config: Callable[[str], FabricConfig]
    site: Callable[[str], str]
    health: Callable[[], list[str]]
    runtime_metrics: Callable[[], dict[str, float]]
    telemetry: Callable[[str], bytes | None]
    join: Callable[[str, str, FabricConfig], None]
    is_quiet: Callable[[str], bool] = _always
