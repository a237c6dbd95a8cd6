"""The live sequencer reads a site only for services that are listed by name, without importing them."""

from services.fabric_kinds import FLEET
from services.service_names import SERVICES_WITH_QUERIES


def test_the_list_has_the_services_that_query_their_site_and_each_has_its_reader() -> None:
    querying = [service for services in FLEET.values() for service in services if service.queries is not None]
    assert {service.name for service in querying} == SERVICES_WITH_QUERIES
    assert all(service.read_site is not None for service in querying)
