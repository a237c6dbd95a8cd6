"""Filters and conditions with a value that a field can never have are refused, over all kinds and fields."""

from collections.abc import Iterator

import pytest

from schemas.resource_kinds import KINDS
from services.gateway.resources.field_values import RowField
from services.gateway.resources.kind_views import views_of
from services.gateway.resources.row_fields import plain_fields
from services.gateway.resources.text_values import FORMS, NAMES, WORDS, TextValues
from shared.basics.errors import InvalidInput
from tests.support.gateway_twin import QUIET, Client, DrivenTwin, pod_and_network

pytestmark = pytest.mark.integration

OPEN_TEXTS = {
    *("comment", "evidence", "waits_for", "ended_because", "technician", "asked_by", "requested_by"),
    *((kind, "reason") for kind in ("slices", "repairs", "bundles", "drills")),
    *(("schedules", "last_reason"), ("drills", "title"), ("schedules", "title"), ("drills", "tags")),
    *(("drills", "step"), ("drills", "left")),
}
"""Fields that are sentences, names of people, or words of the plans of drills: any text is allowed."""
REFUSED = {
    ("cubes", "name=cube-77"): "name: 'cube-77' is not allowed; cube 77 does not exist; must be between",
    ("cubes", "name=pod-9/cube-1"): "no such fabric 'pod-9'; must be one of dcn-0, pod-0",
    ("cubes", "reasons=zzz"): "reasons: 'zzz' is not allowed",
    ("cubes", "hosts_down>=17"): "hosts_down: '17' is not allowed; must be between 0 and 16",
    ("cubes", "chips_used>64"): "chips_used: '> 64' is not allowed; no value is above 64",
    ("faults", "target=pod-0/ocs-99"): "target: 'pod-0/ocs-99' is not allowed; ",
    ("faults", "how=repared"): "must be one of repaired, cleared, expired; the nearest is repaired",
    ("links", "ocs=pod-0/ocs-99"): "ocs: 'pod-0/ocs-99' is not allowed; ",
    ("links", "slice=cube-1"): "must be a name like pod-0/slice-3",
    ("demands", "source=block-99"): "block 99 does not exist",
    ("trunks", "name=block-3/trunk-3"): "its blocks must differ",
    ("slices", "owner=opperator"): "the nearest is operator",
    ("slices", "recovery=zzz"): "must be some of spare, swap, route, wait and evict",
    ("slices", "restarts<0"): "no value is below 0",
    ("fabrics", "kind=superpdo"): "the nearest is superpod",
    ("fabrics", "name=pod-7"): "must be one of dcn-0, pod-0",
    ("fabrics", "utilisation=500%"): "must be between 0 and 1, or between 0% and 100%",
    ("ocs", "ports_down=Q7"): "must be a port",
    ("faults", "drill=cube-1"): "must be a name like dcn-0/drill-3",
    ("drills", "schedule=weekly"): "must be a name like dcn-0/schedule-3",
    ("drills", "active_faults=ocs-1"): "must be a name like dcn-0/fault-3",
    ("drills", "document_sha256=abc"): "must be 64 of the digits",
    ("schedules", "between=9-16"): "must be a window of the day, such as 09:00-16:00",
    ("ocs", "parts_down=zzz"): "must be a part of an OCS",
    ("rewirings", "outcome=complete"): "the nearest is completed",
}
ALLOWED = (
    *(("cubes", "name=cube-3"), ("cubes", "name=pod-0/cube-3"), ("cubes", "reasons=cube-1/host-2")),
    *(("faults", "target=ocs-3"), ("faults", "target=dcn-0"), ("links", "far_end=cube-1/+y/7")),
    *(("slices", "owner=operator"), ("slices", "recovery=swap,wait"), ("slices", "reason=any sentence")),
    *(("slices", "name=slice-99"), ("trunks", "use>500%"), ("demands", "source=block-1")),
    *(("ocs", "ports_down=N24"), ("ocs", "parts_down=supply-1"), ("cubes", "REASONS=no power")),
    *(("faults", "drill=drill-3"), ("drills", "name=drill-3"), ("schedules", "name=schedule-1")),
    *(("drills", f"document_sha256={'0' * 64}"), ("schedules", "between=22:00-06:00")),
    *(("blocks", "bundles_down=bundle-0"), ("fabrics", "kind=dcn"), ("repairs", "verdict=verdict-1")),
)


@pytest.fixture(scope="module")
def twin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DrivenTwin]:
    driven = DrivenTwin(tmp_path_factory.mktemp("twin"), QUIET, plans=[pod_and_network()])
    driven.advance(0.5)
    yield driven
    driven.close()


@pytest.fixture(scope="module")
def client(twin: DrivenTwin) -> Client:
    return twin.client()


def test_values_that_a_field_can_never_have_are_refused(client: Client) -> None:
    for (word, text), sentence in REFUSED.items():
        answer = client.get(f"/v1/{word}", params={"where": text})
        assert answer.status_code == 422, (word, text, answer.json())
        assert sentence in answer.json()["error"], (word, text)


def test_values_that_a_field_can_have_select_rows_or_none(client: Client) -> None:
    for word, text in ALLOWED:
        answer = client.get(f"/v1/{word}", params={"where": text})
        assert answer.status_code == 200, (word, text, answer.json())


def test_conditions_refuse_the_same_values(client: Client) -> None:
    for test in ("restarts < 0", "owner == nobody", "chips == -64"):
        answer = client.get("/v1/conditions", params={"condition": f"slices.pod-0/slice-0.{test}"})
        assert answer.status_code == 422, test


def test_no_text_field_takes_an_arbitrary_word(twin: DrivenTwin) -> None:
    taken = []
    for word, view in views_of(twin.ports).items():
        for name, kind in plain_fields(view.row).items():
            if kind is not str or {name, (word, name)} & OPEN_TEXTS:
                continue
            try:
                TextValues(twin.ports, view)(RowField(name, str, lambda *_: None), "zzz")
            except InvalidInput:
                continue
            taken.append((word, name))
    assert taken in ([], [("slices", "shape")])  # a shape has its own reader


def test_the_tables_name_fields_that_exist(twin: DrivenTwin) -> None:
    views = views_of(twin.ports)
    for word, name in (*WORDS, *NAMES, *FORMS):
        assert word in KINDS
        assert name in views[word].row.model_fields, (word, name)
