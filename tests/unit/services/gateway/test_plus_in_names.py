"""The plus sign of link ends in query strings, where it otherwise means a space."""

from collections.abc import Iterator
from urllib.parse import parse_qsl, quote

import pytest

from services.gateway.http.middleware import with_plus_of_faces
from tests.support.gateway_twin import QUIET, Client, DrivenTwin

END = "pod-0/cube-0/+y/7"
RAW = (END, quote(END, safe="/+"), quote(END, safe="+"), quote(END, safe="/"), quote(END, safe=""))
"""A name in a URL, with its plus or slashes encoded or not."""
QUERIES = (
    *("events?for=NAME", "events?for=NAME&ticks=false", "events?since=2d+ago&for=NAME"),
    *(
        "links?name=NAME",
        "links?where=name=NAME",
        "links?where=name+in+[NAME]",
        "links?where=name!=NAME&limit=1",
    ),
    *("what-if/inject?kind=laser&target=NAME", "what-if/repair?target=NAME"),
    *("bisect?condition=links.NAME.state+==+up", "bisect?condition=links.NAME+exists+and+count(cubes)+>+0"),
    *("readings?where=name=NAME", "links?far_end=NAME", "verdicts?ends=NAME&at=now"),
)


@pytest.mark.parametrize("written", RAW)
@pytest.mark.parametrize("query", QUERIES)
def test_a_name_in_a_query_keeps_its_plus(query: str, written: str) -> None:
    raw = query.partition("?")[2].replace("NAME", written).encode()
    values = " ".join(value for _, value in parse_qsl(with_plus_of_faces(raw).decode()))
    assert END in values


@pytest.mark.parametrize(
    "raw", [b"since=2d+ago", b"comment=worn+out", b"comment=a/+y/b", b"condition=a+==+b"]
)
def test_other_pluses_still_mean_spaces(raw: bytes) -> None:
    assert with_plus_of_faces(raw) == raw


@pytest.mark.parametrize("raw", [b"at=+3h", b"limit=2&sort=+name", b"until=+2h&at=now"])
def test_a_plus_before_a_value_is_kept(raw: bytes) -> None:
    assert with_plus_of_faces(raw) == raw.replace(b"=+", b"=%2B")


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    twin = DrivenTwin(tmp_path_factory.mktemp("twin"), ["pod.cubes=4", *QUIET])
    yield twin.client()
    twin.close()


@pytest.mark.integration
@pytest.mark.parametrize("query", QUERIES)
def test_every_route_reads_the_same_name(client: Client, query: str) -> None:
    plain, encoded = (
        client.get(f"/v1/{query.replace('NAME', name)}") for name in (END, quote(END, safe="/"))
    )
    assert plain.status_code == encoded.status_code
    assert plain.json() == encoded.json()
    assert "cube-0/ y" not in plain.text
