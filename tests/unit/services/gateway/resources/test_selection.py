"""Lists are filtered, sorted, reduced to fields and paged; unknown fields are refused with the known ones."""

import base64
import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from schemas.api.rows import HostRow, LinkRow
from services.gateway.http.guard import URL_BYTES_MAX
from services.gateway.resources import selection
from services.gateway.resources.selection import Selection, chosen_fields, select
from services.gateway.resources.status_documents import natural_sort_key
from shared.basics.errors import InvalidInput
from tests.support.gateway_twin import QUIET, Client, DrivenTwin

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    twin = DrivenTwin(tmp_path_factory.mktemp("twin"), ["pod.cubes=8", *QUIET], pods=2)
    client = twin.client()
    for shape in ("4x4x8", "2x2x2", "4x8x16", "4x8x8"):
        client.post("/v1/slices", json={"shape": shape}, params={"wait": 20})
    twisted = {"fabric": "pod-1", "shape": "4x4x8", "twisted": True}
    client.post("/v1/slices", json=twisted, params={"wait": 20})
    for ocs in (17, 3):
        client.post("/v1/faults", json={"kind": "ocs", "target": f"pod-0/ocs-{ocs}"}, params={"wait": 20})
    twin.advance(0.3)
    yield client
    twin.close()


def names(client: Client, path: str) -> list[str]:
    answer = client.get(f"/v1/{path}")
    assert answer.status_code == 200, answer.text
    return [row["name"] for row in answer.json()]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("ocs?state=down", ["pod-0/ocs-3", "pod-0/ocs-17"]),
        ("ocs?state=down&sort=-name", ["pod-0/ocs-17", "pod-0/ocs-3"]),
        ("ocs?state=down&fabric=pod-1", []),
        ("ocs?state=down&state=up&fabric=pod-0&limit=2", ["pod-0/ocs-0", "pod-0/ocs-1"]),
        ("ocs?name=pod-1/ocs-5&name=pod-0/ocs-7", ["pod-0/ocs-7", "pod-1/ocs-5"]),
        ("slices?twisted=true", ["pod-1/slice-0"]),
        ("slices?shape=4x4x8", ["pod-0/slice-0", "pod-1/slice-0"]),
        ("slices?shape=4x4x8_T", ["pod-1/slice-0"]),
        ("slices?shape=4x4x8_T&shape=2X2X2", ["pod-0/slice-1", "pod-1/slice-0"]),
        ("faults?kind=ocs&sort=-name", ["pod-0/fault-1", "pod-0/fault-0"]),
        ("repairs?kind=connector", []),
        ("slices?state=queued", ["pod-0/slice-2"]),
        ("slices?chips=8&chips=256", ["pod-0/slice-1", "pod-0/slice-3"]),
        ("slices?ended_us=null&sort=-chips&limit=1", ["pod-0/slice-2"]),
        ("ocs?state=down&sort=changed,-name", ["pod-0/ocs-17", "pod-0/ocs-3"]),
        ("slices?cubes=pod-0/cube-0", ["pod-0/slice-0"]),
        ("slices?cubes=cube-0", ["pod-0/slice-0", "pod-1/slice-0"]),
        ("ocs?name=ocs-3", ["pod-0/ocs-3", "pod-1/ocs-3"]),
        ("faults?target=ocs-3&target=pod-0/ocs-17&sort=name", ["pod-0/fault-0", "pod-0/fault-1"]),
        ("slices?sort=state,-name&limit=2&fabric=pod-0", ["pod-0/slice-3", "pod-0/slice-0"]),
        ("fabrics?kind=superpod&sort=-name", ["pod-1", "pod-0"]),
        ("slices?where=chips>=256&where=twisted=no", ["pod-0/slice-2", "pod-0/slice-3"]),
        ("slices?chips>=256&twisted=0", ["pod-0/slice-2", "pod-0/slice-3"]),
        ("slices?chips<64", ["pod-0/slice-1"]),
        ("slices?state!=queued&sort=-CHIPS&limit=1", ["pod-0/slice-3"]),
        ("slices?CUBES=2&fabric=pod-0", ["pod-0/slice-0"]),
        ("slices?where=CUBES>2", ["pod-0/slice-3"]),
        ("slices?where=CHIPS in [8, 256]", ["pod-0/slice-1", "pod-0/slice-3"]),
        ("slices?LEFT=null&name=pod-0/slice-1", ["pod-0/slice-1"]),
        ("slices?chips=8.0&WAITED<1d", ["pod-0/slice-1"]),
        ("fabrics?STATE=alive&sort=-OCS", ["pod-1", "pod-0"]),
        ("fabrics?where=ocs_down>1", ["pod-0"]),
        ("faults?LASTED>1m&sort=-LASTED&limit=1", ["pod-0/fault-0"]),
        ("ocs?where=CIRCUITS>0&name=pod-0/ocs-9", ["pod-0/ocs-9"]),
    ],
)
def test_rows_are_filtered_and_sorted_as_requested(client: Client, path: str, expected: list[str]) -> None:
    assert names(client, path) == expected


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("state=dwon", "state: 'dwon' is not allowed; must be up, held or down"),
        (
            "colour=red",
            "query 'colour': no such parameter; must be one of fabric, sort, fields, limit, cursor,",
        ),
        ("where=colour=red", "where 'colour=red': no such field; must be one of name, state, radix,"),
        ("where=down", "where 'down': must be FIELD=VALUE, such as state=down, FIELD!=VALUE,"),
        ("radix>many", "radix: 'many' is not allowed; must be a whole number"),
        ("state>down", "state: is not a number; the operator must be =, ==, != or `in [a, b]`"),
        ("stat=down", "query 'stat': no such parameter; must be one of fabric, sort,"),
        ("limit=01", "limit: '01' is not allowed; must be a whole number without a zero in front"),
        ("limit=1&limit=2", "query 'limit': given 2 times; must be given once"),
        ("fabric=pod-0&state=up&fabric=pod-1&fabric=", "query 'fabric': given 3 times; must be given once"),
        ("radix=many", "radix: 'many' is not allowed; must be a whole number"),
        (
            "sort=patches",
            "sort 'patches': no such column; must be one of name, state, radix, circuits_wanted,",
        ),
        ("sort=", "sort '': no such column"),
        (
            "fields=name,colour",
            "fields 'colour': no such field; must be one of name, state, radix, circuits_wanted,",
        ),
        ("limit=0", "limit: '0' is not allowed; must be at least 1"),
        ("limit=10001", "limit: '10001'"),
        ("cursor=nonsense", "cursor 'nonsense': must be a cursor returned for this list and sort order"),
        ("cursor=e30", "cursor 'e30'"),
        ("cursor=W251bGwsW10sN10", "cursor 'W251bGwsW10sN10'"),
        ("cursor=%E2%9F%82", "cursor"),
        ("sort=state,name,-state", "sort '-state': is given twice; must be given once"),
        ("fabric=pod-9", "pod-9"),
    ],
)
def test_an_unknown_field_is_refused(client: Client, query: str, sentence: str) -> None:
    answer = client.get(f"/v1/ocs?{query}")
    assert answer.status_code == (404 if "pod-9" in query else 422)
    assert sentence in answer.json()["error"]


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        (
            "faults?kind=banana",
            "kind: 'banana' is not allowed; must be host, chip, cable, cube-power, ",
        ),
        (
            "repairs?kind=banana",
            "kind: 'banana' is not allowed; must be host, chip, cable, cube-power, ",
        ),
        (
            "slices?shape=banana",
            "shape 'banana': must be a shape like 4x4x8, or 4x4x8_T for a twisted one",
        ),
        (
            "slices?shape=4x4x8_T_T",
            "shape '4x4x8_T_T': must be a shape like 4x4x8, or 4x4x8_T for a twisted one",
        ),
    ],
)
def test_a_value_that_no_row_can_have_is_refused(client: Client, path: str, sentence: str) -> None:
    answer = client.get(f"/v1/{path}")
    assert answer.status_code == 422
    assert answer.json()["error"].startswith(sentence)


