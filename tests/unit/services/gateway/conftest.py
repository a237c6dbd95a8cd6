"""A driven twin and its gateway, for modules that define none of their own."""

from collections.abc import Iterator

import pytest

from tests.support.gateway_twin import QUIET, Client, DrivenTwin


@pytest.fixture
def twin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DrivenTwin]:
    """Two small pods in which nothing happens without a request."""
    twin = DrivenTwin(tmp_path_factory.mktemp("twin"), ["pod.cubes=4", *QUIET], pods=2)
    yield twin
    twin.close()


@pytest.fixture
def client(twin: DrivenTwin) -> Client:
    return twin.client()
