"""Faults of spare ports stay: mirrors are not repaired, and a spare port has no fibre to move."""

from services.failures.state import FailuresState
from services.ocs.state import OcsState
from shared.engine.site import Site


def dead_spare_ports(site: Site, fabric: str) -> int:
    """Return the number of active faults of spare ports of a fabric."""
    failures, ocs = site.instance(fabric, "failures").state, site.instance(fabric, "ocs").state
    assert isinstance(failures, FailuresState)
    assert isinstance(ocs, OcsState)
    ports = [fault.target.rpartition("/")[2] for fault in failures.active.values() if fault.kind == "port"]
    return sum(int(port[1:]) >= ocs.ports_wired for port in ports)
