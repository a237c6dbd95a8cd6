"""`lightwave live init` on a real Kafka and a real Redis: it is killed midway and run again."""

import uuid
from collections.abc import Sequence

import pytest

from ops.live.init import NewTwin, init_twin
from ops.live.rebuild import rebuild_twin
from ops.live.settings import LiveSettings
from ops.servers.local_servers import LocalKafka
from ops.sites.site_plans import NewTwinOptions
from shared.basics.errors import InvalidInput, OperationFailed
from shared.runtimes.live.kafka.appender import Entry, KafkaAppender
from shared.runtimes.live.live_clock import read_epoch

PODS = ["pod-0", "pod-1", "pod-2"]


class Killed(BaseException):
    """Raised in place of a kill."""


def new(pods: int, *, keep: bool = False, partitions: int | None = 2) -> NewTwin:
    options = NewTwinOptions(pods=pods)
    return NewTwin(options.sites(), options, partitions=partitions, speed=60.0, keep=keep)


def test_a_killed_init_is_completed_and_never_yields_a_smaller_twin(
    kafka: LocalKafka, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = LiveSettings(kafka=kafka.bootstrap, redis=redis_url, prefix=f"t{uuid.uuid4().hex[:8]}")
    append = KafkaAppender.append

    async def dies(self: KafkaAppender, partition: int, entries: Sequence[Entry]) -> list[int]:
        await append(self, partition, entries[:1])
        raise Killed

    monkeypatch.setattr(KafkaAppender, "append", dies)
    with pytest.raises(Killed):
        init_twin(settings, new(3))
    monkeypatch.undo()
    with pytest.raises(
        OperationFailed, match="incomplete: pod-1, pod-2 were planned but are not on the log; `lig"
    ):
        rebuild_twin(settings, lambda _: None, jobs=1)
    with pytest.raises(
        InvalidInput, match="--pods 2: the twin has 3 sites: pod-0, pod-1, pod-2; its creation has begun"
    ):
        init_twin(settings, new(2, keep=True))
    first = init_twin(settings, new(3, keep=True))
    assert (first["fabrics"], first["kept"]) == (PODS, False)
    again = init_twin(settings, new(3, keep=True))
    assert (again["twin"], again["fabrics"], again["kept"]) == (first["twin"], PODS, True)
    store = settings.store()
    epoch = read_epoch(store)
    assert epoch is not None
    assert (epoch.speed, epoch.paused) == (60.0, False)
    with pytest.raises(InvalidInput, match=r"^--pods 4: the twin has 3 sites: .*; omit the option$"):
        init_twin(settings, new(4, keep=True))
    with pytest.raises(InvalidInput, match="--partitions 7: the twin was planned with 2; omit the option"):
        init_twin(settings, new(3, keep=True, partitions=7))
    with pytest.raises(OperationFailed, match="already holds a live twin"):
        init_twin(settings, new(3))
    assert rebuild_twin(settings, lambda _: None, jobs=1)["fabrics"] == PODS
    store.close()
