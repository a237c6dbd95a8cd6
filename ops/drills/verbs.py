"""The verbs of drill documents as plain functions over HTTP, for the unmodified Chaos Toolkit.

`chaos run FILE` calls them. The twin is that of LIGHTWAVE_URL, by default http://127.0.0.1:8080. `lightwave
drill` never calls them: it compiles the same names into the plan of a drill. Times are simulated, and actions
wait for their outcome. An error is a LightwaveError, which the Chaos Toolkit reports as a failed activity.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ops.client.active_faults import active_faults_of
from ops.client.answers import refusal_of
from ops.client.http_client import Client, RequestFailed, default_fabric, escape_path, receipt_path
from ops.client.waiting import report_condition
from ops.drills.calls import expand_ranges
from ops.drills.hypothesis import EVENTS, kind_of_name
from ops.drills.simulated_wait import clock_us, span_us, wait_simulated
from schemas.drill_plan import BEGAN_MARK
from schemas.resource_kinds import find_kind
from shared.basics.errors import InvalidInput, OperationFailed
from shared.basics.units import US_PER_S

Names = str | Sequence[str]
"""One name, a name with ranges, or several."""
RECEIPT_FIELDS = ("id", "complete", "status", "outcome")
_began_us: dict[str, int] = {}
"""URL of a twin → the simulated time of its first verb in this process: the start of the drill."""

# --- probes -----------------------------------------------------------------------------------------------


def condition(condition: str, fabric: str | None = None) -> bool:
    """Whether a condition is true."""
    return report_condition(_client(), condition, fabric).holds


def value(of: str, field: str, kind: str | None = None) -> Any:
    """A field of a resource: a number, text, true or false."""
    found: Any = _client().resource(f"/v1/{_kind_word(of, kind)}/{escape_path(of)}")
    for part in field.split("."):
        if not isinstance(found, dict) or part not in found:
            raise InvalidInput(f"field {field!r}: {of} has no such field")
        found = found[part]
    return found


def exists(of: str, kind: str | None = None) -> bool:
    """Whether a resource exists."""
    return report_condition(_client(), f"{_kind_word(of, kind)}.{of} exists").holds


def count(kind: str, where: str | None = None, fabric: str | None = None) -> int:
    """The number of resources of a kind."""
    tests = f", {where}" if where else ""
    return int(_compared(f"count({kind}{tests}) >= 0", fabric))


def share(kind: str, where: str, fabric: str | None = None) -> float | None:
    """The share of the resources of a kind that have not ended; None without any."""
    found = _compared(f"share({kind}, {where}) >= 0", fabric)
    return None if found == "null" else float(found)


def events(type: str, fabric: str | None = None) -> int:  # noqa: A002 -- the name of the argument in documents
    """The number of resources with an event since the first verb of this process."""
    client = _client()
    if type not in EVENTS:
        raise InvalidInput(f"type {type!r}: is not allowed; must be one of {', '.join(EVENTS)}")
    kind, tests = EVENTS[type]
    began_us = str(_began_us[client.url])
    return int(_compared(f"count({kind}, {tests.replace(BEGAN_MARK, began_us)}) >= 0", fabric))


# --- actions ----------------------------------------------------------------------------------------------


def inject(
    kind: str,
    target: Names,
    lasts: str | None = None,
    severity: float | None = None,
    onset: str | None = None,
) -> list[str]:
    """Inject a fault in each target; the names of the faults."""
    body = {"kind": kind, "duration_s": _seconds("lasts", lasts), "severity": severity}
    body["onset_s"] = _seconds("onset", onset)
    answers = [_send("/v1/faults", body | {"target": name}) for name in _names(target)]
    return [fault for answer in answers for fault in _begun_faults(answer)]


def clear(fault: str | None = None, target: Names | None = None) -> list[str]:
    """Clear a fault, or all active faults of parts; none is a success. The names of the cleared faults."""
    client = _client()
    faults = [fault] if fault is not None else []
    for name in _names(target or []):
        faults += [one for one in active_faults_of(client, name) if one not in faults]
    for one in faults:
        _send(f"/v1/faults/{escape_path(one)}/clear")
    return faults


def drain(cube: Names, lasts: str | None = None) -> None:
    """Take cubes out of use."""
    for name in _names(cube):
        _send(f"/v1/cubes/{escape_path(name)}/drain", {"duration_s": _seconds("lasts", lasts)})


def undrain(cube: Names) -> None:
    """Put cubes back in use."""
    for name in _names(cube):
        _send(f"/v1/cubes/{escape_path(name)}/undrain")


def request_slice(
    shape: str,
    fabric: str | None = None,
    twisted: bool = False,
    owner: str | None = None,
    tier: str | None = None,
    priority: int | None = None,
    lasts: str | None = None,
    recovery: str | None = None,
    pods: str | None = None,
) -> None:
    """Request a slice."""
    body: dict[str, object] = {"shape": shape, "fabric": fabric, "twisted": twisted, "owner": owner}
    body |= {"tier": tier, "priority": priority, "duration_s": _seconds("lasts", lasts)}
    body |= {"recovery": recovery, "pods": pods}
    _send("/v1/slices", body)


def release_slice(slice: Names) -> None:  # noqa: A002 -- the name of the argument in documents
    """Release slices."""
    for name in _names(slice):
        _send(f"/v1/slices/{escape_path(name)}/release")


def set_parameters(parameters: Mapping[str, Any], fabric: str | None = None) -> None:
    """Change parameters of a fabric."""
    name = fabric or default_fabric(_client())
    _send(f"/v1/fabrics/{escape_path(name)}/parameters", {"parameters": dict(parameters)})


def test_link(end: Names) -> None:
    """Test dark link ends."""
    for name in _names(end):
        _send(f"/v1/links/{escape_path(name)}/test")


def restart_ocs(ocs: Names) -> None:
    """Restart the software of OCSes."""
    for name in _names(ocs):
        _send(f"/v1/ocs/{escape_path(name)}/restart")


def connect(ocs: str, keys: Sequence[str], error_mode: str | None = None) -> None:
    """Make manual cross-connects of an OCS."""
    body = {"cross_connects": list(keys), "error_mode": error_mode}
    _send(f"/v1/ocs/{escape_path(ocs)}/cross-connects", body)


def disconnect(ocs: str, keys: Sequence[str], error_mode: str | None = None) -> None:
    """Remove manual cross-connects of an OCS."""
    body = {"cross_connects": list(keys), "error_mode": error_mode}
    _send(f"/v1/ocs/{escape_path(ocs)}/cross-connects/remove", body)


def plan_topology(fabric: str | None = None) -> None:
    """Search for a better topology of a network now."""
    _send("/v1/rewirings", {"dcn": fabric})


def approve_rewiring(rewiring: str) -> None:
    """Carry out a planned rewiring."""
    _send(f"/v1/rewirings/{escape_path(rewiring)}/approve")


def abort_rewiring(rewiring: str) -> None:
    """Drop a planned rewiring, or stop one after its current stage."""
    _send(f"/v1/rewirings/{escape_path(rewiring)}/abort")


def wait(lasts: str) -> None:
    """Wait for a simulated time."""
    wait_simulated(_client(), span_us("lasts", lasts), lambda: False)


def wait_until(
    at_most: str,
    condition: str | None = None,
    of: str | None = None,
    field: str | None = None,
    is_value: Any = None,
    fabric: str | None = None,
) -> None:
    """Wait until a condition is true. Raises OperationFailed if it is not in time."""
    client, text = _client(), condition
    if text is None:
        shown = str(is_value).lower() if isinstance(is_value, bool) else f'"{is_value}"'
        text = f"{_kind_word(str(of), None)}.{of}.{field} == {shown}"
    wanted = text
    if not wait_simulated(
        client, span_us("at_most", at_most), lambda: report_condition(client, wanted, fabric).holds
    ):
        raise OperationFailed(f"condition {wanted!r}: is still false after {at_most}")


def pause_process(process: str, lasts: str) -> None:
    """Refused: only `lightwave drill run` can pause a process."""
    raise OperationFailed(
        f"process {process}: cannot be paused over HTTP; use `lightwave drill run` ({lasts})"
    )


def kill_process(process: str) -> None:
    """Refused: only `lightwave drill run` can kill a process."""
    raise OperationFailed(f"process {process}: cannot be killed over HTTP; use `lightwave drill run`")


# --- requests ---------------------------------------------------------------------------------------------


def _client() -> Client:
    """A client of the twin; the first one notes when the drill began."""
    client = Client()
    if client.url not in _began_us:
        _began_us[client.url] = clock_us(client)
    return client


def _send(path: str, body: Mapping[str, object] | None = None) -> Any:
    """Send a request and wait for its outcome. Raises RequestFailed if it is refused."""
    given = None if body is None else {name: one for name, one in body.items() if one is not None}
    answer = _client().post(receipt_path(path, "chaos run"), *RECEIPT_FIELDS, body=given)
    refusal = refusal_of(answer)
    if refusal is not None:
        raise RequestFailed(refusal)
    return answer


def _begun_faults(answer: Any) -> list[str]:
    """The names of the faults that a request began."""
    return [
        name
        for message in answer.outcome
        if message.type == "FaultBegan"
        for name in message.about
        if "/fault-" in name
    ]


def _names(names: Names) -> list[str]:
    return [one for text in ([names] if isinstance(names, str) else names) for one in expand_ranges(text)]


def _seconds(name: str, text: str | None) -> float | None:
    return None if text is None else span_us(name, text) / US_PER_S


def _kind_word(name: str, kind: str | None) -> str:
    found = find_kind(kind) if kind is not None else kind_of_name(name)
    if found is None:
        raise InvalidInput(f"of {name!r}: is not the name of a resource; must be like pod-0/ocs-17")
    return found.word


def _compared(text: str, fabric: str | None) -> str:
    """What the only test of a condition compares."""
    return report_condition(_client(), text, fabric).terms[0].value
