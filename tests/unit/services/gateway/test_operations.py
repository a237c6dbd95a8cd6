"""The operations log over HTTP: pages with links to their neighbours."""

import re
from types import SimpleNamespace
from typing import Any, cast

import pytest
from fastapi import FastAPI

from schemas.files.operations_log import VersionStarted
from services.gateway.http.routes.operations import routes
from services.gateway.runtime_ports import TwinPorts
from shared.runtimes.operations_log import new_operation
from tests.support.gateway_twin import Client
from tests.support.memory_operations import MemoryOperations

pytestmark = pytest.mark.integration


@pytest.fixture
def client() -> Client:
    """A client of a twin with five operations."""
    operations = MemoryOperations()
    for number in range(5):
        operations.append(new_operation(VersionStarted(process="up", software=str(number)), "mia"))
    app = FastAPI()
    app.include_router(routes(cast("TwinPorts", SimpleNamespace(operations=operations))))
    return Client(app)


def page(client: Client, path: str) -> tuple[list[int], dict[str, str]]:
    """(numbers, direction → link)."""
    answer = client.get(path)
    rows: list[dict[str, Any]] = answer.json()
    links = re.findall(r'<([^>]*)>; rel="([a-z]*)"', answer.headers.get("link", ""))
    return [row["number"] for row in rows], {way: target for target, way in links}


@pytest.mark.parametrize(
    ("query", "numbers", "ways"),
    [
        ("", [0, 1, 2, 3, 4], []),
        ("?limit=2", [3, 4], ["prev"]),
        ("?start=0&limit=2", [0, 1], ["next"]),
        ("?start=1&limit=2", [1, 2], ["next", "prev"]),
        ("?start=3&limit=2", [3, 4], ["prev"]),
        ("?start=9", [], []),
    ],
)
def test_a_page_links_to_its_neighbours(
    client: Client, query: str, numbers: list[int], ways: list[str]
) -> None:
    listed, links = page(client, f"/v1/operations{query}")
    assert (listed, [*links]) == (numbers, ways)


@pytest.mark.parametrize(("first_query", "way"), [("?limit=2", "prev"), ("?start=0&limit=2", "next")])
def test_pages_make_up_the_whole_log(client: Client, first_query: str, way: str) -> None:
    collected, links = page(client, f"/v1/operations{first_query}")
    while way in links:
        numbers, links = page(client, links[way])
        collected = collected + numbers if way == "next" else numbers + collected
    assert collected == [0, 1, 2, 3, 4]
