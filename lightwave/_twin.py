"""Client of a running twin (`lightwave up`, `make live`): its objects, requests and log."""

import contextlib
import warnings
from collections.abc import Mapping, Sequence

from pydantic import TypeAdapter

from lightwave._arguments import check_argument_types
from lightwave._drills import DrillMethods
from lightwave._events import Receipt
from lightwave._log import LogMethods
from lightwave._past import PastMethods
from ops.client.answers import RowList
from ops.client.http_client import TIMEOUT_S, Client, RequestFailed, escape_path
from ops.client.waiting import WaitTerms, missed_time_text, wait_until
from ops.experiments.schema import Scalar
from ops.experiments.variant_sites import set_options
from ops.requests.object_names import expand_name
from ops.sites.configuration import parse_pairs
from schemas.api.conditions import ConditionReport
from schemas.api.explain import SliceExplanation, SlicePlan
from schemas.api.forecast import ForecastReport, ForecastResult, ForecastSummary
from schemas.api.goodput_report import GoodputReport, GroupBy
from schemas.api.rows import (
    ClockReport,
    CubeRow,
    FabricRow,
    FaultRow,
    HostRow,
    ImpactReport,
    LightPath,
    LinkRow,
    OcsRow,
    RepairRow,
    SliceRow,
    TwinInfo,
    VerdictRow,
)
from schemas.api.whatif import LossReport
from schemas.names import Tier
from shared.basics.errors import InvalidInput, LightwaveError
from shared.basics.time_format import format_time

FORECAST_POLL_S = 0.25
"""Interval between queries of the progress of a forecast."""


@check_argument_types
def connect(
    url: str | None = None,
    *,
    token: str | None = None,
    timeout_s: float = TIMEOUT_S,
    as_name: str | None = None,
) -> "Twin":
    """Connect to the twin at a URL, with a bearer token if it needs one. The defaults are LIGHTWAVE_URL and
    LIGHTWAVE_TOKEN, as for the command line. Requests carry the name `as_name` (default: LIGHTWAVE_AS).

    InvalidInput if the URL, token or time is not valid; TwinUnreachable if no twin answers within
    `timeout_s`."""
    twin = Twin(Client(url, token, timeout_s=timeout_s, as_name=as_name))
    twin.about()
    return twin


