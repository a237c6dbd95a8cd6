"""The sites of a twin in one process: an interrupted creation is completed, wherever the crash occurred."""

import contextlib
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import redis

from ops.sites.configuration import config_from_pairs
from ops.twin.data_folder import IDENTITY_FILE, DataFolder, TwinIdentity
from ops.twin.folder_audit import run_audit
from ops.twin.redis_owner import OWNER_KEY
from ops.twin.up import EmbeddedTwinProcess, UpOptions, run_up
from schemas.files.site_plan import SitePlan
from schemas.messages.operator import DrainCube, InjectFault
from schemas.registry import encode
from shared.basics.errors import LogDamaged, NotFound, StoreDamaged, StoreUnreachable
from shared.engine.message_order import Request, request_message
from shared.runtimes.embedded.valkey_server import EmbeddedValkey
from shared.storage.store.redis_layout import shared_key_types
from shared.storage.store.state_store import FabricPlace
from tests.support.gateway_twin import QUIET
from tests.support.pods import with_key

PLAN = SitePlan(
    site="campus",
    fabrics={
        "pod-0": config_from_pairs("superpod", ["pod.cubes=4", *QUIET], seed=3),
        "pod-1": config_from_pairs("static-pod", QUIET, seed=4),
        "pod-2": config_from_pairs("superpod", ["pod.cubes=8", *QUIET], seed=5),
    },
)
OTHER = SitePlan(
    site="campus",
    fabrics={"pod-9": config_from_pairs("superpod", ["pod.cubes=8", *QUIET], seed=6)}
    | {name: config.model_copy(update={"seed": 7}) for name, config in PLAN.fabrics.items()},
)
"""The plan of another twin with the same site name."""
PLACES = {name: FabricPlace(0, "campus", config.kind) for name, config in PLAN.fabrics.items()}


@contextlib.contextmanager
def running(folder: Path, *, rebuild: bool = False, plan: SitePlan = PLAN) -> Iterator[EmbeddedTwinProcess]:
    with contextlib.ExitStack() as stack:
        options = UpOptions(data=folder, rebuild=rebuild)
        identity = TwinIdentity(sites=(plan,))
        folder.mkdir(exist_ok=True)
        (folder / IDENTITY_FILE).write_text(identity.model_dump_json())
        yield EmbeddedTwinProcess(DataFolder(folder), identity, options, stack)


@pytest.mark.parametrize(
    ("lines", "store_lost"), [(0, True), (1, True), (2, True), (3, True), (3, False)]
)  # messages that are not on the log were never committed
def test_an_interrupted_creation_of_a_site_is_completed(tmp_path: Path, lines: int, store_lost: bool) -> None:
    log = tmp_path / "log" / "campus.jsonl"
    with running(tmp_path) as twin:
        whole, digest = log.read_bytes(), twin.sites[0].digest()
    if store_lost:
        shutil.rmtree(tmp_path / "redis")
    log.write_bytes(b"".join(whole.splitlines(keepends=True)[:lines]))
    with running(tmp_path) as twin:
        assert log.read_bytes() == whole
        assert twin.places == PLACES == twin.store.fabrics()
        assert twin.sites[0].digest() == digest


def test_a_twin_with_lost_telemetry_frames_is_unhealthy(tmp_path: Path) -> None:
    with running(tmp_path) as twin:
        ports = twin._ports()
        assert (ports.health(), ports.runtime_metrics()["telemetry_frames_lost_total"]) == ([], 0)
        (tmp_path / "telemetry").write_text("in its place")
        twin.telemetry.keep("pod-0", 7, b"frame")
        (problem,) = ports.health()
        assert problem.endswith("Not a directory; telemetry frames are lost until writes succeed")
        assert ports.runtime_metrics()["telemetry_frames_lost_total"] == 1


def test_a_rebuild_restores_the_placement_of_fabrics(tmp_path: Path) -> None:
    with running(tmp_path) as twin:
        digest = twin.sites[0].digest()
        twin.store.forget_fabrics()
    with running(tmp_path, rebuild=True) as twin:
        assert twin.places == PLACES == twin.store.fabrics()
        assert twin.sites[0].digest() == digest


