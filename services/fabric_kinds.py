"""The kinds of fabrics, one row each: configuration, plant, services, and how the gateway shows it.

The tables of lower layers (`CONFIGS`, `PLANTS`, `SERVICE_NAMES`) list the built-in kinds too, because a
process that serves one service reads them without importing the others. `register` checks that they agree
with the row, and adds a kind that they do not know.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from schemas.body import Body
from schemas.config.dcn import DcnConfig
from schemas.config.fabric_configs import CONFIGS
from schemas.config.pods import FabricConfig, StaticPodConfig, SuperpodConfig
from schemas.fabric_names import FABRIC_NAMING, NETWORK_NAMING, POD_NAMING, FabricNaming
from schemas.messages.operator import CreateCrossConnects, RemoveCrossConnects, RestartOcs, TestLink
from schemas.names import FAULT_KINDS, FaultKind, Shape
from schemas.registry import REFUSALS, TYPES
from schemas.resource_kinds import KIND_BY_NAME_PREFIX, KINDS, ResourceKind
from schemas.site_readings import SiteQuery, SiteReading
from services.cubes.service import SERVICE as CUBES
from services.demands.service import SERVICE as DEMANDS
from services.diagnosis.service import SERVICE as DIAGNOSIS
from services.drills.service import SERVICE as DRILLS_WITHOUT_READER
from services.failures.service import SERVICE as FAILURES
from services.jobs.service import SERVICE as JOBS
from services.ocs.service import SERVICE as OCS
from services.ocs.state import OCS_HARDWARE, OcsHardware, hardware_of_network, hardware_of_superpod
from services.repairs.service import SERVICE as REPAIRS
from services.scheduler.service import SERVICE as SCHEDULER
from services.scheduler.structures.pod_placement import (
    FIXED_GRID_PLACEMENT,
    PLACEMENTS,
    SWITCHED_PLACEMENT,
    PodPlacement,
)
from services.service_names import SERVICE_NAMES
from services.topology.service import SERVICE as TOPOLOGY
from services.traffic.service import SERVICE as TRAFFIC
from services.transceivers.link_optics import FIXED_FIBRES, LIGHT_PATHS, THROUGH_OCS, LightPaths
from services.transceivers.service import SERVICE as TRANSCEIVERS
from services.trunks.service import SERVICE as TRUNKS
from services.workload.service import SERVICE as WORKLOAD
from shared.engine.service import AnyService
from shared.engine.site import Site
from shared.models.fabric_plants import (
    CONFIG_CHECKS,
    PLANTS,
    SLICE_CHECKS,
    check_network,
    check_slice_on_fixed_links,
    check_superpod,
    check_workload,
)
from shared.models.faults.fault_definition import FaultDefinition
from shared.models.faults.fault_kinds import FAULTS
from shared.models.network.network_plant import network_plant
from shared.models.plant.plant_format import Plant
from shared.models.static_pod.static_pod_plant import plant_of_static_pod
from shared.models.superpod.shapes import check_shape
from shared.models.superpod.superpod_plant import plant_of_superpod

if TYPE_CHECKING:
    from services.gateway.runtime_ports import FabricView

ValueT = TypeVar("ValueT")


@dataclass(frozen=True, slots=True)
class FabricKind:
    """One kind of fabric.

    - `config`: the model of its configuration; the default of its field `kind` is the name of the kind.
    - `naming`: how such fabrics and their resources are named.
    - `plant`: the function from its configured hardware to its plant.
    - `services`: its services in name order, the order in which they read a message.
    - `check_config`: raises InvalidInput unless an empty fabric can satisfy its configured demand.
    - `view`: loads how the gateway shows it. A function, because only gateways import that.
    - `check_slice`: raises InvalidInput unless an empty fabric with this number of cubes can run a slice.
      `placement`: how slices are placed on its cubes. `light_paths`: the optics between the ends of its
      links. `ocs_hardware`: the function from its configuration to its OCSes. Each is None if the fabric does
      not have the service that uses it.
    - `refuses`: the operators' requests that such a fabric never takes, although one of its services, which
      other kinds have too, handles them.
    - `resources`, `messages`, `faults`: its kinds of resources, types of messages and kinds of faults that
      the tables of the built-in kinds do not list.
    - `found_at`: the module and the name of the row, such as `lamps.kind:LAMP_FIELD`, by which worker
      processes find and register it; only for kinds that are not built in.
    """

    config: type[FabricConfig]
    naming: FabricNaming
    plant: Callable[[Any], Plant]
    services: tuple[AnyService, ...]
    check_config: Callable[[Any], None]
    view: "Callable[[], FabricView]"
    check_slice: Callable[[Shape, bool, int], None] | None = None
    placement: PodPlacement | None = None
    light_paths: LightPaths | None = None
    ocs_hardware: Callable[[Any], OcsHardware] | None = None
    refuses: frozenset[type[Body]] = frozenset()
    resources: tuple[ResourceKind[Any], ...] = ()
    messages: tuple[type[Body], ...] = ()
    faults: Mapping[FaultKind, FaultDefinition] = field(default_factory=dict)
    found_at: str | None = None

    @property
    def name(self) -> str:
        return str(self.config.model_fields["kind"].default)

    @property
    def requests(self) -> frozenset[type[Body]]:
        """The operators' requests that such a fabric takes: those that one of its services handles."""
        bodies = (rule.body for service in self.services for rule in service.rules)
        return frozenset(body for body in bodies if body.writer == "operator") - self.refuses


