"""This version, as far as states know it."""

from ops.common.version import software
from services.fleet import FLEET
from shared.engine.rules import RULES, StatesCode, forms_of


def all_code() -> StatesCode:
    """Its rules, its build, and the form in which it stores the states of every service."""
    services = {service.name: service for services in FLEET.values() for service in services}
    return StatesCode(RULES, forms_of(services.values()), software())
