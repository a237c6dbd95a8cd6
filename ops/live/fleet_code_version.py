"""The code version that states record."""

from ops.local.software_version import software_version
from services.fabric_kinds import FLEET
from shared.engine.code_version import RULES, StateCodeVersion
from shared.engine.state_layout import state_layouts


def fleet_state_code() -> StateCodeVersion:
    """Rules, build and state layouts of this version, for every service."""
    services = {service.name: service for services in FLEET.values() for service in services}
    return StateCodeVersion(RULES, state_layouts(services.values()), software_version())
