"""The outcome of a request in one sentence. Only its own refusal makes the command fail."""

import inspect
from typing import Any

import pytest

from ops.cli.operate.outcome_text import EFFECTS, SENTENCES, Sentence, outcome_text
from ops.client.answers import refusal_of
from schemas.registry import TYPES
from tests.support.records import as_record

HOUR_US = 3_600_000_000


def answer(
    *outcome: tuple[str, dict[str, Any]],
    status: str = "accepted",
    repeated: bool = False,
    complete: bool = True,
    **fields: object,
) -> Any:
    """Return an answer in which every message is caused by the one before."""
    messages = [
        {
            "id": f"someone/{number}",
            "cause": f"someone/{number - 1}",
            "type": kind,
            "body": body,
            "about": about(body),
        }
        for number, (kind, body) in enumerate(outcome)
    ]
    return as_record(
        {
            "id": "operator@pod-0/17",
            "status": status,
            "repeated": repeated,
            "complete": complete,
            "outcome": messages,
            **fields,
        }
    )


def about(body: dict[str, Any]) -> list[str]:
    """Return the names of the slice and the cubes, as the twin adds them."""
    cubes = [body[field] for field in ("cube", "left", "spare") if field in body] + body.get("cubes", [])
    slices = [body["slice"]] if "slice" in body else []
    return slices + [f"pod-0/cube-{cube}" for cube in cubes]


def links_changed(**ends: tuple[int, ...]) -> tuple[str, dict[str, Any]]:
    return "LinksChanged", {"up": (), "degraded": (), "down": ()} | ends


def degraded(down: int, degraded: int = 0, slice_name: str = "pod-0/slice-42") -> tuple[str, dict[str, Any]]:
    return "SliceDegraded", {"slice": slice_name, "links_down": down, "links_degraded": degraded}


JOB = {"multislice": {"job": "pod-0/slice-42"}}
MINE, OTHER = {"slice": "pod-0/slice-42"}, {"slice": "pod-0/slice-9"}
ADMITTED = {"cubes": [1, 2, 3, 4, 5, 6, 7, 8], "corner": None}
BEGAN = "pod-0/fault-3 began: ocs pod-0/ocs-17"
FAULT = {"fault": "pod-0/fault-3", "kind": "ocs", "target": "pod-0/ocs-17"}


