"""Group `live`: the live twin on its own Kafka and Redis on this machine."""

import asyncio
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ops.servers.local_servers import LocalKafka, LocalRedis
from ops.sites.configuration import superpod_config
from schemas.registry import decode
from services.fabric_kinds import services_of
from shared.basics.errors import OperationFailed
from shared.basics.units import US_PER_DAY, US_PER_S
from shared.runtimes.lab import Lab
from shared.runtimes.live.kafka.appender import Entry, KafkaAppender
from shared.runtimes.live.kafka.records import output_headers
from shared.runtimes.live.process.process_registry import processes
from shared.runtimes.live.sequencer.partition_sequencer import root_entry
from shared.runtimes.live.twin_record import TwinRecord, read_twin
from shared.runtimes.poll import poll_until
from shared.runtimes.tcp_ports import free_port
from tests.soak.whole_twin import TwinOptions, WholeTwin
from tools.bench.figure import BenchFigure

WARM_S = 10.0
CHUNK = 200
BACKLOG_S_MAX = 180.0


def measure_live(quick: bool) -> list[BenchFigure]:
    """Measure speed, hop and memory of one pod and of four, then how fast one worker reads a backlog."""
    found: list[BenchFigure] = []
    for pods in (1, 4):
        with _servers() as (folder, kafka, redis):
            found += _speed(WholeTwin(folder / "twin", kafka, redis, _options(pods)), pods, quick)
    with _servers() as (folder, kafka, redis):
        found += _backlog(WholeTwin(folder / "twin", kafka, redis, _options(1)), quick)
    return found


def _options(pods: int) -> TwinOptions:
    return TwinOptions(pods=pods, seed=7, speed=1e6, partitions=4, prefix="bench", doubled=())


@contextmanager
def _servers() -> Iterator[tuple[Path, LocalKafka, LocalRedis]]:
    with tempfile.TemporaryDirectory(prefix="lightwave-bench-") as scratch:
        folder = Path(scratch)
        kafka = LocalKafka(folder / "kafka", "127.0.0.1", free_port())
        redis = LocalRedis(folder / "redis", "127.0.0.1", free_port())
        try:
            yield folder, kafka, redis
        finally:
            redis.stop()
            kafka.stop()


# --- speed --------------------------------------------------------------------------------------------------


def _speed(twin: WholeTwin, pods: int, quick: bool) -> list[BenchFigure]:
    seconds = 10.0 if quick else 30.0
    try:
        twin.start()
        time.sleep(WARM_S)
        began_s, now_us, appends = time.monotonic(), _reached_us(twin), _appends(twin)
        time.sleep(seconds)
        wall_s = time.monotonic() - began_s
        speed = (_reached_us(twin) - now_us) / US_PER_S / wall_s
        hops = (_appends(twin) - appends) / pods
        memory = {name: _memory_mb(pid) for name, pid in _pids(twin).items()}
    finally:
        twin.stop()
    how = f"simulated over wall time during {seconds:g} s at full speed, after {WARM_S:g} s"
    goal = "aiming at × 3,000" if pods == 1 else "-"
    found = [BenchFigure(f"live speed, {pods} pod(s)", round(speed), "×", goal, how)]
    hop = f"the same {seconds:g} s over the appends of one partition: write, read by all, commit, wake"
    found.append(
        BenchFigure(f"live hop, {pods} pod(s)", round(1_000 * wall_s / max(hops, 1), 1), "ms", "-", hop)
    )
    if pods == 1:
        rss = "resident memory after the run"
        for name in ("ocs-a", "transceivers-a", "sequencer", "gateway", "kafka", "redis"):
            found.append(BenchFigure(f"live memory, {name.removesuffix('-a')}", memory[name], "MB", "-", rss))
    return found


def _reached_us(twin: WholeTwin) -> int:
    """Return the simulated time of the slowest fabric."""
    times = []
    for partition in {place.partition for place in twin.store.fabrics().values()}:
        times.append(max(row.now_us for row in twin.store.progress(partition).values()))
    return min(times)


def _appends(twin: WholeTwin) -> int:
    row = next(row for row in processes(twin.store) if row["kind"] == "sequencer")
    return int(row["extra"]["appends"])


def _pids(twin: WholeTwin) -> dict[str, int]:
    pids = {name: pid for name, pid in twin.supervisor.pids().items() if pid is not None}
    servers = {"kafka": twin.kafka.pid, "redis": twin.redis.pid}
    return pids | {name: pid for name, pid in servers.items() if pid is not None}


def _memory_mb(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return round(int(line.split()[1]) / 1_024)
    raise OperationFailed(f"process {pid}: the system does not report its memory")


# --- backlog ------------------------------------------------------------------------------------------------


def _backlog(twin: WholeTwin, quick: bool) -> list[BenchFigure]:
    """Put a log of the lab on Kafka, then let one worker after the other read all of it."""
    days = 5.0 if quick else 30.0
    try:
        twin.kafka.start(wait=False)
        twin.redis.start()
        twin.kafka.wait_ready()
        twin.run("live", "init", "--paused", "--partitions", "1", "--seed", "7")
        count = asyncio.run(_fill(twin, read_twin(twin.store), days))
        rates = {name: _rate(twin, name, count) for name in ("cubes", "scheduler")}
    finally:
        twin.stop()
    how = f"one worker alone reads {count:,} messages ({days:g} pod-days) that are on Kafka already"
    return [
        BenchFigure(f"live backlog, {name}", round(rate), "1/s", "aiming at 5,000", how)
        for name, rate in rates.items()
    ]


async def _fill(twin: WholeTwin, note: TwinRecord, days: float) -> int:
    """Append a lab's messages after the first, in order. Return the end of the log."""
    lines: list[bytes] = []
    lab = Lab(
        "pod-0",
        {"pod-0": superpod_config([], seed=7)},
        services_of,
        lambda data: lines.extend(data.splitlines()),
    )
    lab.run(round(days * US_PER_DAY))
    appender = KafkaAppender(twin.kafka.brokers, twin.topics)
    entries: list[Entry] = []
    for offset, line in enumerate(lines):
        message = decode(line)
        if message.cause is None:
            entries.append(root_entry(message.fabric, message, note.twin, offset=offset, quiet=offset))
        else:
            headers = output_headers(message.type, message.source, note.twin)
            entries.append(Entry(message.fabric, line, headers))
    try:
        for start in range(1, len(entries), CHUNK):
            await appender.append(0, entries[start : start + CHUNK])
    finally:
        await appender.close()
    return len(entries)


def _rate(twin: WholeTwin, service: str, end: int) -> float:
    """Return the messages per second between the first and the last observed commit."""
    twin.start_worker(f"{service}-a")
    try:
        first = _until(twin, service, 1)
        last = _until(twin, service, end)
    finally:
        twin.supervisor.drop(f"{service}-a")
    return (last[1] - first[1]) / (last[0] - first[0])


def _until(twin: WholeTwin, service: str, position: int) -> tuple[float, int]:
    """Return (wall time, position) when the service has reached this position."""

    def come() -> int | None:
        found = twin.store.positions(0).get(service, 0)
        return found if found >= position else None

    found = poll_until(come, BACKLOG_S_MAX)
    if found is not None:
        return time.monotonic(), found
    raise OperationFailed(f"{service}: not at {position} after {BACKLOG_S_MAX:.0f} s: {twin.words()}")
