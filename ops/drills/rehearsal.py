"""Rehearses a drill on a copy of a twin's site: the same states and draws, in this process, at full speed."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from ops.client.answers import JsonRecord
from ops.client.http_client import Client, RequestFailed, default_fabric, row_path
from ops.client.remote_snapshot import fetch_snapshot
from ops.local.software_version import VERSION
from schemas.drill_plan import DrillPlan
from schemas.drill_process_steps import process_problem
from schemas.envelope import Envelope
from schemas.messages.drill_requests import RunDrill
from schemas.messages.drills import DrillBegun, DrillEnded, DrillRefused
from schemas.resource_kinds import FABRICS
from services.fabric_kinds import services_of
from services.gateway.explain.chaos_journal import chaos_journal
from services.gateway.explain.drill_journal import drill_journal
from services.what_if.run_copy import drive, live_requests
from shared.basics.errors import InvalidInput
from shared.basics.json_types import JsonObject

AFTER_LEASE_US = 24 * 3_600_000_000
"""How long after its lease a drill may still verify; it has ended long before."""


@dataclass
class _Recorder:
    """Records the messages of the copy, and the end of the first drill."""

    first: int
    messages: list[tuple[int, Envelope]] = field(default_factory=list)
    drill: str | None = None
    refusal: str | None = None
    ended: bool = False

    def see(self, cascade: Sequence[Envelope]) -> None:
        for message in cascade:
            self.messages.append((self.first + len(self.messages), message))
            body = message.body
            if isinstance(body, DrillBegun):
                self.drill = self.drill or body.drill
            elif isinstance(body, DrillRefused) and self.drill is None:
                self.refusal = body.reason
            elif isinstance(body, DrillEnded) and body.drill == self.drill:
                self.ended = True

    def is_over(self) -> bool:
        return self.ended or self.refusal is not None


def rehearse(client: Client, plan: DrillPlan, seed: int, fabric: str | None) -> JsonObject:
    """Run the drill on a copy of the site as it is now, and return its journal, whose objects are
    JsonRecords as those of a twin's answer. Nothing happens to the twin.

    Raises RequestFailed if the drill is refused, or does not end.
    """
    problem = process_problem(plan, None, "in a rehearsal")
    if problem is not None:
        raise InvalidInput(problem)
    meant = (fabric, *(step.fabric for step in plan.steps), *(row.fabric for row in plan.targets))
    home = next((name for name in meant if name is not None), None) or default_fabric(client)
    row = client.resource(row_path(FABRICS, home), "site")
    site_name = row.site
    site = fetch_snapshot(client, site_name).restored(services_of)
    recorder = _Recorder(0)
    request = RunDrill(plan=plan, seed=seed)
    requests = live_requests(site, site.now_us, home, [request])
    spans_us = plan.gate_us + plan.lease_us + plan.settle_us + plan.undo_us + plan.verify_us
    drive(site, requests, site.now_us + spans_us + AFTER_LEASE_US, [recorder], recorder.is_over)
    if recorder.refusal is not None:
        raise RequestFailed(recorder.refusal)
    if recorder.drill is None or not recorder.ended:
        raise RequestFailed("the drill has not ended on the copy")
    journal = chaos_journal(drill_journal(recorder.messages, recorder.drill, VERSION))
    found: JsonObject = json.loads(json.dumps(journal), object_hook=JsonRecord)
    return found