def _pod_view() -> "FabricView":
    from services.gateway.fabric_views import POD  # noqa: PLC0415 -- only gateways need it

    return POD


def _network_view() -> "FabricView":
    from services.gateway.fabric_views import NETWORK  # noqa: PLC0415 -- only gateways need it

    return NETWORK


def _read_site(site: Site, queries: Sequence[SiteQuery]) -> tuple[SiteReading, ...]:
    """Answer queries about a quiet site with the rows that the gateway shows."""
    from services.gateway.explain.site_readings import read_site  # noqa: PLC0415 -- few twins run drills

    return read_site(site, queries, fabric_views())


DRILLS = replace(DRILLS_WITHOUT_READER, read_site=_read_site)
"""The service `drills`, with the reader that its Ticks need."""

FABRIC_KINDS: dict[str, FabricKind] = {}
"""Name of a kind of fabric → its row."""
FLEET: dict[str, tuple[AnyService, ...]] = {}
"""Kind of fabric → its services, in name order."""


def register(kind: FabricKind) -> None:
    """Add a kind of fabric. ValueError if a table knows its name with other contents."""
    name = kind.name
    _put(FABRIC_KINDS, name, kind)
    _put(FLEET, name, kind.services)
    _put(SERVICE_NAMES, name, tuple(service.name for service in kind.services))
    _put(CONFIGS, name, kind.config)
    _put(FABRIC_NAMING, name, kind.naming)
    _put(PLANTS, name, kind.plant)
    _put(CONFIG_CHECKS, name, kind.check_config)
    _put_if_any(SLICE_CHECKS, name, kind.check_slice)
    _put_if_any(PLACEMENTS, name, kind.placement)
    _put_if_any(LIGHT_PATHS, name, kind.light_paths)
    _put_if_any(OCS_HARDWARE, name, kind.ocs_hardware)
    for resource in kind.resources:
        _add_resource_kind(resource)
    for word, fault in kind.faults.items():
        _put(FAULT_KINDS, word, None)
        _put(FAULTS, word, fault)
    for body in kind.messages:
        _put(TYPES, body.__name__, body)
        for request in body.refuses:
            _put(REFUSALS, request.__name__, body)