def test_only_the_requested_fields_are_returned(client: Client) -> None:
    answer = client.get("/v1/ocs?fields=name,state&state=down")
    assert answer.json() == [{"name": f"pod-0/ocs-{n}", "state": "down"} for n in (3, 17)]


@pytest.mark.parametrize("query", ["", "&sort=-state", "&sort=changed_us,-radix", "&state=up"])
def test_pages_make_up_the_whole_list(client: Client, query: str) -> None:
    whole = client.get(f"/v1/ocs?fields=name{query}")
    assert "link" not in whole.headers
    rows: list[Any] = []
    path: str | None = f"/v1/ocs?fields=name&limit=7{query}"
    while path is not None:
        answer = client.get(path)
        assert answer.headers["x-total-count"] == str(len(whole.json()))
        rows += answer.json()
        path = next_page(answer.headers.get("link"))
    assert rows == whole.json()


def next_page(link: str | None) -> str | None:
    if link is None:
        return None
    url, _, rel = link.partition(">; ")
    assert rel == 'rel="next"'
    assert dict(parse_qsl(urlsplit(url[1:]).query))["limit"] == "7"
    return url[1:]


def test_a_cursor_is_valid_only_for_its_order(client: Client) -> None:
    link = client.get("/v1/ocs?limit=7&sort=state").headers["link"]
    other_order = link[1:].partition(">")[0].replace("sort=state", "sort=-state")
    assert client.get(other_order).status_code == 422


