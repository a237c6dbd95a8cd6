"""The historian of a live twin. Queries about the past use its snapshots, and it reports differences between
Redis or the log and the fold."""

import json
import signal
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
import redis

from ops.local.software_version import software_version
from ops.servers.local_servers import LocalKafka
from services.fabric_kinds import services_of
from shared.runtimes.live.process.process_registry import processes
from shared.runtimes.live.twin_record import read_twin
from shared.storage.log.offset_file import OffsetFile
from shared.storage.snapshots.site_history import SiteHistory
from shared.storage.snapshots.snapshot_folder import SnapshotFolder
from shared.storage.store.redis_layout import state_key
from tests.soak.final_state import is_quiet
from tests.soak.whole_twin import HISTORIAN, TwinOptions
from tests.support.live_twin import BUSY, LiveTwin, live_twin
from tests.unit.storage.test_snapshots import Recorded

pytestmark = pytest.mark.slow("starts a live twin of its own with a historian, and rebuilds it twice")

SPEED = 3_000.0
OPTIONS = TwinOptions(
    pods=2,
    seed=7,
    speed=SPEED,
    settings=BUSY,
    partitions=2,
    prefix="historian",
    doubled=(),
    historian=True,
)
PODS = ("pod-0", "pod-1")
BY_THE_CLOCK = {"ran_us", "waited_us"}
FOUND_S_MAX = 180.0
"""Time to find a difference. docs/explanation/snapshots.md promises a minute on a free core; here tests share
two cores."""


@pytest.fixture(scope="module")
def twin(tmp_path_factory: pytest.TempPathFactory, kafka: LocalKafka) -> Iterator[LiveTwin]:
    with live_twin(tmp_path_factory.mktemp("live"), kafka, OPTIONS) as twin:
        yield twin


def probe(twin: LiveTwin, path: str) -> str:
    """Return the answer of the historian's probe."""
    (row,) = [row for row in processes(twin.store) if row["name"] == HISTORIAN]
    try:
        with urllib.request.urlopen(f"{row['address']}{path}", timeout=10) as answer:
            return str(answer.read().decode())
    except urllib.error.HTTPError as error:
        return error.read().decode()


def problems(twin: LiveTwin) -> list[str]:
    reported: list[str] = json.loads(probe(twin, "/healthz"))["problems"]
    return reported


def gateway_problems(twin: LiveTwin) -> list[str]:
    try:
        twin.get("/healthz")
    except urllib.error.HTTPError as error:
        reported: list[str] = json.loads(error.read())["problems"]
        return reported
    return []


def metric(twin: LiveTwin, name: str) -> float:
    lines = probe(twin, "/metrics").splitlines()
    (value,) = [line.split()[-1] for line in lines if line.startswith(f"lightwave_historian_{name} ")]
    return float(value)


def wait_compared(twin: LiveTwin) -> None:
    """Wait until every state was compared twice more."""
    before = metric(twin, "compared_total")
    twin.wait_for("states are compared", lambda: metric(twin, "compared_total") > before + 60)


