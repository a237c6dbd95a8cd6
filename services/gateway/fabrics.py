"""Look-up of fabrics: by the first segment of a name, their plants, and their sites."""

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from schemas.body import Body
from schemas.config.pods import FabricConfig
from schemas.fabric_names import default_fabric_name, is_named
from schemas.name_parts import fabric_part
from schemas.names import FABRIC_PATTERN
from schemas.resource_kinds import ResourceKind
from services.gateway.requested_time import at_present, check_commissioned
from services.gateway.runtime_ports import FabricView, TwinPorts
from shared.basics.errors import InvalidInput, NotFound, OperationFailed, StoreUnreachable
from shared.basics.spelling import truncated
from shared.basics.time_format import format_time
from shared.models.default_fabric import default_fabric_of
from shared.models.fabric_plants import plant_of
from shared.models.network.blocks import NetworkLayout as Network
from shared.models.network.blocks import network_of
from shared.models.plant.plant_format import Part, Plant

if TYPE_CHECKING:
    from shared.models.plant_graph import PlantGraph


def config_of(twin: TwinPorts, fabric: str) -> FabricConfig:
    """The configuration with which a fabric was commissioned.

    Raise NotFound if there is no such fabric, or none yet at the requested time, and OperationFailed if that
    is unknown now, because the store or the log is being rebuilt.
    """
    try:
        config = twin.config(fabric)
    except KeyError:
        pass
    else:
        check_commissioned(twin, twin.site(fabric), fabric)
        return config
    if fabric in twin.documents.fabrics():
        raise OperationFailed(
            f"fabric {fabric}: its commissioning has not been read from the log yet; try again"
        )
    if problems := twin.unready():
        raise OperationFailed(f"fabric {truncated(repr(fabric))}: cannot be looked up now: {problems[0]}")
    known = commissioned_fabrics(twin)
    problem = f"fabric {truncated(repr(fabric))}: no such fabric; must be one of {', '.join(known)}"
    fits = [name for name in known if is_named(twin.config(name).kind, fabric)]
    if fits:
        problem += f"; a name begins with its fabric, such as {fits[0]}/{fabric}"
    raise NotFound(problem)


def fabric_view(twin: TwinPorts, fabric: str) -> FabricView:
    """How a fabric is shown; raise NotFound if there is no such fabric."""
    return twin.views[config_of(twin, fabric).kind]


def accepts(twin: TwinPorts, fabric: str, body: type[Body]) -> bool:
    """Whether a service of this fabric handles such a request."""
    return body in fabric_view(twin, fabric).requests


def has_resource(twin: TwinPorts, fabric: str, kind: ResourceKind[Any]) -> bool:
    """Whether a fabric has resources of this kind."""
    return any(view.kind is kind for view in fabric_view(twin, fabric).resources)


def fabric_plant(twin: TwinPorts, fabric: str) -> Plant:
    """The plant of a fabric; raise NotFound if there is no such fabric."""
    config = config_of(twin, fabric)
    return plant_of(config.kind, config.hardware)


def fabric_graph(twin: TwinPorts, fabric: str) -> "PlantGraph":
    """The graphs of a fabric's plant, built with the first question; raise NotFound if there is no such
    fabric."""
    from shared.models.plant_graph import plant_graph  # noqa: PLC0415 -- networkx takes 0.2 s to import

    return plant_graph(fabric_plant(twin, fabric))


def fabric_of(twin: TwinPorts, name: str) -> str:
    """The fabric of a name; raise NotFound if there is none."""
    fabric = fabric_part(name)
    config_of(twin, fabric)
    return fabric


def part_of(twin: TwinPorts, name: str, word: str | None = None) -> Part:
    """The part of this name. Raise NotFound if there is none, with the nearest part of kind `word`, if that
    is a kind of part."""
    fabric = fabric_of(twin, name)
    made_of = fabric_plant(twin, fabric)
    try:
        return made_of.parse(name)
    except InvalidInput as error:
        if word is None or not made_of.population(word):
            raise NotFound(str(error)) from None
        raise NotFound(made_of.absence(word, name, fabric)) from None


def commissioned_fabrics(twin: TwinPorts) -> list[str]:
    """The fabrics of the twin, in order, whose commissioning is on the gateway's log."""
    return [fabric for fabric in twin.documents.fabrics() if is_commissioned(twin, fabric)]


