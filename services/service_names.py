"""Which kind of fabric has which services, by name alone: a process that serves one of them needs to know of
the others, but not to import them.

`services/fleet.py` has the services themselves.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ServiceName:
    """A service of which only the name matters."""

    name: str


SERVICE_NAMES: dict[str, tuple[str, ...]] = {
    "superpod": (
        "cubes",
        "diagnosis",
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
        "failures",
        "jobs",
        "repairs",
        "scheduler",
        "transceivers",
        "workload",
    ),
    "dcn": ("demands", "failures", "ocs", "repairs", "topology", "traffic", "trunks"),
}
"""Kind of fabric → its services, in name order: the order in which they read a message."""


def services_by_name(kind: str) -> tuple[ServiceName, ...]:
    """The services of every fabric of a kind; KeyError if there is no such kind: who commissions a fabric has
    looked at that."""
    return tuple(ServiceName(name) for name in SERVICE_NAMES[kind])


def service_names() -> tuple[str, ...]:
    """Every service that some kind of fabric has, in order."""
    return tuple(sorted({name for names in SERVICE_NAMES.values() for name in names}))


def kinds_with(service: str) -> tuple[str, ...]:
    """The kinds of fabrics that have this service."""
    return tuple(kind for kind, names in SERVICE_NAMES.items() if service in names)