def keep_snapshot(twin: LiveTwin, site: str) -> None:
    """Store a snapshot of half of a site's log, as the historian does at intervals."""
    log_copy = twin.data_of("gateway") / "historian" / read_twin(twin.store).twin / "log"
    lines = Recorded((log_copy / f"{site}.jsonl").read_bytes().splitlines())
    snapshots = SnapshotFolder(
        twin.folder / "snapshots" / read_twin(twin.store).twin / site, site, software_version()
    )
    site_then = SiteHistory(lines, snapshots, services_of).at(lines.end // 2)
    offsets = OffsetFile(log_copy / f"{site}.offsets")
    snapshots.put(site_then.snapshot(software_version(), offsets.at(site_then.position - 1) + 1))
    offsets.close()


def objects_of(twin: LiveTwin, fabric: str, at: str = "") -> list[Any]:
    """Return the objects, without fields that depend on the clock, because a site can be slightly ahead of
    it."""
    kinds = ("cubes", "slices", "ocs", "links", "faults")
    answers = [twin.get(f"/v1/{kind}?fabric={fabric}&limit=100{at}") for kind in kinds]
    return [[{name: row[name] for name in row.keys() - BY_THE_CLOCK} for row in rows] for rows in answers]


def furthest(twin: LiveTwin) -> tuple[int, str]:
    """Return the simulated time and name of the fabric that is ahead of the others. Each is in its own
    site."""
    partitions = {place.partition for place in twin.store.fabrics().values()}
    rows = [row for number in partitions for row in twin.store.progress(number).values()]
    return max((row.now_us, row.fabric) for row in rows)


def test_it_finds_no_differences_while_the_twin_runs(twin: LiveTwin) -> None:
    twin.wait_for("no problems are left", lambda: problems(twin) == [])
    twin.wait_advance()
    wait_compared(twin)
    assert problems(twin) == []
    assert metric(twin, "state_differences_total") == metric(twin, "log_differences_total") == 0


def test_queries_about_the_past_repeat_the_earlier_answers(twin: LiveTwin) -> None:
    with twin.paused():
        at_us, fabric = furthest(twin)
        past = objects_of(twin, fabric)
    twin.wait_for("the clock has reached that time", lambda: twin.get("/v1/clock")["now_us"] > at_us)
    assert objects_of(twin, fabric, f"&at={at_us}us") == past
    rows = twin.json("get", "cubes", "--at", f"{at_us}us", "--fabric", fabric)
    assert rows == past[0]


def test_a_bisect_includes_the_part_of_a_site_that_is_ahead_of_the_clock(twin: LiveTwin) -> None:
    twin.post("/v1/cubes/pod-1/cube-5/drain")
    drains = ("bisect", "cubes.pod-1/cube-5.drained == true")
    twin.wait_for("the outcome is on the log", lambda: twin.run(*drains).returncode == 0)
    (transition,) = twin.json(*drains)["transitions"]
    at = quote(transition["message"]["id"], safe="")
    assert twin.get(f"/v1/cubes/pod-1/cube-5?at={at}")["drained"] is True
    with twin.paused():
        newest = twin.get("/v1/events?fabric=pod-1&limit=1")[-1]
        result = twin.json(*drains, "--from", newest["id"])
        assert (result["held_at_start"], result["from_us"]) == (True, newest["at_us"])


def test_a_killed_or_paused_historian_delays_no_other_process_and_continues(twin: LiveTwin) -> None:
    twin.wait_for("no problems are left", lambda: problems(twin) == [])
    with twin.paused():
        at_us, fabric = furthest(twin)
        past = objects_of(twin, fabric)
    twin.wait_for("the clock has reached that time", lambda: twin.get("/v1/clock")["now_us"] > at_us)
    stopped = twin.supervisor.send_signal(HISTORIAN, signal.SIGSTOP)
    assert stopped is not None
    try:
        twin.wait_advance()
        assert objects_of(twin, fabric, f"&at={at_us}us") == past
    finally:
        twin.supervisor.resume(stopped)
    twin.supervisor.drop(HISTORIAN, signal.SIGKILL)
    twin.wait_advance()
    assert objects_of(twin, fabric, f"&at={at_us}us") == past
    twin.start_process(HISTORIAN)
    twin.wait_for("the historian compares again", lambda: metric(twin, "compared_total") > 60)
    assert problems(twin) == []
    assert metric(twin, "state_differences_total") == metric(twin, "log_differences_total") == 0


def test_parameters_change_in_the_states_of_all_workers(twin: LiveTwin) -> None:
    """The change also applies in workers that start later."""
    before = twin.get("/v1/config/pod-0")["failures"]["host_per_day"]
    done = twin.run("set", "pod-0", f"failures.host_per_day={before + 0.1}", "repairs.technicians=3")
    assert done.returncode == 0, done.stderr
    for name in [name for name, service in twin.workers.items() if service in ("failures", "repairs")]:
        twin.supervisor.drop(name, signal.SIGKILL)
        twin.start_worker(name)
    twin.wait_advance()
    changed = twin.get("/v1/config/pod-0")
    assert changed["failures"]["host_per_day"] == before + 0.1
    assert changed["repairs"]["technicians"] == 3
    assert twin.get("/v1/config/pod-1")["failures"]["host_per_day"] == before
    assert twin.run("set", "pod-0", f"failures.host_per_day={before}").returncode == 0
    wait_compared(twin)
    assert problems(twin) == []


def test_an_emptied_redis_is_rebuilt_from_snapshots_and_from_the_log_alone(twin: LiveTwin) -> None:
    speed = twin.clock.show().speed
    with twin.paused():
        wait_compared(twin)  # its copy of the log is then complete
        for site in PODS:
            keep_snapshot(twin, site)
        before = twin.digest()
        for words in ((), ("--all",)):
            twin.store.flush()
            done = twin.run("live", "rebuild", *words)
            assert done.returncode == 0, done.stderr
            assert before in done.stdout
            assert ("from the snapshots of pod-0 (position " in done.stderr) == (not words)
        twin.wait_for("all services have read everything", lambda: is_quiet(twin))
        assert twin.digest() == before
    assert twin.clock.show().speed == speed
    wait_compared(twin)
    assert problems(twin) == []


def test_a_flipped_byte_in_redis_is_reported(twin: LiveTwin) -> None:
    twin.wait_for("no problems are left", lambda: problems(twin) == [])
    partition = twin.store.fabrics()["pod-1"].partition
    key = state_key(partition, "cubes", "pod-1")
    with redis.Redis.from_url(twin.redis.url) as client:
        field = b"config"  # a field that the service does not rewrite, which would repair it
        value = bytearray(client.hget(key, field) or b"")
        value[-2] ^= 1
        client.hset(key, field, bytes(value))
    (sentence,) = twin.wait_for("the historian reports it", lambda: problems(twin), FOUND_S_MAX)
    assert sentence.startswith(f"cubes@pod-1: {field.decode()} in Redis differs from the fold of the log at")
    assert f"of partition {partition}" in sentence
    assert metric(twin, "states_wrong") == 1
    problem = f"{HISTORIAN}: {sentence}"
    twin.wait_for("all processes report it", lambda: problem in twin.status()["problems"], FOUND_S_MAX)
    twin.wait_for("the gateway reports it", lambda: problem in gateway_problems(twin), FOUND_S_MAX)
    assert twin.process_log(HISTORIAN).count(f"cubes@pod-1: {field.decode()} in Redis differs") == 1
    value[-2] ^= 1
    with redis.Redis.from_url(twin.redis.url) as client:
        client.hset(key, field, bytes(value))
    twin.wait_for("no problems are left again", lambda: problems(twin) == [], FOUND_S_MAX)
