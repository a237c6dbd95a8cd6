"""If the consequences of a request arrive one by one, the answer waits until all of them are on the log."""

import asyncio
from collections.abc import Iterator

import pytest

from schemas.api.rows import TwinInfo
from schemas.body import Body
from schemas.config.pods import SuperpodConfig
from schemas.envelope import Envelope, enclose
from schemas.messages.cubes import CubeDrained, CubeUnhealthy
from schemas.messages.operator import DrainCube
from services.fabric_kinds import fabric_views, services_of
from services.gateway.requests.operator_requests import RequestTerms, submit
from services.gateway.runtime_ports import TwinPorts
from services.what_if.queries import WhatIfQueries
from shared.runtimes.embedded.embedded_clock import EmbeddedClock
from shared.storage.inbox.request_inbox import InboxReceipt
from shared.storage.log.log_reader import LineFilter, LogQuery
from shared.storage.store.memory_store import MemoryStore
from shared.storage.store.state_copies import StateCopies
from tests.support.memory_operations import MemoryOperations
from tests.support.pods import OPERATOR, pod_place

BODY = DrainCube(cube="pod-0/cube-1")


def message(body: Body, source: str, seq: int, cause: str | None) -> Envelope:
    return enclose(body, fabric="pod-0", at_us=seq, cause=cause, source=source, seq=seq)


class GrowingLog:
    """A log with one more message at every second read."""

    def __init__(self) -> None:
        self.messages: list[Envelope] = []
        self._looks = 0

    @property
    def visible(self) -> int:
        self._looks += 1
        return min(len(self.messages), self._looks // 2)

    def end(self, fabric: str) -> int:
        return self.visible

    def position_at(self, fabric: str, at_us: int) -> int:
        raise AssertionError("no caller looks up a time")

    def position_of(self, fabric: str, message_id: str) -> int | None:
        return None

    def read(
        self, fabric: str, start: int, most: int | None = None, line_filter: LineFilter | None = None
    ) -> Iterator[tuple[int, Envelope]]:
        assert (most, line_filter) == (None, None), "the complete rest is requested"
        yield from list(enumerate(self.messages[: self.visible]))[start:]

    def find(
        self, site: str, query: LogQuery, most: int, *, newest: bool = False
    ) -> list[tuple[int, Envelope]]:
        raise AssertionError("no caller searches")

    def count(self, site: str, query: LogQuery) -> int:
        raise AssertionError("no caller counts")


class Store(MemoryStore):
    """Appends the consequences to the log at the first request."""

    def __init__(self, log: GrowingLog, *, tick: bool) -> None:
        super().__init__(number=iter(range(7, 99)).__next__)
        self.place("pod-0", pod_place())
        self._log = log
        self._tick = tick

    def put(self, partition: int, fabric: str, body: Body) -> InboxReceipt:
        received = super().put(partition, fabric, body)
        request = message(BODY, OPERATOR, received.number, None)
        first = message(CubeDrained(cube=1), "cubes@pod-0", 1, request.id)
        last = message(CubeUnhealthy(cube=1, reasons=("drained",)), "cubes@pod-0", 2, first.id)
        self._log.messages = [request, first, last]
        if self._tick:
            self._log.messages.append(message(BODY, OPERATOR, received.number + 1, None))
        return received


@pytest.mark.parametrize("tick", [True, False], ids=["until the next root message", "until it is quiet"])
def test_the_answer_contains_all_consequences(tick: bool) -> None:
    log = GrowingLog()
    store = Store(log, tick=tick)
    twin = TwinPorts(
        about=TwinInfo(runtime="embedded", version="1.0", place="/twin"),
        documents=store,
        inbox=store,
        log=log,
        clock=EmbeddedClock(speed=1.0, paused=True),
        config=lambda _: SuperpodConfig(),
        site=lambda fabric: fabric,
        operations=MemoryOperations(),
        health=list,
        unready=list,
        runtime_metrics=dict,
        telemetry=lambda _: None,
        dead_letters=list,
        claim=lambda _fabric, site: site,
        is_quiet=lambda _: not tick and log.visible == 3,
        queries=WhatIfQueries(StateCopies(store, services_of)),
        views=fabric_views(),
    )
    receipt = asyncio.run(submit(twin, "pod-0", BODY, RequestTerms(wait_s=5.0)))
    assert (receipt.status, receipt.complete) == ("accepted", True)
    assert [message.type for message in receipt.outcome] == ["CubeDrained", "CubeUnhealthy"]
