"""The terms of a request: which keys, comments and waits are valid, and how a body carries them."""

import pytest

from schemas.messages.operator import DrainCube
from services.gateway.requests.operator_requests import RequestTerms
from shared.basics.errors import InvalidInput

BODY = DrainCube(cube="pod-0/cube-1")


@pytest.mark.parametrize(
    "key",
    [
        "operator@pod-0/17",
        "sequencer@pod-0/1",
        "operator@campus-1/9223372036854775807",
    ],
)
def test_a_key_that_looks_like_a_message_id_is_refused(key: str) -> None:
    """Keys are looked up first, so a query for that message would return the request with this key."""
    with pytest.raises(InvalidInput, match=r"Idempotency-Key '.*': must not look like a message id"):
        RequestTerms(key=key).of(BODY)


@pytest.mark.parametrize(
    "key", ["operator@pod-0", "operator/17", "operator@pod-0/17a", "an operator@pod-0/17", "a", "k" * 200]
)
def test_any_other_key_is_carried_by_the_body(key: str) -> None:
    assert RequestTerms(key=key).of(BODY) == DrainCube(cube="pod-0/cube-1", key=key)


@pytest.mark.parametrize(
    ("terms", "sentence"),
    [
        (RequestTerms(key=""), "Idempotency-Key: has 0 characters; must have 1 to 200"),
        (RequestTerms(key="k" * 201), "Idempotency-Key: has 201 characters; must have 1 to 200"),
        (RequestTerms(comment="c" * 501), "comment: has 501 characters; must have 1 to 500"),
        (RequestTerms(comment="a\nb"), r"comment 'a\\nb': must consist of printable characters"),
        (RequestTerms(wait_s=-0.5), "wait -0.5: must be between 0 and"),
        (RequestTerms(wait_s=1e6), r"wait 1e\+06: must be between 0 and"),
    ],
    ids=["empty key", "long key", "long comment", "two lines", "negative wait", "long wait"],
)
def test_terms_out_of_their_bounds_are_refused(terms: RequestTerms, sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        terms.of(BODY)


def test_a_body_without_terms_is_unchanged() -> None:
    assert RequestTerms().of(BODY) == BODY
    assert RequestTerms(asked_by="mia", comment="as planned").of(BODY) == DrainCube(
        cube="pod-0/cube-1", asked_by="mia", comment="as planned"
    )
