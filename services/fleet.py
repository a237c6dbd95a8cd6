"""The services of each kind of fabric."""

from services.cubes.service import SERVICE as CUBES
from services.demands.service import SERVICE as DEMANDS
from services.diagnosis.service import SERVICE as DIAGNOSIS
from services.failures.service import SERVICE as FAILURES
from services.jobs.service import SERVICE as JOBS
from services.ocs.service import SERVICE as OCS
from services.repairs.service import SERVICE as REPAIRS
from services.scheduler.service import SERVICE as SCHEDULER
from services.service_names import SERVICE_NAMES
from services.topology.service import SERVICE as TOPOLOGY
from services.traffic.service import SERVICE as TRAFFIC
from services.transceivers.service import SERVICE as TRANSCEIVERS
from services.trunks.service import SERVICE as TRUNKS
from services.workload.service import SERVICE as WORKLOAD
from shared.engine.service import AnyService

_SERVICES: tuple[AnyService, ...] = (
    *(CUBES, DEMANDS, DIAGNOSIS, FAILURES, JOBS, OCS, REPAIRS, SCHEDULER),
    *(TOPOLOGY, TRAFFIC, TRANSCEIVERS, TRUNKS, WORKLOAD),
)

FLEET: dict[str, tuple[AnyService, ...]] = {
    kind: tuple(service for service in _SERVICES if service.name in names)
    for kind, names in SERVICE_NAMES.items()
}
"""Kind of fabric → its services, in name order: the order in which they read a message."""


def services_of(kind: str) -> tuple[AnyService, ...]:
    """The services of every fabric of a kind; KeyError if there is no such kind."""
    return FLEET[kind]


def by_kind(name: str) -> dict[str, AnyService]:
    """Return the service with this name by kind of fabric, for every kind that has it."""
    return {kind: service for kind, services in FLEET.items() for service in services if service.name == name}