@pytest.mark.parametrize(
    ("sort", "mark"),
    [
        ("name", '["name",[5],"pod-0/ocs-3"]'),
        ("name", '["name",[{}],"pod-0/ocs-3"]'),
        ("name", '["name",[[]],"pod-0/ocs-3"]'),
        ("radix", '["radix",["many"],"pod-0/ocs-3"]'),
        ("ports_down", '["ports_down",[[[1]]],"pod-0/ocs-3"]'),
        ("name", '["name",[],"pod-0/ocs-3"]'),
        ("name", '["name",null,"pod-0/ocs-3"]'),
        ("name", "[" * 5_000),
    ],
)
def test_an_invalid_cursor_is_refused(client: Client, sort: str, mark: str) -> None:
    answer = client.get("/v1/ocs", params={"sort": sort, "cursor": cursor_of(mark)})
    assert answer.status_code == 422
    assert "must be a cursor returned for this list and sort order" in answer.json()["error"]


@pytest.mark.parametrize("value", ["NaN", "inf", "-Infinity", "1e999"])
def test_a_value_that_is_not_a_number_is_refused(client: Client, value: str) -> None:
    answer = client.get("/v1/links", params={"ber": value})
    assert answer.status_code == 422
    assert answer.json()["error"] == f"ber: '{value}' is not allowed; must be a finite number"


@pytest.mark.parametrize("path", ["cubes/NAME", "cubes/pod-0/NAME", "events?for=pod-0/NAME", "why/NAME"])
def test_a_long_name_is_shortened_in_errors(client: Client, path: str) -> None:
    answer = client.get(f"/v1/{path.replace('NAME', 'x' * 3_000)}")
    assert answer.status_code == 404
    assert "xxx…: " in answer.json()["error"]
    assert len(answer.json()["error"]) < 300


@pytest.mark.parametrize("shape", ["7" * 3_000, f"4x4x{'7' * 3_000}", f"4x4x{'7' * 5_000}"])
def test_a_long_shape_is_shortened_in_errors(client: Client, shape: str) -> None:
    answer = client.get("/v1/plan/slices", params={"shape": shape})
    assert answer.status_code == 422
    assert f"shape: '{shape[:119]}… is not three sides in chips" in answer.json()["error"]
    assert len(answer.json()["error"]) < 400


