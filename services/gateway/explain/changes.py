"""Turns the changes of a what-if query into requests, by the same rules as operators' requests."""

from collections.abc import Sequence

from schemas.api.changes import (
    Change,
    DrainChange,
    InjectChange,
    RepairChange,
    RequestChange,
    SetChange,
    TimedRequest,
    UndrainChange,
)
from schemas.config.parameter import ParameterSetting
from schemas.messages.operator import ClearFault
from schemas.request_metadata import RequestBody
from services.gateway.fabrics import check_living, default_living_fabric, part_of
from services.gateway.requests.operator_requests import (
    drain_request,
    fault_request,
    slice_request,
    undrain_request,
)
from services.gateway.resources.parameters import check_settings, parameters_request
from services.gateway.runtime_ports import TwinPorts
from shared.basics.errors import InvalidInput, NotFound
from shared.basics.units import US_PER_S, to_whole_us


def change_requests(
    twin: TwinPorts, change: Change, site: str | None = None
) -> tuple[str, Sequence[RequestBody]]:
    """(fabric, request bodies) of a change. A change without a fabric is of one of `site`, if that is given.
    Raise InvalidInput or NotFound if it is not possible."""
    fabric, bodies = _fabric_and_bodies(twin, change, site)
    check_living(twin, fabric)
    return fabric, bodies


def timed_changes(twin: TwinPorts, changes: Sequence[Change], site: str | None = None) -> list[TimedRequest]:
    """The requests of several changes; those without a fabric are of `site`, if that is given. Raise
    InvalidInput, with the place of the change, if one of them is not possible, or sets a parameter twice at
    the same time, and NotFound if it is about an object that does not exist."""
    found: list[TimedRequest] = []
    settings: set[tuple[int, str, str]] = set()
    for place, change in enumerate(changes):
        after_us = to_whole_us(change.after_s, US_PER_S)
        try:
            fabric, bodies = change_requests(twin, change, site)
            if isinstance(change, SetChange):
                for name in change.parameters:
                    if (after_us, fabric, name) in settings:
                        raise InvalidInput(f"{name}: set twice at the same time; must be set once")
                    settings.add((after_us, fabric, name))
        except (InvalidInput, NotFound) as error:
            raise type(error)(f"changes.{place}: {error}") from None
        found += [TimedRequest(after_us, fabric, body) for body in bodies]
    return found


def _fabric_and_bodies(
    twin: TwinPorts, change: Change, site: str | None
) -> tuple[str, Sequence[RequestBody]]:
    match change:
        case InjectChange():
            fabric, body = fault_request(twin, change)
        case RequestChange():
            fabric, body = slice_request(twin, change, site)
        case DrainChange():
            fabric, body = drain_request(twin, change.target)
        case UndrainChange():
            fabric, body = undrain_request(twin, change.target)
        case SetChange():
            fabric = default_living_fabric(twin, change.fabric, site=site)
            fabric, body = parameters_request(twin, fabric, change)
            settings = [ParameterSetting(name=name, value=value) for name, value in change.parameters.items()]
            check_settings(twin, fabric, tuple(settings))
        case RepairChange():
            fabric = part_of(twin, change.target).fabric
            return fabric, _clear_requests(twin, fabric, change.target)
    return fabric, [body]


def _clear_requests(twin: TwinPorts, fabric: str, target: str) -> list[RequestBody]:
    """Requests that clear all active faults of a part. Raise InvalidInput if there are none."""
    faults = twin.queries.repairable(fabric, target)
    if not faults:
        raise InvalidInput(f"target {target!r}: has no active faults; `lightwave get faults` lists them")
    return [ClearFault(fault=fault) for fault in faults]
