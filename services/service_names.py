"""Names of the services of each kind of fabric.

A process that serves one service needs the names of the others, but need not import them.
`services/fabric_kinds.py` has the services themselves.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ServiceName:
    """A service for which only the name is needed."""

    name: str


SERVICE_NAMES: dict[str, tuple[str, ...]] = {
    "superpod": (
        "cubes",
        "diagnosis",
        "drills",
        "failures",
        "jobs",
        "ocs",
        "repairs",
        "scheduler",
        "transceivers",
        "workload",
    ),
    "static-pod": (
        "cubes",
        "diagnosis",
        "drills",
        "failures",
        "jobs",
        "repairs",
        "scheduler",
        "transceivers",
        "workload",
    ),
    "dcn": ("demands", "drills", "failures", "ocs", "repairs", "topology", "traffic", "trunks"),
}
"""Kind of fabric → its services, in name order: the order in which they read a message."""


SERVICES_WITH_QUERIES = frozenset({"drills"})
"""Services at whose Ticks the whole site may be read."""


def services_by_name(kind: str) -> tuple[ServiceName, ...]:
    """The services of every fabric of a kind.

    Raises KeyError if there is no such kind; callers check the kind before they commission a fabric.
    """
    return tuple(ServiceName(name) for name in SERVICE_NAMES[kind])


def service_names() -> tuple[str, ...]:
    """The names of all services, sorted."""
    return tuple(sorted({name for names in SERVICE_NAMES.values() for name in names}))


def kinds_with(service: str) -> tuple[str, ...]:
    return tuple(kind for kind, names in SERVICE_NAMES.items() if service in names)
