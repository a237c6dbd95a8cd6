"""A whole twin with fabrics of several kinds, some of which joined later, is checked fabric by fabric."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from services.service_names import services_by_name
from shared.engine.message_order import ServiceProgress
from shared.storage.store.state_store import FabricPlace
from tests.soak.whole_twin import TwinOptions, WholeTwin

SITE = "{site: campus, fabrics: [{name: pod-0, config: {seed: 7}}, {name: pod-1, kind: static-pod}]}"


class Store:
    """The contents of a live twin's store: the site of each fabric, and the progress of its services."""

    def __init__(self) -> None:
        self.places = {
            "pod-0": FabricPlace(0, "campus", "superpod"),
            "pod-1": FabricPlace(0, "campus", "static-pod"),
            "pod-2": FabricPlace(1, "lone", "static-pod"),
        }
        self.read: dict[int, dict[str, int]] = {0: {}, 1: {}}
        self.taken: Mapping[tuple[str, str], int] = {}

    def fabrics(self) -> dict[str, FabricPlace]:
        return self.places

    def positions(self, partition: int) -> dict[str, int]:
        return self.read[partition]

    def progress(self, partition: int) -> dict[tuple[str, str], ServiceProgress]:
        return {
            (service, fabric): ServiceProgress(service, fabric, ticks=count, due_us=None, now_us=0)
            for (service, fabric), count in self.taken.items()
            if self.places[fabric].partition == partition
        }


@pytest.fixture
def twin(tmp_path: Path) -> WholeTwin:
    """The fabrics of one site; `pod-2` belongs to another."""
    file = tmp_path / "campus.yaml"
    file.write_text(SITE)

    class Server:
        url = "redis://127.0.0.1:1/0"
        settings: Mapping[str, str] = {}

    server: Any = Server()
    found = WholeTwin(tmp_path / "twin", server, server, TwinOptions(site_files=(file,), seed=3))
    store: Any = Store()
    found.store = store
    return found


def test_it_begins_with_the_fabrics_of_its_files(twin: WholeTwin) -> None:
    assert twin.fabrics == ["pod-0", "pod-1"]
    (plan,) = twin.options.sites
    assert [config.seed for config in plan.fabrics.values()] == [7, 3]


def test_ticks_are_those_of_every_fabric_that_has_begun(twin: WholeTwin) -> None:
    store: Any = twin.store
    assert twin.ticks() == {"pod-0": 0, "pod-1": 0}
    store.taken = {("ocs", "pod-0"): 2, ("cubes", "pod-0"): 1, ("cubes", "pod-2"): 5}
    assert twin.ticks() == {"pod-0": 3, "pod-1": 0, "pod-2": 5}


def test_a_position_is_that_of_the_services_of_its_kind(twin: WholeTwin) -> None:
    store: Any = twin.store
    store.read[0] = {service.name: 9 for service in services_by_name("static-pod")}
    assert twin.positions() == {"pod-1": 9}
    store.read[0]["ocs"] = 4
    assert twin.positions() == {"pod-0": 4, "pod-1": 9}


@pytest.mark.parametrize(
    ("second", "seeds", "expected"), [("", [7, 3], ["--seed", "3"]), (", config: {seed: 9}", [7, 9], [])]
)
def test_the_seed_is_that_of_the_fabrics_without_their_own(
    tmp_path: Path, second: str, seeds: list[int], expected: list[str]
) -> None:
    """If every fabric has its own seed, it only affects faults and requests, and none is refused."""
    file = tmp_path / "campus.yaml"
    file.write_text(
        "{site: campus, fabrics: [{name: pod-0, config: {seed: 7}}, {name: pod-1, kind: static-pod"
        + second
        + "}]}"
    )
    options = TwinOptions(site_files=(file,), seed=3)
    (plan,) = options.sites
    assert [config.seed for config in plan.fabrics.values()] == seeds
    words = options.words
    assert words[4:] == [*expected, "--site", str(file)]
