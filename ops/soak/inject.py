"""Faults carried out on the processes of a whole twin, and ended again."""

import signal
import time
from collections.abc import Callable, Sequence
from functools import partial
from heapq import heapify, heappop, heappush
from pathlib import Path

from kafka.admin import ConfigResource, ConfigResourceType, KafkaAdminClient
from kafka.errors import KafkaError

from ops.soak.meter import Meter, Struck
from ops.soak.plan import Fault
from ops.soak.twin import SECOND, WholeTwin
from shared.basics.errors import OperationFailed
from shared.runtimes.live.kafka.brokers import Brokers
from shared.runtimes.live.kafka.topics import MESSAGE_BYTES_MAX
from shared.runtimes.local_server import LocalServer

APPEND_ONLY = "appendonlydir/*.incr.aof"
CUT_SHARE_MAX = 0.5
"""Of the append-only file, at most: the twin's own note stands at its beginning."""
ADMIN_S_MAX = 60.0

End = Callable[[], None]


class Injector:
    """`rollbacks` are the spans, by a clock that only moves on, in which Redis may have forgotten something:
    one that was cut short, and one that was killed, for it writes to its file a moment after it answered.
    """

    def __init__(self, twin: WholeTwin) -> None:
        self.rollbacks: list[tuple[float, float]] = []
        self.cuts: list[int] = []
        self._twin = twin

    def gateway_pid(self) -> int | None:
        return self._twin.supervisor.pids().get("gateway")

    def begin(self, fault: Fault) -> End:
        """Strike; returns what ends the fault, to be called `lasts_s` later."""
        if fault.target.kind == "kafka":
            return self._strike_kafka(fault)
        if fault.target.kind == "redis":
            return self._strike_redis(fault)
        if fault.action == "double":
            self._twin.start_sequencer(SECOND)
            return lambda: self._twin.supervisor.drop(SECOND)
        return self._strike_process(fault)

    def _strike_process(self, fault: Fault) -> End:
        signs = {"kill": signal.SIGKILL, "restart": signal.SIGTERM, "pause": signal.SIGSTOP}
        supervisor = self._twin.supervisor
        pid = supervisor.send_signal(fault.target.name, signs[fault.action])
        if fault.action == "pause" and pid is not None:
            return lambda: supervisor.resume(pid)
        return _nothing

    def _strike_kafka(self, fault: Fault) -> End:
        kafka = self._twin.kafka
        if fault.action == "refuse writes":
            refuse_writes(kafka.brokers, self._twin.topics.log, refuse=True)
            return lambda: refuse_writes(kafka.brokers, self._twin.topics.log, refuse=False)
        return _strike_server(kafka, fault)

    def _strike_redis(self, fault: Fault) -> End:
        redis = self._twin.redis
        if fault.action in ("pause", "restart"):
            return _strike_server(redis, fault)
        begun_s = time.monotonic()
        redis.kill()
        if fault.action == "roll back":
            self.cuts.append(cut_short(redis.folder, fault.cut_bytes))

        def end() -> None:
            redis.start(wait=False)
            self.rollbacks.append((begun_s, time.monotonic()))

        return end


def _strike_server(server: LocalServer, fault: Fault) -> End:
    if fault.action == "pause":
        server.pause()
        return server.resume
    if fault.action == "kill":
        server.kill()
    else:
        server.stop()
    return partial(server.start, wait=False)


def cut_short(folder: Path, cut_bytes: int) -> int:
    """Cut the end off the append-only file of a Redis that does not run; how many bytes were cut."""
    files = sorted(folder.glob(APPEND_ONLY), key=lambda path: int(path.name.split(".")[-3]))
    if not files:
        raise OperationFailed(f"Redis in {folder}: has no append-only file")
    size = files[-1].stat().st_size
    cut = min(cut_bytes, int(CUT_SHARE_MAX * size))
    with files[-1].open("r+b") as file:
        file.truncate(size - cut)
    return cut


def refuse_writes(brokers: Brokers, topic: str, *, refuse: bool) -> None:
    """Let every record be too large for a topic; or let it take what it took before."""
    most = "1" if refuse else str(MESSAGE_BYTES_MAX)
    change = ConfigResource(ConfigResourceType.TOPIC, topic, configs={"max.message.bytes": most})
    until_s = time.monotonic() + ADMIN_S_MAX
    while True:
        try:
            admin = KafkaAdminClient(**brokers.arguments())
            try:
                admin.alter_configs([change])
            finally:
                admin.close()
        except (KafkaError, OSError, AssertionError):
            if time.monotonic() > until_s:
                raise
            time.sleep(0.5)
        else:
            return


def _nothing() -> None:
    return


def strike(
    plan: Sequence[Fault],
    injector: Injector,
    meter: Meter,
    wait: Callable[[float], None],
    say: Callable[[str], None],
) -> None:
    """Carry out a plan, each fault and its end at its time; faults are numbered as they stand in it. `wait`
    waits so many seconds, and may raise."""
    began_s = time.monotonic()
    times = [(fault.at_s, fault.number, "begin") for fault in plan]
    heapify(times)
    running: dict[int, tuple[Struck, End]] = {}
    while times:
        at_s, number, what = heappop(times)
        wait(max(0.0, began_s + at_s - time.monotonic()))
        if what == "begin":
            fault = plan[number]
            say(f"{at_s:6.1f} s  {describe(fault)}")
            struck = meter.begin(fault, injector.gateway_pid())
            running[number] = (struck, injector.begin(fault))
            heappush(times, (at_s + fault.lasts_s, number, "end"))
        else:
            struck, end = running.pop(number)
            end()
            meter.end(struck)


def describe(fault: Fault) -> str:
    """A fault in a few words."""
    lasts = f" for {fault.lasts_s:.1f} s" if fault.lasts_s else ""
    what = {"double": "start a second", "refuse writes": "refuse writes by"}.get(fault.action, fault.action)
    return f"{what} {fault.target.name}{lasts}"
