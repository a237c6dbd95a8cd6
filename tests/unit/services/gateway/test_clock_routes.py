"""The clock over HTTP: time that runs up to a target."""

import time
from pathlib import Path

import pytest

from shared.basics.units import US_PER_HOUR, US_PER_S
from tests.support.gateway_twin import DrivenTwin

pytestmark = pytest.mark.integration


def test_time_runs_to_its_target_and_stops_there(tmp_path: Path) -> None:
    """The wall clock does not advance. Time runs as fast as it can and stops at the exact microsecond."""
    twin = DrivenTwin(tmp_path, ["pod.cubes=8"])
    client = twin.client()
    run = client.request("PUT", "/v1/clock/run", json={"for_s": 7_200}).json()
    wanted_us = 7_200 * US_PER_S
    assert run["until_us"] in (wanted_us, None)
    until_s = time.monotonic() + 30
    while (shown := client.get("/v1/clock").json())["until_us"] is not None:
        assert time.monotonic() < until_s
        time.sleep(0.01)
    assert (shown["now_us"], shown["paused"], shown["speed"]) == (wanted_us, True, 1)
    assert (run["run_until_us"], shown["run_until_us"]) == (wanted_us, wanted_us)
    times = [message["at_us"] for message in twin.messages()]
    assert wanted_us - US_PER_HOUR < max(times) <= wanted_us
    late = client.request("PUT", "/v1/clock/run", json={"until_us": 5})
    assert late.status_code == 422
    sentence = (
        "until: 0d00:00:00.000 (5 us) is not allowed; must not be before now, "
        f"0d02:00:00.000 ({wanted_us} us), or after "
    )
    assert late.json()["error"].startswith(sentence)
    for body in ({}, {"until_us": 5, "for_s": 1}):
        answer = client.request("PUT", "/v1/clock/run", json=body)
        assert "until_us, for_s: must be given, exactly one of them" in answer.json()["error"]
    twin.close()


def test_the_clock_shows_whether_its_last_run_was_interrupted(tmp_path: Path) -> None:
    """Every other change of pause or target interrupts a run; a change of the speed does not."""
    twin = DrivenTwin(tmp_path, ["pod.cubes=4"])
    client = twin.client()
    changes: list[tuple[str, str, dict[str, object] | None, bool]] = [
        ("PUT", "/v1/clock/speed", {"speed": 5}, True),
        ("POST", "/v1/clock/pause", None, False),
        ("POST", "/v1/clock/resume", None, False),
        ("PUT", "/v1/clock", {"paused": True}, False),
        ("PUT", "/v1/clock/run", {"for_s": 10, "speed": 0.001}, False),
    ]
    for method, path, body, goes_on in changes:
        run = client.request("PUT", "/v1/clock/run", json={"for_s": 7_200, "speed": 0.001}).json()
        wanted_us = run["until_us"]
        assert run["run_until_us"] == wanted_us
        shown = client.request(method, path, json=body).json()
        assert (shown["run_until_us"] == wanted_us) == goes_on, path
        assert client.get("/v1/clock").json()["run_until_us"] == shown["run_until_us"]
    twin.close()
