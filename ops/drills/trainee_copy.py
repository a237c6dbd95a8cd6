"""Chip-hours that a trainee saved: the drill again on two copies of its site, with and without the trainee.

Both start from the states after the drill's request, with the same draws. One gets all requests of operators
that are on the log, the other all but those of the trainee.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ops.client.http_client import Client, RequestFailed
from ops.client.remote_snapshot import fetch_snapshot
from ops.drills.score.chip_hours import WORK
from ops.drills.score.trainee import Saved, is_of_trainee
from schemas.messages.drills import DrillEnded
from services.fabric_kinds import services_of
from services.service_names import kinds_with
from services.totals.pod_totals import chip_time_at
from services.what_if.run_copy import drive, kind_of_fabric, live_fabrics
from shared.engine.site_driver import LabRequest

if TYPE_CHECKING:
    from ops.drills.debrief_answer import DebriefAnswer
    from schemas.envelope import Envelope
    from shared.engine.site import Site
    from shared.storage.snapshots.site_snapshot import SiteSnapshot

NOT_REPLAYED = frozenset({"AcknowledgeAlerts", "NameCulprit", "TakeHint"})
"""Requests that change nothing but the desk."""


class _End:
    """Sees the end of a drill."""

    def __init__(self, drill: str) -> None:
        self.drill = drill
        self.at_us: int | None = None

    def see(self, cascade: "Sequence[Envelope]") -> None:
        for message in cascade:
            if isinstance(message.body, DrillEnded) and message.body.drill == self.drill:
                self.at_us = message.at_us


def measure_saved(client: Client, debrief: "DebriefAnswer", trainees: Sequence[str | None]) -> Saved:
    """Run both copies to the time at which the drill ended."""
    drill = debrief.drill
    if debrief.is_cut:
        return Saved(why="the drill has more messages than the debrief shows")
    if drill.ended_us is None:
        return Saved(why="the drill runs")
    try:
        snapshot = fetch_snapshot(client.at_time(drill.request), debrief.site)
    except RequestFailed:
        return Saved(why="your role may not run copies of the twin; ask the one who runs the drills")
    played, end = _run(snapshot, debrief, trainees, with_trainee=True)
    if end.at_us != drill.ended_us:
        return Saved(why="the drill took another course on the copy than on the twin")
    untouched, _ = _run(snapshot, debrief, trainees, with_trainee=False)
    return Saved(_work_us(played, drill.ended_us), _work_us(untouched, drill.ended_us))


def _run(
    snapshot: "SiteSnapshot", debrief: "DebriefAnswer", trainees: Sequence[str | None], *, with_trainee: bool
) -> "tuple[Site, _End]":
    site = snapshot.restored(services_of)
    requests: list[LabRequest] = []
    for message in debrief.timeline:
        is_request = message.source.startswith("operator@") and message.type not in NOT_REPLAYED
        if not is_request or (is_of_trainee(message, trainees) and not with_trainee):
            continue
        number = site.last_request + 1 + len(requests)
        requests.append(LabRequest(message.at_us, message.fabric, message.body, number, is_live=True))
    end = _End(debrief.drill.drill)
    drive(site, requests, debrief.drill.ended_us or 0, [end])
    return site, end


def _work_us(site: "Site", at_us: int) -> int:
    """Chip-microseconds of work of all pods so far that no fault took."""
    pods = [name for name in live_fabrics(site) if kind_of_fabric(site, name) in kinds_with("scheduler")]
    times = [chip_time_at(site, name, at_us) for name in pods]
    return sum(time.chip_us.get(word, 0) for time in times for word in WORK)
