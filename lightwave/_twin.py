"""A client of a twin that lives (`lightwave up`, `make live`): what is there, what is asked of it, and its
messages as they come."""

import json
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from lightwave._arguments import typed
from lightwave._events import MESSAGE, RECEIPT, Event, Receipt, event_of, receipt_of
from ops.common.client import (
    TIMEOUT_S,
    Client,
    RequestFailed,
    escape,
    first_fabric,
    waited,
)
from ops.common.following import RETURN_S_MAX, followed
from schemas.api import (
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
    TwinAbout,
    VerdictRow,
)
from schemas.api_answers import SliceExplanation, SlicePlan
from schemas.api_goodput import By, GoodputReport
from schemas.api_loss import LossReport
from schemas.names import Tier
from shared.basics.errors import InvalidInput

Answer = TypeVar("Answer")
SEVERAL_MAX = 1_000_000


@typed
def connect(url: str | None = None, *, token: str | None = None, timeout_s: float = TIMEOUT_S) -> "Twin":
    """The twin at a URL, with a bearer token where it wants one; without them those that LIGHTWAVE_URL and
    LIGHTWAVE_TOKEN name, as for the command line.

    InvalidInput for what is no URL, token or time; TwinUnreachable where no twin answers within `timeout_s`.
    """
    twin = Twin(Client(url, token, timeout_s=timeout_s))
    twin.about()
    return twin