def living_fabrics(twin: TwinPorts) -> list[str]:
    """The commissioned fabrics that have not retired."""
    places = twin.documents.fabrics()
    return [name for name, at in places.items() if at.retired_us is None and is_commissioned(twin, name)]


def retired_us(twin: TwinPorts, fabric: str) -> int | None:
    """The simulated time at which a fabric retired; None if it has not."""
    place = twin.documents.fabrics().get(fabric)
    return place.retired_us if place is not None else None


def check_living(twin: TwinPorts, fabric: str) -> None:
    """Raise InvalidInput if a fabric has retired: predictions would be of what never happens."""
    ended_us = retired_us(twin, fabric)
    if ended_us is not None:
        raise InvalidInput(f"fabric {fabric}: retired at {format_time(ended_us)}; must be a running fabric")


def now_us(twin: TwinPorts, fabric: str) -> int:
    """The time at which a fabric is shown: the clock's, or its retirement."""
    ended_us = retired_us(twin, fabric)
    return twin.clock.show().now_us if ended_us is None else ended_us


def fabric_network(twin: TwinPorts, fabric: str) -> Network | None:
    """The blocks and racks of a datacenter network; None for another kind of fabric. Raise NotFound if there
    is no such fabric."""
    hardware = config_of(twin, fabric).network_hardware
    return None if hardware is None else network_of(hardware)


def is_commissioned(twin: TwinPorts, fabric: str) -> bool:
    """Whether a fabric's commissioning is on the log."""
    try:
        twin.config(fabric)
    except KeyError:
        return False
    return True


def is_fabric_like(twin: TwinPorts, word: str) -> bool:
    """Whether a word has the form of a fabric name, whether the fabric exists or not: a known prefix like
    `pod`, and a number."""
    with at_present():
        words = {fabric.rpartition("-")[0] for fabric in twin.documents.fabrics()}
    return re.fullmatch(FABRIC_PATTERN, word) is not None and word.rpartition("-")[0] in words


def site_of(twin: TwinPorts, fabric: str) -> str:
    """The site whose log a fabric shares; raise NotFound if there is no such fabric."""
    config_of(twin, fabric)
    return twin.site(fabric)


def sites(twin: TwinPorts) -> list[str]:
    """The twin's sites, in order of their first fabrics."""
    return list(dict.fromkeys(place.site for place in twin.documents.fabrics().values()))


def site_fabrics(twin: TwinPorts, site: str) -> dict[str, FabricConfig]:
    """The fabrics of a site that have not retired, in order."""
    return {name: config_of(twin, name) for name in living_fabrics(twin) if site_of(twin, name) == site}


def default_fabric(twin: TwinPorts, fabric: str | None, among: Sequence[str] = ()) -> str:
    """The given fabric, or the default (`default_fabric_of`) of these fabrics, or of all that were
    commissioned. Raise NotFound if there is no such fabric, and InvalidInput if the default has retired and
    no other one can be meant.

    The log can be read while the store does not answer; the default is then the fabric that is named like the
    first pod.
    """
    if fabric is None:
        try:
            names = among or commissioned_fabrics(twin)
            ended = {name: us for name in names if (us := retired_us(twin, name)) is not None}
            fabric = default_fabric_of(_kinds(twin, names), ended)
        except StoreUnreachable:
            fabric = default_fabric_name({})
    config_of(twin, fabric)
    return fabric


def example_fabric(twin: TwinPorts) -> str:
    """The fabric for examples of names: the first that lives or, without any, the first of all."""
    return default_fabric_name(_kinds(twin, living_fabrics(twin) or commissioned_fabrics(twin)))


def default_living_fabric(
    twin: TwinPorts, fabric: str | None, body: type[Body] | None = None, *, site: str | None = None
) -> str:
    """As `default_fabric`, for requests: the default is a fabric that has not retired, if there is one, and
    that accepts the request `body`, if there is one. With `site` it is one of this site."""
    if fabric is None:
        names = living_fabrics(twin)
        if site is not None:
            names = [name for name in names if site_of(twin, name) == site]
        if body is not None:
            names = [name for name in names if accepts(twin, name, body)] or names
        fabric = default_fabric_name(_kinds(twin, names)) if names else None
    return default_fabric(twin, fabric)


def _kinds(twin: TwinPorts, fabrics: Iterable[str]) -> dict[str, str]:
    return {name: config_of(twin, name).kind for name in fabrics}