@pytest.mark.parametrize("name", [f"pod-0/ocs-{'9' * 5_000}", "pod-0/ocs-²", "pod-0/ocs-٣"])
def test_a_cursor_may_name_a_vanished_row(client: Client, name: str) -> None:
    mark = json.dumps([None, [], name], ensure_ascii=False)
    assert client.get("/v1/ocs", params={"cursor": cursor_of(mark)}).status_code == 200


def cursor_of(mark: str) -> str:
    return base64.urlsafe_b64encode(mark.encode()).decode()


def test_names_are_read_once_for_a_page(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def counted(name: str) -> list[tuple[int, str]]:
        read.append(name)
        return natural_sort_key(name)

    monkeypatch.setattr(selection, "natural_sort_key", counted)
    rows = [host(n) for n in range(100)]
    first = select(HostRow, rows, Selection((), sort="-name", limit=4))
    assert len(read) == len(rows)
    select(HostRow, rows[:95], Selection((), sort="-name", cursor=first.cursor))
    assert len(read) <= 3 * len(rows) + 2


def test_a_field_requested_twice_is_returned_once() -> None:
    assert chosen_fields(HostRow, "state,name,state,state") == ("state", "name")


def test_an_address_may_be_as_long_as_proxies_allow(client: Client) -> None:
    query = "/v1/faults?comment="
    assert client.get(query + "a" * (URL_BYTES_MAX - len(query) + 1)).status_code == 200
    answer = client.get(query + "a" * (URL_BYTES_MAX - len(query) + 2))
    assert answer.status_code == 414
    assert (
        answer.json()["error"] == f"URL of {URL_BYTES_MAX + 1} bytes: must be at most {URL_BYTES_MAX} bytes"
    )


def host(number: int, state: Any = "up") -> HostRow:
    return HostRow(name=f"pod-0/cube-0/host-{number}", state=state, reason=None)


@pytest.mark.parametrize("gone", [3, 4, 5])
def test_rows_that_appear_or_vanish_between_pages_shift_nothing(gone: int) -> None:
    rows = [host(n) for n in (1, 2, 3, 4, 5, 10)]
    first = select(HostRow, rows, Selection((), limit=4))
    assert (first.total, first.rows) == (6, rows[:4])
    later = [host(0), *(row for row in rows if row != host(gone)), host(11)]
    second = select(HostRow, later, Selection((), cursor=first.cursor))
    assert second.rows == [host(n) for n in (5, 10, 11) if n != gone]


def test_missing_values_come_last_in_both_directions() -> None:
    def link(name: str, ber: float | None) -> LinkRow:
        return LinkRow(
            name=name,
            state="up",
            condition="ok",
            far_end=None,
            loss_db=None,
            ber=ber,
            ocs=None,
            slice=None,
        )

    rows = [link("a", None), link("b", 1e-6), link("c", 1e-3), link("d", None)]
    for sort, expected in (("ber", "bcad"), ("-ber", "cbad"), ("-ber,-name", "cbda")):
        pages, cursor = "", None
        for _ in rows:
            page = select(LinkRow, rows, Selection((), sort=sort, limit=1, cursor=cursor))
            pages, cursor = pages + page.rows[0].name, page.cursor
        assert (pages, cursor) == (expected, None)


def test_a_column_of_another_list_is_refused() -> None:
    with pytest.raises(InvalidInput, match="sort 'ber': no such column"):
        select(HostRow, [], Selection((), sort="ber"))


def test_long_answers_are_compressed_for_clients_that_accept_it(client: Client) -> None:
    plain = client.get("/v1/links?fabric=pod-0", headers={"Accept-Encoding": "identity"})
    packed = client.get("/v1/links?fabric=pod-0", headers={"Accept-Encoding": "gzip"})
    assert "content-encoding" not in plain.headers
    assert packed.headers["content-encoding"] == "gzip"
    assert packed.json() == plain.json()
    assert int(packed.headers["content-length"]) * 10 < len(plain.content)
