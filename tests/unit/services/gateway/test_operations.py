"""The operations log over HTTP: pages that lead to those around them."""

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
    """Of a twin with five operations."""
    found = MemoryOperations()
    for number in range(5):
        found.append(new_operation(VersionStarted(process="up", software=str(number)), "mia"))
    app = FastAPI()
    app.include_router(routes(cast("TwinPorts", SimpleNamespace(operations=found))))
    return Client(app)


def page(client: Client, path: str) -> tuple[list[int], dict[str, str]]:
    """(numbers, way → where it leads)."""
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
def test_a_page_leads_to_those_around_it(
    client: Client, query: str, numbers: list[int], ways: list[str]
) -> None:
    found, links = page(client, f"/v1/operations{query}")
    assert (found, [*links]) == (numbers, ways)


@pytest.mark.parametrize(("begin", "way"), [("?limit=2", "prev"), ("?start=0&limit=2", "next")])
def test_pages_make_up_the_whole_log(client: Client, begin: str, way: str) -> None:
    seen, links = page(client, f"/v1/operations{begin}")
    while way in links:
        numbers, links = page(client, links[way])
        seen = seen + numbers if way == "next" else numbers + seen
    assert seen == [0, 1, 2, 3, 4]