def rows_for_workers() -> tuple[str, ...]:
    """Where worker processes find the registered rows that are not built in."""
    return tuple(kind.found_at for kind in FABRIC_KINDS.values() if kind.found_at is not None)


def register_in_worker(rows: Sequence[str]) -> None:
    """Register the rows of `rows_for_workers` in a process that may not have them yet."""
    for row in rows:
        module, _, name = row.partition(":")
        register(getattr(import_module(module), name))


def _add_resource_kind(kind: ResourceKind[Any]) -> None:
    """Add a kind of resource. ValueError if its word or a spelling means another kind."""
    for known in KINDS.values():
        if known != kind and {known.word, *known.spellings} & {kind.word, *kind.spellings}:
            raise ValueError(f"kind of resource {kind.word}: {known.word} has such a word already")
    KINDS[kind.word] = kind
    KIND_BY_NAME_PREFIX[kind.spellings[0]] = kind


def _put_if_any(table: dict[str, ValueT], name: str, value: ValueT | None) -> None:
    if value is not None:
        _put(table, name, value)
    elif name in table:
        raise ValueError(f"{name}: the fleet has none, but another table has {table[name]}")


def _put(table: dict[str, ValueT], name: str, value: ValueT) -> None:
    if table.setdefault(name, value) != value:
        raise ValueError(f"{name}: the fleet has {value}, but another table has {table[name]}")


register(
    FabricKind(
        config=SuperpodConfig,
        naming=POD_NAMING,
        plant=plant_of_superpod,
        services=(CUBES, DIAGNOSIS, DRILLS, FAILURES, JOBS, OCS, REPAIRS, SCHEDULER, TRANSCEIVERS, WORKLOAD),
        check_config=check_superpod,
        view=_pod_view,
        check_slice=check_shape,
        placement=SWITCHED_PLACEMENT,
        light_paths=THROUGH_OCS,
        ocs_hardware=hardware_of_superpod,
    )
)
register(
    FabricKind(
        config=StaticPodConfig,
        naming=POD_NAMING,
        plant=plant_of_static_pod,
        services=(CUBES, DIAGNOSIS, DRILLS, FAILURES, JOBS, REPAIRS, SCHEDULER, TRANSCEIVERS, WORKLOAD),
        check_config=check_workload,
        view=_pod_view,
        check_slice=check_slice_on_fixed_links,
        placement=FIXED_GRID_PLACEMENT,
        light_paths=FIXED_FIBRES,
    )
)
register(
    FabricKind(
        config=DcnConfig,
        naming=NETWORK_NAMING,
        plant=network_plant,
        services=(DEMANDS, DRILLS, FAILURES, OCS, REPAIRS, TOPOLOGY, TRAFFIC, TRUNKS),
        check_config=check_network,
        view=_network_view,
        ocs_hardware=hardware_of_network,
        refuses=frozenset({CreateCrossConnects, RemoveCrossConnects, RestartOcs, TestLink}),
    )
)


def services_of(kind: str) -> tuple[AnyService, ...]:
    """The services of every fabric of a kind; KeyError if there is no such kind."""
    return FLEET[kind]


def by_kind(name: str) -> dict[str, AnyService]:
    """Return the service with this name by kind of fabric, for every kind that has it."""
    return {kind: service for kind, services in FLEET.items() for service in services if service.name == name}


_VIEWS: "dict[str, tuple[FabricKind, FabricView]]" = {}
"""Kind of fabric → its row and view. They are made once, because every Tick of a drill needs them."""


def fabric_views() -> "dict[str, FabricView]":
    """How the gateway shows each kind of fabric, with the requests that its services handle."""
    for name, kind in FABRIC_KINDS.items():
        if name not in _VIEWS or _VIEWS[name][0] is not kind:
            _VIEWS[name] = kind, replace(kind.view(), requests=kind.requests)
    return {name: _VIEWS[name][1] for name in FABRIC_KINDS}
