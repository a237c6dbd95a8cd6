"""The debrief of a drill with a game: its journal, and the timeline with the truth."""

from schemas.api.drills import Debrief
from schemas.registry import TYPES
from services.gateway.explain.drill_reader import read_drill
from services.gateway.fabrics import fabric_of, site_of
from services.gateway.hidden_truth import HIDES_TRUTH, truth_shown
from services.gateway.requests.desk_requests import desks_of, find_desk
from services.gateway.runtime_ports import TwinPorts
from services.gateway.text.messages import log_message
from shared.basics.errors import InvalidInput
from shared.storage.log.log_reader import LogQuery

TIMELINE_MAX = 2_000
WRITERS = frozenset({"failures", "operator", "diagnosis", "repairs"})
"""Writers of messages of the timeline."""
LEFT_OUT = frozenset({"RekeyDraws", "ExtendTrace"})
"""Messages of theirs that it lacks."""
TIMELINE_TYPES = (
    *("DrillPhaseBegun", "DrillEnded", "AlertsAcknowledged", "CulpritNamed", "HintGiven"),
    *("OcsDown", "OcsUp", "OcsHeld", "OcsFreed", "OcsesDown", "OcsesUp", "ControlLost", "ControlRegained"),
    *("OcsPartDown", "OcsPartUp", "PortsDown", "PortsUp", "PortDown", "PortUp", "PortPatched"),
    *("HostDown", "HostUp", "CubeUnhealthy", "CubeHealthy", "CubeDrained", "CubeUndrained"),
    *("CubePowerLost", "CubePowerRegained", "CubeOverheated", "CubeCooled", "ModuleReported"),
    *("NetworkPartDown", "NetworkPartUp"),
    *("SliceDegraded", "SliceRestored", "SliceRecovering", "CubeSwapped", "SliceRequeued", "SliceEvicted"),
)


def _timeline_types() -> tuple[str, ...]:
    own = {name for name, body in TYPES.items() if body.writer in WRITERS and name not in LEFT_OUT}
    return tuple(sorted(own | set(TIMELINE_TYPES)))


def debrief(twin: TwinPorts, name: str) -> Debrief:
    """The debrief of a drill. Raise InvalidInput before it has ended; for a caller who may not see faults,
    also while another game of its site runs, whose faults would be in the timeline."""
    desk = find_desk(twin, name)
    if desk.ended_us is None:
        raise InvalidInput(f"desk {name}: its game runs; the debrief is for drills that have ended")
    site = site_of(twin, fabric_of(twin, name))
    is_trainee = HIDES_TRUTH.get()
    if is_trainee:
        for other in desks_of(twin):
            if other.ended_us is None and site_of(twin, fabric_of(twin, other.name)) == site:
                raise InvalidInput(f"desk {name}: no debrief before {other.name} has ended as well")
    with truth_shown():
        journal = read_drill(twin, name)
        first, last = journal.positions.first, journal.positions.last
        # The journal has the plan of this drill; a trainee gets no plans of others.
        types = tuple(one for one in _timeline_types() if not (is_trainee and one == "RunDrill"))
        query = LogQuery(start=first + 1, end=last + 1, types=types)
        rows = twin.log.find(site, query, TIMELINE_MAX + 1)
        timeline = [log_message(twin, message) for _, message in rows[:TIMELINE_MAX]]
    return Debrief(
        desk=desk, drill=journal, site=site, timeline=tuple(timeline), is_cut=len(rows) > TIMELINE_MAX
    )
