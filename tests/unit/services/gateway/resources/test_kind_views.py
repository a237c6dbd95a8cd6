"""The table of resource kinds, which the gateway, its routes and the command line use."""

import subprocess
import sys
from collections.abc import Iterator
from typing import Any, get_args

import pytest

from ops.cli.common.kind_tables import FORMATS
from schemas.documents.dcn import NETWORK_DOCUMENTS
from schemas.documents.drills import DRILL_DOCUMENTS
from schemas.documents.pods import POD_DOCUMENTS
from schemas.resource_kinds import KINDS, CellFormat, ResourceKind, find_kind, kind_by_name_form
from services.gateway.resources.kind_views import views_of
from services.gateway.runtime_ports import TwinPorts
from shared.models.network.network_plant import network_plant
from shared.models.superpod.superpod_plant import superpod_plant
from shared.storage.store.state_store import FabricPlace
from tests.support.gateway_twin import NETWORK, DrivenTwin, pod_and_network
from tests.support.plant_parts import parts_of
from tests.unit.services.gateway.test_drills import MINUTE_US, plan

pytestmark = pytest.mark.integration

PLANTS = {"dcn-0": network_plant(NETWORK.network), "pod-0": superpod_plant(4)}
DAY_US = 1_440 * MINUTE_US
SLOW = ("pydantic", "numpy", "orjson", "fastapi")


@pytest.fixture(scope="module")
def twin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DrivenTwin]:
    """A pod and a network with one resource of each kind."""
    twin = DrivenTwin(tmp_path_factory.mktemp("twin"), [], plans=[pod_and_network()])
    client = twin.client()
    client.post("/v1/slices", json={"shape": "4x4x4"}, params={"wait": 20})
    client.post("/v1/faults", json={"kind": "ocs", "target": "pod-0/ocs-17"}, params={"wait": 20})
    dirt = {"kind": "connector", "target": "pod-0/cube-0/+x/3", "severity": 1.5}
    client.post("/v1/faults", json=dirt, params={"wait": 20})
    twin.advance(2.0)
    calm = plan(steps=[{"name": "pause", "what": "wait", "for_us": MINUTE_US}], schedule={"every_us": DAY_US})
    client.post("/v1/schedules", json={"plan": calm}, params={"wait": 20})
    client.post("/v1/drills", json={"plan": calm | {"schedule": None}}, params={"wait": 20})
    yield twin
    twin.close()


class Watched:
    """Documents that record which kinds have been read."""

    def __init__(self, ports: TwinPorts) -> None:
        self._documents = ports.documents
        self.read: set[str] = set()

    def fabrics(self) -> dict[str, FabricPlace]:
        return self._documents.fabrics()

    def all(self, fabric: str, kind: str) -> dict[str, bytes]:
        self.read.add(kind)
        return self._documents.all(fabric, kind)

    def one(self, fabric: str, kind: str, name: str) -> bytes | None:
        self.read.add(kind)
        return self._documents.one(fabric, kind, name)


# --- the plain table ----------------------------------------------------------------------------------------


def test_the_table_is_fast_to_import() -> None:
    code = f"import sys, schemas.resource_kinds; print([m for m in {SLOW!r} if m in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_a_row_of_the_table_is_consistent(kind: ResourceKind[Any]) -> None:
    assert kind.word in kind.spellings
    assert kind.title.lower() in kind.spellings
    assert set(kind.documents) <= {*POD_DOCUMENTS, *NETWORK_DOCUMENTS, *DRILL_DOCUMENTS}
    headings = [column.heading for column in kind.columns]
    assert headings[0] == "NAME"
    assert len(set(headings)) == len(headings)
    for part in kind.parts:
        plant = next(plant for plant in PLANTS.values() if plant.population(part))
        assert plant.kind(part).noun.endswith(kind.title)


def test_a_spelling_means_one_kind_in_any_case() -> None:
    spellings = [spelling for kind in KINDS.values() for spelling in kind.spellings]
    assert len(set(spellings)) == len(spellings)
    for kind in KINDS.values():
        assert {find_kind(spelling.upper()) for spelling in kind.spellings} == {kind}
    assert find_kind("dragons") is None


# --- those that go by it ------------------------------------------------------------------------------------


def test_the_gateway_reads_every_kind_and_no_other(twin: DrivenTwin) -> None:
    assert [view.kind for view in views_of(twin.ports).values()] == list(KINDS.values())


def test_every_column_format_is_defined_and_used() -> None:
    used = {column.format for kind in KINDS.values() for column in kind.columns}
    assert used == set(FORMATS) == set(get_args(CellFormat))


@pytest.mark.parametrize("word", KINDS)
def test_a_kind_reads_only_its_own_documents(twin: DrivenTwin, word: str) -> None:
    watched = Watched(twin.ports)
    client = twin.client(documents=watched)
    (first, *_) = client.get(f"/v1/{word}").json()
    assert watched.read == set(KINDS[word].documents)
    watched.read.clear()
    assert client.get(f"/v1/{word}/{first['name']}").json() == first
    only_of_pods = {"jobs"} if first.get("kind") == "dcn" else set()
    assert watched.read == set(KINDS[word].documents) - only_of_pods


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_parts_have_the_names_of_the_plant(twin: DrivenTwin, kind: ResourceKind[Any]) -> None:
    names = [row["name"] for row in twin.client().get(f"/v1/{kind.word}").json()]
    assert names
    if kind.parts:
        assert names == [
            part.name
            for fabric, plant in PLANTS.items()
            for word in kind.parts
            if plant.population(word)
            for part in parts_of(plant, word, fabric)
        ]


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_a_name_identifies_the_kind_of_its_resource(twin: DrivenTwin, kind: ResourceKind[Any]) -> None:
    rows = twin.client().get(f"/v1/{kind.word}").json()
    assert {kind_by_name_form(row["name"]) for row in rows} == {kind}


@pytest.mark.parametrize("word", ["dragons", "dcn-0/ocs-17/N24", "pod-0/dragon-3", "", "pod-0/cube-1/+x"])
def test_any_other_name_is_of_no_kind(word: str) -> None:
    assert kind_by_name_form(word) is None
