"""Which refusal on the log refuses the request itself."""

import pytest

from schemas.body import Body
from schemas.envelope import Envelope, enclose
from schemas.messages.cubes import DrainRefused
from schemas.messages.operator import DrainCube, RequestSlice
from schemas.messages.scheduler import SliceRefused
from schemas.messages.workload import SliceRequested
from services.gateway.requests.receipts import find_refusal

REQUEST = enclose(
    RequestSlice(shape=(4, 4, 4)), fabric="pod-0", at_us=5, cause=None, source="operator@pod-0", seq=3
)
SLICE_REQUESTED = SliceRequested(
    slice="pod-0/slice-7",
    owner="operator",
    tier="production",
    shape=(4, 4, 4),
    twisted=False,
    priority=0,
    duration_us=None,
    job=None,
    estimate_us=None,
    requested_by="operator",
)


def message(body: Body, seq: int, cause: str, source: str = "scheduler@pod-0") -> Envelope:
    return enclose(body, fabric="pod-0", at_us=5, cause=cause, source=source, seq=seq)


def refused(name: str, seq: int, cause: str) -> Envelope:
    return message(SliceRefused(slice=name, reason="it needs 2 cubes and the pod has 1"), seq, cause)


CREATED = message(SLICE_REQUESTED, 1, REQUEST.id, "workload@pod-0")
OWN = refused("pod-0/slice-7", 4, CREATED.id)
OF_ANOTHER = refused("pod-0/slice-2", 3, CREATED.id)


@pytest.mark.parametrize(
    ("outcome", "refusal"),
    [
        ([], None),
        ([CREATED], None),
        ([CREATED, OWN], OWN),
        ([CREATED, OF_ANOTHER], None),
        ([CREATED, OF_ANOTHER, OWN], OWN),
        ([refused("pod-0/slice-2", 3, REQUEST.id)], refused("pod-0/slice-2", 3, REQUEST.id)),
    ],
    ids=["nothing yet", "not refused", "its slice", "another slice", "another slice first", "directly"],
)
def test_only_the_refusal_of_the_request_or_of_its_slice_counts(
    outcome: list[Envelope], refusal: Envelope | None
) -> None:
    assert find_refusal(REQUEST, outcome) == refusal


def test_a_refusal_of_another_type_does_not_refuse_the_request() -> None:
    drain = enclose(
        DrainCube(cube="pod-0/cube-1"), fabric="pod-0", at_us=5, cause=None, source="operator@pod-0", seq=4
    )
    own = message(
        DrainRefused(target="pod-0/cube-1", reason="is drained already"), 1, drain.id, "cubes@pod-0"
    )
    assert find_refusal(drain, [refused("pod-0/slice-2", 3, drain.id)]) is None
    assert find_refusal(drain, [refused("pod-0/slice-2", 3, drain.id), own]) == own
