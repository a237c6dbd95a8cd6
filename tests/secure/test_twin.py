"""A whole live twin over TLS, with logins, and only the rights that docs/how-to/secure.md grants."""

from collections.abc import Iterator

import pytest

from tests.secure.conftest import PREFIX
from tests.secure.servers import SecureKafka, SecureRedis
from tests.soak.whole_twin import TwinOptions
from tests.support.live_twin import BUSY, LiveTwin

OPTIONS = TwinOptions(pods=2, seed=7, speed=600.0, settings=BUSY, partitions=2, prefix=PREFIX, doubled=())


@pytest.fixture(scope="module")
def twin(
    tmp_path_factory: pytest.TempPathFactory, kafka: SecureKafka, redis: SecureRedis
) -> Iterator[LiveTwin]:
    twin = LiveTwin(tmp_path_factory.mktemp("twin"), kafka, redis, OPTIONS)
    try:
        twin.start()
        yield twin
    finally:
        twin.stop()


def test_the_twin_runs(twin: LiveTwin) -> None:
    twin.wait_advance()
    assert twin.post("/v1/cubes/pod-1/cube-3/drain")["status"] == "accepted"
    twin.wait_for("no problems are left", lambda: twin.get("/healthz")["problems"] == [])
    assert twin.status()["problems"] == []
    assert twin.get("/v1/events?limit=5")
    assert twin.audit()["clean"] is True


def test_a_foreign_message_is_a_dead_letter(twin: LiveTwin) -> None:
    twin.write(0, [(b"no message", {})])
    (row,) = twin.wait_for("the message is a dead letter", twin.dead_letters)
    assert row["line"] == "no message"


def test_every_state_is_rebuilt(twin: LiveTwin) -> None:
    with twin.paused():
        before = twin.digest()
        twin.json("live", "rebuild")
        assert twin.digest() == before
    twin.wait_advance()
    assert twin.audit()["clean"] is True


def test_nothing_was_refused(twin: LiveTwin, redis: SecureRedis) -> None:
    """A missing right would show in the log of a process."""
    for name in [*twin.workers, "sequencer", "gateway"]:
        log = twin.process_log(name)
        assert "may not" not in log, name
        assert "no permissions" not in log, name
    assert redis.refused() == {}
