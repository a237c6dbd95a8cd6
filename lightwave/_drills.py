"""Methods of a twin that run, stop and report drills."""

import json
from pathlib import Path
from typing import Any

from lightwave._arguments import check_argument_types
from lightwave._connection import TwinConnection
from lightwave._events import Receipt
from ops.client.answers import RowList
from ops.client.http_client import RequestFailed
from ops.drills.plan_file import read_plan
from ops.drills.running_drill import change_safety, fetch_journal, follow_drill
from schemas.api.rows import DrillRow, ScheduleRow
from shared.basics.json_types import JsonObject


class DrillMethods(TwinConnection):
    """Methods about drills."""

    def drills(self, fabric: str | None = None, **where: object) -> RowList[DrillRow]:
        """The drills that run, and the last ones that ended."""
        return self._rows(DrillRow, "drills", fabric, where)

    @check_argument_types
    def drill(self, name: str) -> DrillRow:
        return self._get(DrillRow, self._path("drills", name))

    @check_argument_types
    def run_drill(
        self,
        file: str | Path,
        *,
        seed: int = 0,
        fabric: str | None = None,
        key: str | None = None,
        comment: str | None = None,
    ) -> Receipt:
        """Start a drill from its document, or from a plan in JSON. `begun.drill` of the receipt's events is
        its name; `wait_for_drill` waits for its end. InvalidInput for a document that is not valid."""
        plan = read_plan(Path(file), ())
        body: dict[str, object] = {"plan": plan.model_dump(mode="json"), "seed": seed, "fabric": fabric}
        return self._send_request("/v1/drills", key, comment, body)

    @check_argument_types
    def wait_for_drill(self, name: str, *, timeout_s: float | None = None) -> DrillRow:
        """Wait until a drill has ended, and return its last status: `status` is "completed", "stopped",
        "cancelled" or "failed"; `deviated` shows whether a probe was violated for longer than
        allowed. RequestFailed after `timeout_s` of wall time."""
        self._refuse_past("a wait")
        full_name = self.drill(name).name
        if follow_drill(self._client, full_name, lambda _: None, timeout_s) is None:
            raise RequestFailed(f"{full_name}: has not ended after {timeout_s:g} s; it continues")
        return self.drill(full_name)

    @check_argument_types
    def stop_drill(
        self, name: str, reason: str, *, key: str | None = None, comment: str | None = None
    ) -> Receipt:
        """Stop a drill: no further step, and what it began ends."""
        return self._send_request(self._path("drills", name, "/stop"), key, comment, {"reason": reason})

    @check_argument_types
    def stop_all_drills(self, reason: str, *, hold: bool = False, key: str | None = None) -> None:
        """The kill switch: stop all drills of all sites, and end all that they began. With `hold`, no drill
        starts until `release_drills`."""
        self._refuse_past("a request")
        change_safety(self._client, {"action": "stop", "reason": reason, "hold": hold}, None, key)

    @check_argument_types
    def release_drills(self, reason: str, *, key: str | None = None) -> None:
        """Let drills start again after `stop_all_drills(hold=True)`."""
        self._refuse_past("a request")
        change_safety(self._client, {"action": "release", "reason": reason}, None, key)

    def drill_schedules(self, fabric: str | None = None, **where: object) -> RowList[ScheduleRow]:
        """The schedules of drills, with the next run and the last outcome of each."""
        return self._rows(ScheduleRow, "schedules", fabric, where)

    @check_argument_types
    def schedule_drill(
        self,
        file: str | Path,
        *,
        seed: int = 0,
        first_us: int | None = None,
        fabric: str | None = None,
        key: str | None = None,
        comment: str | None = None,
    ) -> Receipt:
        """Run a drill again and again, as `schedule` of its document says; the first run is due at
        `first_us`, or one interval from now. InvalidInput for a document that is not valid, or has no
        schedule."""
        plan = read_plan(Path(file), ())
        body: dict[str, object] = {"plan": plan.model_dump(mode="json"), "seed": seed, "fabric": fabric}
        if first_us is not None:
            body["first_us"] = first_us
        return self._send_request("/v1/schedules", key, comment, body)

    @check_argument_types
    def unschedule_drill(self, name: str, *, key: str | None = None, comment: str | None = None) -> Receipt:
        """End a schedule. A run that has begun continues."""
        return self._send_request(self._path("schedules", name, "/cancel"), key, comment)

    @check_argument_types
    def drill_journal(self, name: str) -> JsonObject:
        """The journal of a drill, in the form of the Chaos Toolkit; `lightwave` has the whole record."""
        full_name = self.drill(name).name
        found: Any = json.loads(json.dumps(fetch_journal(self._client, full_name)))
        journal: JsonObject = found
        return journal