WRONG = {
    **shared_key_types(1),
    OWNER_KEY: b"hash",
    **{f"lightwave:{{0}}:{part}": b"hash" for part in ("progress", "outbox", "dead", "noted")},
    "lightwave:{0}:state:ocs@pod-0": b"hash",
    "lightwave:{0}:docs:pod-0:cubes": b"hash",
}
"""Key → its type. All keys that a start reads."""


@pytest.mark.parametrize("rebuild", [False, True])
@pytest.mark.parametrize("key", WRONG)
def test_a_key_of_another_type_stops_no_start(tmp_path: Path, key: str, rebuild: bool) -> None:
    drain = with_key("drain", DrainCube(cube="pod-0/cube-1"))
    with running(tmp_path) as twin:
        twin.store.put(0, "pod-0", drain)
        digest = twin.sites[0].digest()
        with redis.Redis.from_url(twin.store_url) as client:
            client.delete(key)
            client.sadd(key, "x")
    with running(tmp_path, rebuild=rebuild) as twin:
        assert twin.places == PLACES == twin.store.fabrics()
        assert twin.sites[0].digest() == digest
        assert len(twin.store.waiting(0, 10)) <= 1
        with redis.Redis.from_url(twin.store_url) as client:
            assert client.type(key) in (WRONG[key], b"none")
        assert twin.store.put(0, "pod-0", with_key("other", DrainCube(cube="pod-0/cube-2"))).number > 0


@pytest.mark.parametrize(("name", "row"), [(b"x", b"junk"), (b"\xff", b"0 campus superpod"), (b"pod-0", b"")])
def test_foreign_rows_of_fabrics_stop_no_start(tmp_path: Path, name: bytes, row: bytes) -> None:
    with running(tmp_path) as twin, redis.Redis.from_url(twin.store_url) as client:
        client.hset("lightwave:fabrics", name, row)
    with running(tmp_path) as twin:
        assert twin.places == PLACES == twin.store.fabrics()


def test_states_without_an_owner_are_rebuilt(tmp_path: Path) -> None:
    """An older version left such states."""
    with running(tmp_path) as twin:
        digest = twin.sites[0].digest()
        keys = [key for key in twin.store.values(0) if key.startswith("fabric:")]
        twin.store.set_globals("{0}:progress", {f"value:{key}": None for key in keys})
    with running(tmp_path) as twin:
        assert twin.places == PLACES
        assert twin.sites[0].digest() == digest


def _append_zeros(redis: Path) -> None:
    """Append zeros, as a power cut may leave the end of a file."""
    (file,) = redis.glob("appendonlydir/*.incr.aof")
    with file.open("ab") as end:
        end.write(bytes(4096))


def _lose_base(redis: Path) -> None:
    (file,) = redis.glob("appendonlydir/*.base.rdb")
    file.unlink()


@pytest.mark.parametrize("damage", [_append_zeros, _lose_base])
def test_an_unreadable_server_file_is_set_aside_and_a_rebuild_is_required(
    damage: Callable[[Path], None], tmp_path: Path
) -> None:
    with running(tmp_path) as twin:
        digest = twin.sites[0].digest()
    damage(tmp_path / "redis")
    with (
        pytest.raises(
            StoreDamaged, match=r"cannot read its files: .*`lightwave up --rebuild` sets the folder aside"
        ),
        running(tmp_path),
    ):
        pass
    with running(tmp_path, rebuild=True) as twin:
        assert twin.sites[0].digest() == digest
    assert (tmp_path / "redis.damaged-1" / "appendonlydir").is_dir()


def test_a_copy_of_a_running_twin_is_audited_by_its_own_states(tmp_path: Path) -> None:
    data, copy = tmp_path / "data", tmp_path / "copy"
    data.mkdir()
    with running(data) as twin:
        DataFolder(data).announce("http://127.0.0.1:1", twin.store_url)
        shutil.copytree(data, copy)
        twin.store.forget_fabrics()
        assert run_audit(data=copy)["clean"]