class Twin(DrillMethods, LogMethods, PastMethods):
    """A running twin (`lightwave.connect`). Objects have full names, `pod-0/cube-12`; as on the command line,
    a name can omit the only fabric, and can have its kind in front (`cube/pod-0/cube-12`). Lists can be
    filtered by `fabric` and by the value of a column: `slices(state="running")`.
    `why_empty` of a list says why it can have no rows; None if it can have some.

    Every method raises TwinUnreachable if the twin does not answer, NotFound for an unknown name,
    InvalidInput for an argument that is not allowed, and RequestFailed if the twin refuses."""

    def __repr__(self) -> str:
        past = "" if self._client.at is None else f".at({self._client.at!r})"
        return f"lightwave.connect({self.url!r}){past}"

    # --- objects --------------------------------------------------------------------------------------------

    def about(self) -> TwinInfo:
        """The identity and version of the twin."""
        return self._get(TwinInfo, "/v1/twin")

    def fabrics(self, **where: object) -> RowList[FabricRow]:
        return self._rows(FabricRow, "fabrics", None, where)

    def ocses(self, fabric: str | None = None, **where: object) -> RowList[OcsRow]:
        return self._rows(OcsRow, "ocs", fabric, where)

    def cubes(self, fabric: str | None = None, **where: object) -> RowList[CubeRow]:
        return self._rows(CubeRow, "cubes", fabric, where)

    def hosts(self, fabric: str | None = None, **where: object) -> RowList[HostRow]:
        return self._rows(HostRow, "hosts", fabric, where)

    def links(self, fabric: str | None = None, **where: object) -> RowList[LinkRow]:
        return self._rows(LinkRow, "links", fabric, where)

    def slices(self, fabric: str | None = None, **where: object) -> RowList[SliceRow]:
        return self._rows(SliceRow, "slices", fabric, where)

    def faults(self, fabric: str | None = None, **where: object) -> RowList[FaultRow]:
        return self._rows(FaultRow, "faults", fabric, where)

    def verdicts(self, fabric: str | None = None, **where: object) -> RowList[VerdictRow]:
        return self._rows(VerdictRow, "verdicts", fabric, where)

    def repairs(self, fabric: str | None = None, **where: object) -> RowList[RepairRow]:
        return self._rows(RepairRow, "repairs", fabric, where)

    @check_argument_types
    def fabric(self, name: str) -> FabricRow:
        return self._get(FabricRow, self._path("fabrics", name))

    @check_argument_types
    def ocs(self, name: str) -> OcsRow:
        return self._get(OcsRow, self._path("ocs", name))

    @check_argument_types
    def cube(self, name: str) -> CubeRow:
        return self._get(CubeRow, self._path("cubes", name))

    @check_argument_types
    def link(self, name: str) -> LinkRow:
        return self._get(LinkRow, self._path("links", name))

    @check_argument_types
    def slice(self, name: str) -> SliceRow:
        return self._get(SliceRow, self._path("slices", name))

    @check_argument_types
    def fault(self, name: str) -> FaultRow:
        return self._get(FaultRow, self._path("faults", name))

    # --- questions ------------------------------------------------------------------------------------------

    @check_argument_types
    def trace(self, end: str) -> LightPath:
        """The whole light path from a link end, such as `pod-0/cube-12/+y/7`."""
        return self._get(LightPath, self._path("trace", end))

    @check_argument_types
    def impact(self, part: str) -> ImpactReport | LossReport:
        """The blast radius of a part of a pod, with its current links and slices; or the capacity that a
        network loses if one of its parts fails."""
        found: TypeAdapter[ImpactReport | LossReport] = TypeAdapter(ImpactReport | LossReport)
        return self._read(found, self._client.resource(self._path("impact", part)))

    @check_argument_types
    def explain(self, slice_name: str) -> SliceExplanation:
        """Explain the state of a slice, and what it waits for."""
        return self._get(SliceExplanation, self._path("explain/slices", slice_name))

    @check_argument_types
    def plan(
        self,
        shape: str,
        *,
        twisted: bool = False,
        owner: str = "operator",
        tier: Tier = "production",
        priority: int = 0,
        duration_s: float | None = None,
        fabric: str | None = None,
    ) -> SlicePlan:
        """Show what the scheduler would do with such a request now, without sending it."""
        return self._get(
            SlicePlan,
            "/v1/plan/slices",
            shape=shape,
            twisted=str(twisted).lower(),
            owner=owner,
            tier=tier,
            priority=priority,
            duration_s=duration_s,
            fabric=fabric,
        )

    @check_argument_types
    def goodput(
        self, by: GroupBy = "pod", *, fabric: str | None = None, since: str | None = None
    ) -> GoodputReport:
        """Account for chip-time since a time ("-2h" is two hours ago; "2h" and "3d02:00:00" count from the
        start) or since the start: by pod, owner, slice or tier."""
        return self._get(GoodputReport, "/v1/goodput", by=by, fabric=fabric, since=since)

    # --- forecasts ------------------------------------------------------------------------------------------

    @check_argument_types
    def start_forecast(
        self,
        changes: Sequence[Mapping[str, object]] = (),
        *,
        days: float = 7.0,
        futures: int | None = None,
        future: int | None = None,
        own_draws: bool = False,
        site: str | None = None,
        at: str = "now",
        workers: int | None = None,
        key: str | None = None,
    ) -> ForecastReport:
        """Start a forecast in the background: many random futures of a site, with and without the `changes`,
        such as `{"change": "drain", "target": "pod-0/cube-12", "after_s": 3600}`. `future` and `own_draws`
        show the events of a single future instead. The fields are those of `POST /v1/forecasts`."""
        self._refuse_past("forecast", "; give its own `at`")
        body: dict[str, object] = {
            "changes": [dict(change) for change in changes],
            "days": days,
            "futures": futures,
            "future": future,
            "own_draws": own_draws,
            "site": site,
            "at": at,
            "workers": workers,
        }
        return self._read(TypeAdapter(ForecastReport), self._client.post("/v1/forecasts", body=body, key=key))

    @check_argument_types
    def forecast(
        self,
        changes: Sequence[Mapping[str, object]] = (),
        *,
        days: float = 7.0,
        futures: int | None = None,
        site: str | None = None,
        at: str = "now",
        workers: int | None = None,
    ) -> ForecastResult:
        """Forecast as `start_forecast` does, and wait for the result. An interrupt cancels the forecast.

        InvalidInput if every future refuses a change, RequestFailed if the forecast fails."""
        report = self.start_forecast(changes, days=days, futures=futures, site=site, at=at, workers=workers)
        forecast_id = report.id

        def look() -> ForecastReport | None:
            found = self.forecast_report(forecast_id)
            return None if found.status in ("queued", "running") else found

        try:
            report = wait_until(self._client, look, WaitTerms(poll_s=FORECAST_POLL_S)) or report
        except BaseException:
            with contextlib.suppress(LightwaveError):
                self.cancel_forecast(report.id)
            raise
        if report.status == "refused":
            raise InvalidInput(str(report.error))
        if report.result is None:
            raise RequestFailed(f"{report.id}: {report.error or report.status}")
        return report.result

    def forecasts(self) -> list[ForecastSummary]:
        """Return the forecasts that the twin keeps, oldest first, with their progress."""
        return self._read(TypeAdapter(list[ForecastSummary]), self._client.rows("/v1/forecasts"))

    @check_argument_types
    def forecast_report(self, forecast_id: str) -> ForecastReport:
        """Return the progress of a forecast, and its result once it is done."""
        return self._get(ForecastReport, f"/v1/forecasts/{escape_path(forecast_id)}")

    @check_argument_types
    def cancel_forecast(self, forecast_id: str) -> ForecastReport:
        """Cancel a forecast that has not finished, or delete one that has."""
        answer = self._client.delete(f"/v1/forecasts/{escape_path(forecast_id)}")
        return self._read(TypeAdapter(ForecastReport), answer)

    # --- the clock ------------------------------------------------------------------------------------------

    def clock(self) -> ClockReport:
        """Show simulated time and its speed."""
        return self._get(ClockReport, "/v1/clock")

    @check_argument_types
    def set_speed(self, speed: float) -> ClockReport:
        """Set the ratio of simulated to wall time."""
        return self._put_clock("/v1/clock/speed", speed=speed)

    def pause(self) -> ClockReport:
        """Pause simulated time."""
        return self._put_clock("/v1/clock", paused=True)

    def resume(self) -> ClockReport:
        """Resume simulated time."""
        return self._put_clock("/v1/clock", paused=False)

    @check_argument_types
    def run_for(self, simulated_s: float, *, speed: float | None = None) -> ClockReport:
        """Run for `simulated_s`, then pause; without a speed, run as fast as possible. The call returns at
        once; `wait_for_time(clock().run_until_us)` waits for the end."""
        return self._put_clock("/v1/clock/run", for_s=simulated_s, speed=speed)

    @check_argument_types
    def wait_for_time(self, until_us: int, *, timeout_s: float | None = None) -> ClockReport:
        """Wait until the clock, which runs to `until_us`, stands exactly there.

        RequestFailed at once if another client changes the clock so that it does not run there, and after
        `timeout_s` of wall time."""
        self._refuse_past("the clock")

        def look() -> ClockReport | None:
            found = self.clock()
            if found.run_until_us != until_us:
                raise RequestFailed(missed_time_text(self._client, found, until_us))
            return found if found.until_us is None and found.now_us == until_us else None

        found = wait_until(self._client, look, WaitTerms(timeout_s))
        if found is None:
            raise RequestFailed(f"clock: has not reached {format_time(until_us)} after {timeout_s:g} s")
        return found

    # --- conditions -----------------------------------------------------------------------------------------

    @check_argument_types
    def condition(self, condition: str, *, fabric: str | None = None) -> ConditionReport:
        """Test a condition now: "slices.pod-0/slice-3.state == running", "count(cubes, drained == yes) > 2",
        as for `lightwave bisect`."""
        return self._get(ConditionReport, "/v1/conditions", condition=condition, fabric=fabric)

    @check_argument_types
    def wait(
        self, condition: str, *, timeout_s: float | None = None, fabric: str | None = None
    ) -> ConditionReport:
        """Wait until a condition is true, and return it with the values that it compares. A RuntimeWarning
        reports, once, that simulated time stands still meanwhile.

        RequestFailed at once if it can no longer become true, and after `timeout_s` of wall time."""
        self._refuse_past("wait")

        def look() -> ConditionReport | None:
            found = self.condition(condition, fabric=fabric)
            if not found.holds and not found.can_hold:
                reasons = "; ".join(found.reasons)
                raise RequestFailed(f"condition: is false, and cannot become true: {reasons}")
            return found if found.holds else None

        def note(sentence: str) -> None:
            warnings.warn(sentence, RuntimeWarning, stacklevel=4)

        found = wait_until(self._client, look, WaitTerms(timeout_s, note=note))
        if found is None:
            raise RequestFailed(f"condition: is still false after {timeout_s:g} s ({condition})")
        return found

    # --- requests -------------------------------------------------------------------------------------------

    @check_argument_types
    def request(
        self,
        shape: str,
        *,
        twisted: bool = False,
        owner: str = "operator",
        tier: Tier = "production",
        priority: int = 0,
        duration_s: float | None = None,
        recovery: str | None = None,
        pods: str | None = None,
        fabric: str | None = None,
        key: str | None = None,
        comment: str | None = None,
    ) -> Receipt:
        """Request a slice, for `duration_s` simulated seconds or until it is released. `recovery` is the
        policy for hardware faults ("swap,route:2%,wait"). `pods` makes it a multislice job: the number of
        pods, or their names. Retries with the same `key` are the same request."""
        body: dict[str, object] = {
            "fabric": fabric,
            "shape": shape,
            "twisted": twisted,
            "owner": owner,
            "tier": tier,
            "priority": priority,
            "duration_s": duration_s,
            "recovery": recovery,
            "pods": pods,
        }
        return self._send_request("/v1/slices", key, comment, body)

    @check_argument_types
    def release(self, name: str, *, key: str | None = None, comment: str | None = None) -> Receipt:
        """Release a slice, or withdraw it while it waits."""
        return self._send_request(self._path("slices", name, "/release"), key, comment)

    @check_argument_types
    def inject(
        self,
        kind: str,
        target: str,
        *,
        duration_s: float | None = None,
        severity: float | None = None,
        onset_s: float | None = None,
        key: str | None = None,
        comment: str | None = None,
    ) -> Receipt:
        """Inject a fault, for `duration_s` simulated seconds or until it is repaired. `severity` is in the
        unit of the kind; None draws it."""
        body: dict[str, object] = {
            "kind": kind,
            "target": expand_name(self._client, target),
            "duration_s": duration_s,
            "severity": severity,
            "onset_s": onset_s,
        }
        return self._send_request("/v1/faults", key, comment, body)

    @check_argument_types
    def clear(self, fault: str, *, key: str | None = None, comment: str | None = None) -> Receipt:
        """End a fault."""
        return self._send_request(self._path("faults", fault, "/clear"), key, comment)

    @check_argument_types
    def drain(
        self,
        cube: str,
        *,
        from_us: int | None = None,
        after_s: float | None = None,
        duration_s: float | None = None,
        key: str | None = None,
        comment: str | None = None,
    ) -> Receipt:
        """Drain a cube: no new slice uses it; slices on it move, or stay until they end. It begins at once,
        or at the simulated time `from_us`, or `after_s` seconds from now; until then only slices that end
        before it start there. It ends after `duration_s`, or when the cube is undrained."""
        plan = {"from_us": from_us, "after_s": after_s, "duration_s": duration_s}
        body: dict[str, object] = {name: value for name, value in plan.items() if value is not None}
        return self._send_request(self._path("cubes", cube, "/drain"), key, comment, body or None)

    @check_argument_types
    def undrain(self, cube: str, *, key: str | None = None, comment: str | None = None) -> Receipt:
        """Put a drained cube back into use, or cancel its planned drain."""
        return self._send_request(self._path("cubes", cube, "/undrain"), key, comment)

    @check_argument_types
    def set(
        self,
        fabric: str,
        parameters: Mapping[str, Scalar],
        *,
        key: str | None = None,
        comment: str | None = None,
    ) -> Receipt:
        """Change parameters of a running fabric from now on: all of them, or none. Names are dotted, such as
        "failures.host_per_day"; values are numbers, text, True, False or None."""
        self._refuse_past("set")
        row = self.fabric(fabric)
        if not parameters:
            raise InvalidInput("parameters: is empty; must be at least one, by dotted name")
        values = parse_pairs(row.kind, set_options(dict(parameters)))
        path = f"/v1/fabrics/{escape_path(row.name)}/parameters"
        return self._send_request(path, key, comment, {"parameters": values})
