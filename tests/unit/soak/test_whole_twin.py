"""A whole twin with fabrics of several kinds, some of which joined later, is checked fabric by fabric."""

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from services.service_names import services_by_name
from shared.engine.message_order import ServiceProgress
from shared.storage.store.fabric_registry import FabricRegistration, fabric_place, registration_value
from shared.storage.store.memory_store import MemoryStore
from shared.storage.store.state_store import Commit, FabricPlace
from tests.soak.final_state import is_quiet
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


@pytest.mark.parametrize("is_known", [True, False])
def test_a_twin_of_a_version_without_a_service_does_not_wait_for_it(
    twin: WholeTwin, monkeypatch: pytest.MonkeyPatch, is_known: bool
) -> None:
    others = tuple(service.name for service in services_by_name("superpod") if service.name != "drills")
    if is_known:
        twin.options = replace(twin.options, only=others)
    store: Any = MemoryStore()
    store.oldest = lambda _: None
    twin.store = store
    registered = FabricRegistration("campus", "superpod")
    store.place("pod-0", fabric_place(0, registered))
    fields = {"end": "4", **registration_value("pod-0", registered)}
    assert store.commit(Commit(0, {}, dict.fromkeys(others, 4), fields=fields))
    monkeypatch.setattr(time, "sleep", lambda _: None)
    assert is_quiet(twin) == is_known
    assert twin.positions() == ({"pod-0": 4} if is_known else {})
    assert any("drills" in reason for reason in twin.standstills()) != is_known


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
