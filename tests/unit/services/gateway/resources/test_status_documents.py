"""A document that another release wrote in another format is reported in one sentence."""

from collections.abc import Iterator

import orjson
import pytest

from services.gateway.resources.status_documents import natural_sort_key
from shared.storage.store.state_store import FabricPlace
from tests.support.gateway_twin import QUIET, DrivenTwin

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def twin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DrivenTwin]:
    twin = DrivenTwin(tmp_path_factory.mktemp("twin"), ["pod.cubes=4", *QUIET])
    yield twin
    twin.close()


class Older:
    """Documents of a kind as an earlier release might have written them: without a field."""

    def __init__(self, twin: DrivenTwin, kind: str, field: str) -> None:
        self._documents = twin.store
        self._kind = kind
        self._field = field

    def fabrics(self) -> dict[str, FabricPlace]:
        return self._documents.fabrics()

    def all(self, fabric: str, kind: str) -> dict[str, bytes]:
        return {name: self._older(kind, text) for name, text in self._documents.all(fabric, kind).items()}

    def one(self, fabric: str, kind: str, name: str) -> bytes | None:
        text = self._documents.one(fabric, kind, name)
        return None if text is None else self._older(kind, text)

    def _older(self, kind: str, text: bytes) -> bytes:
        fields = orjson.loads(text)
        if kind == self._kind:
            fields.pop(self._field, None)
        return orjson.dumps(fields)


@pytest.mark.parametrize(
    ("kind", "field", "path", "name"),
    [
        ("ocs", "losses_db", "ocs", "pod-0/ocs-0"),
        ("ocs", "made", "trace/pod-0/cube-0/+y/1", "pod-0/ocs-17"),
        ("cubes", "hosts", "describe/cubes/pod-0/cube-1", "pod-0/cube-1"),
        ("summaries", "ocs_down", "fabrics/pod-0", "pod-0/ocs"),
    ],
)
def test_a_document_without_a_field_is_reported_with_its_name(
    twin: DrivenTwin, kind: str, field: str, path: str, name: str
) -> None:
    answer = twin.client(documents=Older(twin, kind, field)).get(f"/v1/{path}")
    assert answer.status_code == 503
    unreadable = f"{name}: its document in the store is invalid: {field}: missing"
    assert answer.json() == {"error": unreadable}


def test_names_are_in_natural_order() -> None:
    assert (
        natural_sort_key("a1")
        < natural_sort_key("a02")
        < natural_sort_key("a10")
        < natural_sort_key(f"a{'9' * 5_000}")
    )
    assert natural_sort_key("a") < natural_sort_key("a0") < natural_sort_key("b")
    names = ["pod-0/ocs-10", "pod-0/ocs-2", "pod-0/ocs-1"]
    assert sorted(names, key=natural_sort_key) == ["pod-0/ocs-1", "pod-0/ocs-2", "pod-0/ocs-10"]