@pytest.mark.parametrize("announced", ['{"redis":["x"]}', '{"pid":1,"url":"","redis":5}', "[]"])
def test_an_unannounced_folder_is_not_a_running_twin(announced: str, tmp_path: Path) -> None:
    with running(tmp_path):
        pass
    (tmp_path / "running.json").write_text(announced)
    assert run_audit(data=tmp_path)["clean"]


def test_an_audit_requires_the_redis_that_has_the_states(tmp_path: Path) -> None:
    with running(tmp_path):
        pass
    shutil.rmtree(tmp_path / "redis")
    with pytest.raises(NotFound, match="holds no states; give the Redis that the twin uses with --redis"):
        run_audit(data=tmp_path)


def test_a_duplicated_line_is_found_by_the_audit_and_by_up(tmp_path: Path) -> None:
    log = tmp_path / "log" / "campus.jsonl"
    request, earlier_request = (
        request_message(
            "campus", Request(number, "pod-0", InjectFault(kind="ocs", target="pod-0/ocs-9")), at_us
        )
        for number, at_us in ((7, 9), (6, 5))
    )
    with running(tmp_path) as twin:
        twin.sites[0].take(request)
    assert run_audit(data=tmp_path)["clean"]
    with log.open("ab") as end:
        end.write(encode(earlier_request) + b"\n")
    (site,) = run_audit(data=tmp_path)["sites"]
    assert not site["log_clean"]
    assert "expected from operator@campus only numbers above 7" in str(site["first_difference"])
    with pytest.raises(LogDamaged, match="differs from what its services emit: position"), running(tmp_path):
        pass


@pytest.mark.parametrize("rebuild", [False, True])
@pytest.mark.parametrize("gone", [False, True])
def test_a_lost_log_does_not_start_a_new_twin(tmp_path: Path, rebuild: bool, gone: bool) -> None:
    log = tmp_path / "log" / "campus.jsonl"
    with running(tmp_path):
        whole = log.read_bytes()
    log.unlink() if gone else log.write_bytes(b"")
    with (
        pytest.raises(LogDamaged, match="is missing or empty, although this twin has run; restore it"),
        running(tmp_path, rebuild=rebuild),
    ):
        pass
    log.write_bytes(whole)
    with running(tmp_path) as twin:
        assert twin.places == PLACES


@pytest.mark.parametrize("rebuild", [False, True])
def test_the_log_of_another_twin_is_refused(tmp_path: Path, rebuild: bool) -> None:
    with running(tmp_path / "other", plan=OTHER), running(tmp_path / "mine"):
        pass
    shutil.copy(tmp_path / "other/log/campus.jsonl", tmp_path / "mine/log/campus.jsonl")
    with (
        pytest.raises(
            LogDamaged,
            match=r"campus.jsonl: pod-0 was commissioned with another configuration than in lightwave-twin",
        ),
        running(tmp_path / "mine", rebuild=rebuild),
    ):
        pass


def test_the_states_of_another_twin_are_rebuilt_from_the_log(tmp_path: Path) -> None:
    with running(tmp_path / "other", plan=OTHER), running(tmp_path / "mine") as twin:
        twin.sites[0].take(
            request_message("campus", Request(7, "pod-0", InjectFault(kind="ocs", target="pod-0/ocs-9")), 9)
        )
        digest = twin.sites[0].digest()
    shutil.rmtree(tmp_path / "mine" / "redis")
    shutil.copytree(tmp_path / "other" / "redis", tmp_path / "mine" / "redis")
    with running(tmp_path / "mine") as twin:
        assert twin.places == PLACES == twin.store.fabrics()
        assert twin.sites[0].digest() == digest
    assert run_audit(data=tmp_path / "mine")["clean"]


def test_the_twin_restarts_a_server_that_is_killed_during_its_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ensure = EmbeddedValkey.ensure

    def killed(server: EmbeddedValkey) -> None:
        ensure(server)
        server.kill()

    monkeypatch.setattr(EmbeddedValkey, "ensure", killed)
    with pytest.raises(
        StoreUnreachable, match=r"^embedded Valkey in .*/redis: stopped, .*`lightwave up` again$"
    ):
        run_up(UpOptions(data=tmp_path, port=0))