class Twin:
    """A living twin (`lightwave.connect`). Names of things are as everywhere: `pod-0/cube-12`. Lists take a
    `fabric`, and values that a column of theirs must have: `slices(state="running")`.

    Every method raises TwinUnreachable where the twin does not answer, NotFound for a name that nothing has,
    InvalidInput for what is not allowed, and RequestFailed where the twin refuses.
    """

    def __init__(self, client: Client) -> None:
        self._client = client

    @property
    def url(self) -> str:
        return self._client.url

    def __repr__(self) -> str:
        return f"lightwave.connect({self.url!r})"

    # --- what is there --------------------------------------------------------------------------------------

    def about(self) -> TwinAbout:
        """Which twin this is, and of which version."""
        return self._thing(TwinAbout, "/v1/twin")

    def fabrics(self, **where: object) -> list[FabricRow]:
        return self._rows(FabricRow, "fabrics", None, where)

    def ocses(self, fabric: str | None = None, **where: object) -> list[OcsRow]:
        return self._rows(OcsRow, "ocs", fabric, where)

    def cubes(self, fabric: str | None = None, **where: object) -> list[CubeRow]:
        return self._rows(CubeRow, "cubes", fabric, where)

    def hosts(self, fabric: str | None = None, **where: object) -> list[HostRow]:
        return self._rows(HostRow, "hosts", fabric, where)

    def links(self, fabric: str | None = None, **where: object) -> list[LinkRow]:
        return self._rows(LinkRow, "links", fabric, where)

    def slices(self, fabric: str | None = None, **where: object) -> list[SliceRow]:
        return self._rows(SliceRow, "slices", fabric, where)

    def faults(self, fabric: str | None = None, **where: object) -> list[FaultRow]:
        return self._rows(FaultRow, "faults", fabric, where)

    def verdicts(self, fabric: str | None = None, **where: object) -> list[VerdictRow]:
        return self._rows(VerdictRow, "verdicts", fabric, where)

    def repairs(self, fabric: str | None = None, **where: object) -> list[RepairRow]:
        return self._rows(RepairRow, "repairs", fabric, where)

    @typed
    def fabric(self, name: str) -> FabricRow:
        return self._thing(FabricRow, f"/v1/fabrics/{escape(name)}")

    @typed
    def ocs(self, name: str) -> OcsRow:
        return self._thing(OcsRow, f"/v1/ocs/{escape(name)}")

    @typed
    def cube(self, name: str) -> CubeRow:
        return self._thing(CubeRow, f"/v1/cubes/{escape(name)}")

    @typed
    def link(self, name: str) -> LinkRow:
        return self._thing(LinkRow, f"/v1/links/{escape(name)}")

    @typed
    def slice(self, name: str) -> SliceRow:
        return self._thing(SliceRow, f"/v1/slices/{escape(name)}")

    @typed
    def fault(self, name: str) -> FaultRow:
        return self._thing(FaultRow, f"/v1/faults/{escape(name)}")

    # --- questions ------------------------------------------------------------------------------------------

    @typed
    def trace(self, end: str) -> LightPath:
        """The whole light path from a link end, such as `pod-0/cube-12/+y/7`."""
        return self._thing(LightPath, f"/v1/trace/{escape(end)}")

    @typed
    def impact(self, part: str) -> ImpactReport | LossReport:
        """What hangs on a part of a pod, with the links and slices of now; or what a network loses with one
        of its parts."""
        found: TypeAdapter[ImpactReport | LossReport] = TypeAdapter(ImpactReport | LossReport)
        return self._read(found, self._client.thing(f"/v1/impact/{escape(part)}"))

    @typed
    def explain(self, slice_name: str) -> SliceExplanation:
        """Why a slice is as it is, and what stands in its way."""
        return self._thing(SliceExplanation, f"/v1/explain/slices/{escape(slice_name)}")

    @typed
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
        """What the scheduler would do with such a request now; nothing is asked of it."""
        return self._thing(
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

    @typed
    def goodput(
        self, by: By = "pod", *, fabric: str | None = None, since: str | None = None
    ) -> GoodputReport:
        """Where chip-time went, since a moment ("2h" back, or "3d02:00:00") or the beginning: by pod, owner,
        slice or tier."""
        return self._thing(GoodputReport, "/v1/goodput", by=by, fabric=fabric, since=since)

    # --- the clock ------------------------------------------------------------------------------------------

    def clock(self) -> ClockReport:
        """Simulated time, and how fast it goes."""
        return self._thing(ClockReport, "/v1/clock")

    @typed
    def set_speed(self, speed: float) -> ClockReport:
        """Simulated over wall time."""
        return self._clock("/v1/clock/speed", speed=speed)

    def pause(self) -> ClockReport:
        """Let simulated time stand still."""
        return self._clock("/v1/clock", paused=True)

    def resume(self) -> ClockReport:
        """Let it go on."""
        return self._clock("/v1/clock", paused=False)

    @typed
    def run_for(self, simulated_s: float, *, speed: float | None = None) -> ClockReport:
        """Let time run for so long and stand still then; without a speed as fast as the twin can. It answers
        at once: `clock().paused` says when it has come there."""
        return self._clock("/v1/clock/run", for_s=simulated_s, speed=speed)

    # --- requests -------------------------------------------------------------------------------------------

    @typed
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
        """Ask for a slice, for simulated seconds or until it is released. `recovery` is what may be done
        when hardware fails ("swap,route:2%,wait"); `pods` makes it a job over several: how many, or which.
        The same `key` is the same request, however often it is sent."""
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
        return self._ask("/v1/slices", key, comment, body)

    @typed
    def release(self, name: str, *, key: str | None = None, comment: str | None = None) -> Receipt:
        """Release a slice, or withdraw it while it waits."""
        return self._ask(f"/v1/slices/{escape(name)}/release", key, comment)

    @typed
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
        """Break something, for simulated seconds or until it is repaired. `severity` is in the unit of the
        kind, and drawn where it is None."""
        body: dict[str, object] = {
            "kind": kind,
            "target": target,
            "duration_s": duration_s,
            "severity": severity,
            "onset_s": onset_s,
        }
        return self._ask("/v1/faults", key, comment, body)

    @typed
    def clear(self, fault: str, *, key: str | None = None, comment: str | None = None) -> Receipt:
        """End a fault."""
        return self._ask(f"/v1/faults/{escape(fault)}/clear", key, comment)

    @typed
    def drain(self, cube: str, *, key: str | None = None, comment: str | None = None) -> Receipt:
        """Take a cube out of use; what runs there moves or stays until it ends."""
        return self._ask(f"/v1/cubes/{escape(cube)}/drain", key, comment)

    @typed
    def undrain(self, cube: str, *, key: str | None = None, comment: str | None = None) -> Receipt:
        """Take a drained cube into use again."""
        return self._ask(f"/v1/cubes/{escape(cube)}/undrain", key, comment)

    # --- the log --------------------------------------------------------------------------------------------

    @typed
    def events(
        self,
        fabric: str | None = None,
        *,
        types: str | Sequence[str] = (),
        about: str | None = None,
        cause: str | None = None,
        since: str | None = None,
        until: str | None = None,
        ticks: bool = False,
        limit: int = 100,
    ) -> list[Event]:
        """Messages of the log, oldest first: `limit` of them, the last ones unless `since` or `cause` says
        from where. Moments are back from now ("2h") or simulated times ("3d02:15:04")."""
        if not 1 <= limit <= SEVERAL_MAX:
            raise InvalidInput(f"limit {limit}: not allowed; allowed are 1 to {SEVERAL_MAX:,}")
        asked = {
            **_asked(types, about, cause, ticks=ticks),
            "fabric": fabric,
            "since": since,
            "until": until,
        }
        rows, _ = self._client.pages("/v1/events", *MESSAGE, most=limit, **asked)
        return [self._event(row) for row in rows]

    @typed
    def subscribe(
        self,
        fabric: str | None = None,
        *,
        types: str | Sequence[str] = (),
        about: str | None = None,
        since: str | None = None,
        after: str | None = None,
        ticks: bool = False,
        patience_s: float = RETURN_S_MAX,
    ) -> Iterator[Event]:
        """Messages of a fabric as they come, for ever: from now on, or since a moment, or behind the
        `position` of an event that was seen before. A twin that goes away and comes back is taken up where
        it was left, so that none is missed and none comes twice; TwinUnreachable where it does not come back
        within `patience_s` of wall time."""
        if since is not None and after is not None:
            raise InvalidInput("after: not together with since")
        named = fabric or (about or "").split("/")[0] or (after or "").rpartition(":")[0]
        asked = {**_asked(types, about, None, ticks=ticks), "since": since}
        stream = followed(
            self._client, named or first_fabric(self._client), asked, after, return_s=patience_s
        )
        return (self._event(row, position) for position, row in stream)

    @typed
    def why(self, message_or_name: str) -> list[Event]:
        """The chain of causes from a message, or from the last state of a thing, back to its root."""
        rows = self._client.rows(f"/v1/why/{escape(message_or_name)}", *MESSAGE)
        return [self._event(row) for row in rows]

    # --- how ------------------------------------------------------------------------------------------------

    @typed
    def _rows(
        self, row: type[Answer], kind: str, fabric: str | None, where: dict[str, object]
    ) -> list[Answer]:
        """All of a kind, page by page."""
        asked = {name: _word(value) for name, value in where.items()}
        found, _ = self._client.pages(f"/v1/{kind}", most=SEVERAL_MAX, fabric=fabric, **asked)
        return self._read(TypeAdapter(list[row]), found)  # type: ignore[valid-type]  # one that is given

    def _thing(self, kind: type[Answer], path: str, **query: object) -> Answer:
        return self._read(TypeAdapter(kind), self._client.thing(path, **query))

    def _clock(self, path: str, **change: object) -> ClockReport:
        said = {name: value for name, value in change.items() if value is not None}
        return self._read(TypeAdapter(ClockReport), self._client.put(path, said))

    def _ask(
        self, path: str, key: str | None, comment: str | None, body: dict[str, object] | None = None
    ) -> Receipt:
        answer = self._client.post(waited(path, comment), *RECEIPT, body=body, key=key)
        if answer["status"] == "refused":
            with self._client.reading():
                raise RequestFailed(f"{answer['reason']} ({answer['id']})")
        with self._client.reading():
            return receipt_of(answer)

    def _event(self, row: dict[str, Any], position: str = "") -> Event:
        with self._client.reading():
            return event_of(row, position)

    def _read(self, kind: TypeAdapter[Answer], content: object) -> Answer:
        """The answer as what it should be; TwinUnreachable where a twin of another version gave it."""
        try:
            return kind.validate_json(json.dumps(content))
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, first["loc"]))
            raise self._client.foreign(f"its answer has {place}: {first['msg'].lower()}") from None


def _asked(
    types: str | Sequence[str], about: str | None, cause: str | None, *, ticks: bool
) -> dict[str, object]:
    words = [types] if isinstance(types, str) else list(types)
    return {"type": words or None, "for": about, "cause": cause, "ticks": None if ticks else "false"}


def _word(value: object) -> object:
    """A value to filter by, as a query has it."""
    return str(value).lower() if value is None or isinstance(value, bool) else value
