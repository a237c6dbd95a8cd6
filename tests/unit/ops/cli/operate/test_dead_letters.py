"""`lightwave dead-letters`: its output, and its requests to the twin."""

from typing import Any

import pytest

from tests.support.fake_twin import answering, as_json, lightwave

pytestmark = pytest.mark.integration

URL = "/v1/dead-letters"
USAGE = 2


def letter(origin: str, **more: Any) -> dict[str, Any]:
    plain = {"origin": origin, "error": "not JSON: x", "line": "{\x1b[31m", "line_bytes": None}
    return plain | {"line_sha256": None, "service": None, "state": "waiting", "replays_as": None} | more


def test_letters_are_listed_one_per_line_and_shown_in_full() -> None:
    long = letter("0:41", line="x" * 300, line_bytes=9_000, service="cubes", replays_as="DrainCube")
    with answering({URL: [as_json([letter("0:7"), long])], f"{URL}/0:41": [as_json(long)]}) as twin:
        listed = lightwave("dead-letters", "list", url=twin.url)
        shown = lightwave("dead-letters", "show", "0:41", url=twin.url)
    assert listed.stdout.splitlines()[1].split()[:4] == ["0:7", "waiting", "-", "-"]
    assert listed.stdout.splitlines()[2].split()[:4] == ["0:41", "waiting", "cubes", "DrainCube"]
    assert "\x1b" not in listed.stdout
    assert max(map(len, listed.stdout.splitlines())) < 200
    assert shown.stdout == (
        f"0:41: waiting, replays as DrainCube\nnot JSON: x\n{'x' * 300} (the beginning of 9000 bytes)\n"
    )


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("dead-letters list", "no pending dead letters\n"),
        ("dead-letters list --all", "no dead letters\n"),
        ("requests list", "no pending requests\n"),
    ],
)
def test_an_empty_list_is_reported_in_one_sentence(words: str, sentence: str) -> None:
    with answering({URL: [as_json([])], "/v1/requests": [as_json([])]}) as twin:
        assert lightwave(*words.split(), url=twin.url).stdout == sentence


def test_a_replay_shows_its_outcome() -> None:
    path = f"{URL}/0:41/replay"
    done = {"id": "operator@pod-0/9", "status": "accepted", "repeated": True}
    refusal = as_json(
        done | {"status": "refused", "reason": "drained already", "error": "drained already"}, 409
    )
    refused = as_json({"error": "dead letter 0:41: cannot be replayed: not JSON"}, 422)
    with answering({path: [as_json(done), refused, refusal]}) as twin:
        first = lightwave("dead-letters", "replay", "0:41", "--comment", "lost", url=twin.url)
        second = lightwave("dead-letters", "replay", "0:41", url=twin.url)
        third = lightwave("dead-letters", "replay", "0:41", url=twin.url)
    assert first.stdout == "0:41: accepted as operator@pod-0/9, as before\n"
    assert "comment=lost" in twin.requests[0].query
    assert (third.returncode, third.stderr) == (1, "lightwave: drained already (operator@pod-0/9)\n")
    assert second.returncode == USAGE
    assert "cannot be replayed: not JSON" in second.stderr


def test_one_letter_is_dropped_or_all() -> None:
    with answering(
        {f"{URL}/0:41": [as_json({"dropped": ["0:41"]})], URL: [as_json({"dropped": []})]}
    ) as twin:
        assert lightwave("dead-letters", "drop", "0:41", url=twin.url).stdout == "dropped: 0:41\n"
        assert (
            lightwave("dead-letters", "drop", "--all", url=twin.url).stdout == "dropped: no pending letters\n"
        )
        for words in ([], ["0:41", "--all"]):
            wrong = lightwave("dead-letters", "drop", *words, url=twin.url)
            assert wrong.returncode == USAGE
            assert "give either ORIGIN or --all" in wrong.stderr
    assert [(request.method, request.path) for request in twin.requests] == [
        ("DELETE", f"{URL}/0:41"),
        ("DELETE", URL),
    ]