@pytest.mark.parametrize(
    ("verb", "outcome", "sentence"),
    [
        (
            "request",
            [
                ("SliceRequested", MINE),
                ("SliceAdmitted", OTHER | ADMITTED),
                ("SliceAdmitted", MINE | ADMITTED),
            ],
            "pod-0/slice-42 admitted on 8 cubes",
        ),
        (
            "request",
            [
                ("SliceRequested", MINE | JOB),
                ("SliceRequested", {"slice": "pod-1/slice-7"} | JOB),
                ("SliceRequested", OTHER | {"multislice": None}),
            ],
            "job pod-0/slice-42: pod-0/slice-42 and pod-1/slice-7 are queued",
        ),
        (
            "request",
            [
                ("SliceRequested", MINE | JOB),
                ("SliceAdmitted", MINE | ADMITTED),
                ("SliceRequested", {"slice": "pod-1/slice-7"} | JOB),
            ],
            "job pod-0/slice-42: pod-0/slice-42 has cubes; pod-1/slice-7 is queued",
        ),
        (
            "request",
            [("SliceRequested", MINE), ("SliceAdmitted", MINE | {"cubes": [5], "corner": [0, 0, 2]})],
            "pod-0/slice-42 admitted as a mesh in pod-0/cube-5",
        ),
        ("request", [("SliceRequested", MINE)], "pod-0/slice-42 is queued"),
        (
            "release",
            [("SliceReleased", MINE), ("SliceRefused", MINE | {"reason": "withdrawn"})],
            "pod-0/slice-42 withdrawn before it ran",
        ),
        (
            "release",
            [
                ("SliceReleased", MINE),
                ("SliceCompleted", MINE),
                ("SliceRefused", OTHER | {"reason": "queue full"}),
            ],
            "pod-0/slice-42 released",
        ),
        ("inject", [("FaultBegan", FAULT | {"expires_us": None})], BEGAN),
        (
            "inject",
            [
                ("FaultBegan", FAULT | {"expires_us": 93_784_000_000}),
                degraded(8),
                degraded(16, 2),
            ],
            BEGAN + ", until 1d02:03:04; pod-0/slice-42 degraded: 16 link ends down and 2 link ends degraded",
        ),
        (
            "inject",
            [("FaultBegan", FAULT | {"expires_us": None})]
            + [degraded(0, n + 1, f"pod-0/slice-{n}") for n in range(5)],
            BEGAN
            + "".join(f"; pod-0/slice-{n} degraded: {n + 1} link ends degraded" for n in range(3))
            + "; 2 more",
        ),
        ("clear", [("FaultEnded", FAULT | {"how": "cleared"})], "pod-0/fault-3 cleared: ocs pod-0/ocs-17"),
        (
            "clear",
            [("FaultEnded", FAULT | {"how": "cleared"}), links_changed(up=(3, 9)), degraded(2)],
            "pod-0/fault-3 cleared: ocs pod-0/ocs-17; pod-0/slice-42 still degraded: 2 link ends down",
        ),
        (
            "clear",
            [("FaultEnded", FAULT | {"how": "cleared"}), links_changed(degraded=(3, 9)), degraded(0, 2)],
            "pod-0/fault-3 cleared: ocs pod-0/ocs-17; pod-0/slice-42 degraded: 2 link ends degraded",
        ),
        (
            "drain",
            [("CubeDrained", {"cube": 3}), ("CubeSwapped", MINE | {"left": 3, "spare": 7})],
            "pod-0/cube-3 takes nothing new; pod-0/slice-42 moved from pod-0/cube-3 to pod-0/cube-7",
        ),
        (
            "drain",
            [("CubeDrained", {"cube": 3, "until_us": 2 * HOUR_US})],
            "pod-0/cube-3 takes nothing new until 0d02:00:00",
        ),
        (
            "drain",
            [("CubeDrained", {"cube": 3, "until_us": 2 * HOUR_US, "was_until_us": HOUR_US})],
            "pod-0/cube-3 takes nothing new until 0d02:00:00, instead of until 0d01:00:00",
        ),
        (
            "drain",
            [("CubeDrained", {"cube": 3, "was_until_us": HOUR_US})],
            "pod-0/cube-3 takes nothing new until it is undrained, instead of until 0d01:00:00",
        ),
        ("undrain", [("CubeUndrained", {"cube": 3})], "pod-0/cube-3 in use again"),
        ("undrain", [], "done; nothing changed"),
    ],
)
def test_granted_requests(verb: str, outcome: list[tuple[str, dict[str, Any]]], sentence: str) -> None:
    given = answer(*outcome)
    assert refusal_of(given) is None
    assert outcome_text(verb, given) == f"{sentence} (operator@pod-0/17)"


def refused(reason: str) -> Any:
    return answer(status="refused", reason=reason)


def test_refused_requests() -> None:
    refusal = refused("pod-0/slice-42: queue full")
    assert refusal_of(refusal) == "pod-0/slice-42: queue full (operator@pod-0/17)"


def test_received_and_repeated_requests() -> None:
    assert outcome_text("drain", answer(status="received")).startswith("received; it takes effect when")
    unknown = outcome_text("drain", answer(complete=False))
    assert unknown == "accepted; the outcome is not known yet (operator@pod-0/17)"
    again = answer(("CubeDrained", {"cube": 3}), repeated=True)
    assert (
        outcome_text("drain", again) == "pod-0/cube-3 takes nothing new; repeated request (operator@pod-0/17)"
    )


def test_every_verb_can_be_granted_by_messages_that_exist() -> None:
    assert {kind for sentences in SENTENCES.values() for kind in sentences} <= set(TYPES)


@pytest.mark.parametrize("sentences", [*SENTENCES.values(), EFFECTS])
def test_a_sentence_reads_the_body_of_its_own_type(sentences: dict[str, Sentence]) -> None:
    """The type checker checks the fields that a sentence uses, but not the table."""
    for kind, sentence in sentences.items():
        declared = next(iter(inspect.signature(sentence).parameters.values())).annotation
        assert declared == kind
