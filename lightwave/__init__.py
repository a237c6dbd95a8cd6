"""The Python API of Lightwave Twin: digital twins of optically reconfigured ML datacenters.

    import lightwave

    run = lightwave.lab(days=30, seed=7)                          # a simulated month of a superpod
    answer = lightwave.sweep("technicians", folder="technicians.results", workers=2)
    answer.runs()                                                 # a pandas.DataFrame, a row per run
    lightwave.topology.figures("4x4x8", twisted=True)             # closed forms and exact figures
    twin = lightwave.connect("http://127.0.0.1:8080")             # a running twin (`lightwave up`)
    for event in twin.subscribe(): ...
    twin.bisect("count(cubes, health == unhealthy) > 3")          # when that was true first, and why
    lightwave.fork("drill", at="-2h")                             # another twin with the same past

Every expected error is a `LightwaveError` whose text is one sentence. The other packages of this distribution
are internal and may change at any time.
"""

from lightwave import availability, optics, topology
from lightwave._dataframes import read_runs, read_series
from lightwave._errors import (
    InvalidInput,
    LightwaveError,
    NotFound,
    OperationFailed,
    RequestFailed,
    TwinUnreachable,
)
from lightwave._events import ConditionChange, ConditionSearch, Event, Receipt
from lightwave._forks import fork, forks, remove_fork
from lightwave._lab import LabRun, lab, measures, parameters
from lightwave._sweep import Sweep, sweep
from lightwave._twin import Twin, connect
from ops.client.differences import FieldDifference
from ops.local.software_version import VERSION

__version__ = VERSION
__all__ = [
    "ConditionChange",
    "ConditionSearch",
    "Event",
    "FieldDifference",
    "InvalidInput",
    "LabRun",
    "LightwaveError",
    "NotFound",
    "OperationFailed",
    "Receipt",
    "RequestFailed",
    "Sweep",
    "Twin",
    "TwinUnreachable",
    "availability",
    "connect",
    "fork",
    "forks",
    "lab",
    "measures",
    "optics",
    "parameters",
    "read_runs",
    "read_series",
    "remove_fork",
    "sweep",
    "topology",
]


def __dir__() -> list[str]:
    return __all__
