"""Upgrade of a twin from another version, with other rules or states in another layout: interrupted at each
step, with a full disk at each step, and refusals."""

import contextlib
import errno
import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from ops.local.software_version import software_version
from ops.twin.backups.create import run_backup
from ops.twin.backups.restore import run_restore
from ops.twin.data_folder import IDENTITY_FILE, DataFolder, TwinIdentity
from ops.twin.folder_audit import run_audit
from ops.twin.forks.create_fork import ForkOptions, run_fork
from ops.twin.forks.fork_folders import fork_folder
from ops.twin.history_reader import read_history
from ops.twin.rebuild import rebuilt_states
from ops.twin.snapshots import TwinSnapshots, snapshot_folder
from ops.twin.version_upgrade import check_upgrade, run_upgrade
from schemas.config.failures import FailuresConfig
from schemas.config.pods import PodConfig, SuperpodConfig
from schemas.files.site_plan import SitePlan
from schemas.messages.upgrade import Upgraded
from schemas.registry import decode, encode
from services.cubes.service import SERVICE as CUBES
from services.fabric_kinds import services_of
from shared.basics.errors import LightwaveError, NotFound, OperationFailed, StateRefused, UpgradeNeeded
from shared.basics.units import US_PER_HOUR
from shared.engine import upgrade_refusals
from shared.engine.code_version import LAYOUT_VALUE, RULES, RULES_VALUE, SOFTWARE_VALUE
from shared.engine.service import Migration
from shared.engine.state_layout import state_layout
from shared.runtimes.embedded.dead_letter_file import DeadLetterFile
from shared.runtimes.embedded.site_runner import SiteRunner
from shared.runtimes.embedded.valkey_server import EmbeddedValkey
from shared.runtimes.lab import Lab
from shared.storage.files import atomic_files
from shared.storage.log.indexed_log import IndexedLog, IndexedLogs
from shared.storage.snapshots.snapshot_folder import SnapshotFolder
from shared.storage.store import redis_layout as layout
from shared.storage.store.redis_store import RedisStore
from shared.storage.store.sealed_values import commit_with_marks
from shared.storage.store.state_store import Commit

pytestmark = pytest.mark.integration

CONFIG = SuperpodConfig(seed=5, pod=PodConfig(cubes=4), failures=FailuresConfig(host_per_day=0.5))
SITES = ("pod-0", "pod-1")
END = 12 * US_PER_HOUR
OLD_SOFTWARE = "1.0+then"
OLD_LAYOUT = "of then"


class Killed(BaseException):
    """The process is killed."""


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of two pods that a version with earlier rules has stopped."""
    place = tmp_path_factory.mktemp("left") / "twin"
    folder = DataFolder(place)
    folder.logs.mkdir(parents=True)
    plans = []
    for site in SITES:
        log_parts: list[bytes] = []
        Lab(site, {site: CONFIG}, services_of, log_parts.append).run(END)
        (folder.logs / f"{site}.jsonl").write_bytes(b"".join(log_parts))
        plans.append(SitePlan(site=site, fabrics={site: CONFIG}))
    identity = TwinIdentity(sites=tuple(plans))
    (place / IDENTITY_FILE).write_text(identity.model_dump_json())
    folder.clock.write_text(json.dumps({"speed": 60.0, "paused": True, "now_us": END}))
    with rebuilt_states(folder, identity):
        pass
    set_code_values(place, {RULES_VALUE: str(RULES - 1), SOFTWARE_VALUE: OLD_SOFTWARE})
    return place


@pytest.fixture
def data(left: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a copy of the folder for each test."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return shutil.copytree(left, tmp_path / "twin")


def set_code_values(place: Path, values: dict[str, str | None], partitions: tuple[int, ...] = (0, 1)) -> None:
    """Set the version that the states in a folder name as their writer."""
    with store_in(place) as store:
        for partition in partitions:
            at = store.positions(partition)
            generation = store.snapshot(partition, []).generation
            commit = Commit(partition, at, at, fields=values, generation=generation)
            assert store.commit(commit_with_marks(DataFolder(place).state_digests(), commit))


class store_in:  # noqa: N801 -- a context, written as a function would be
    def __init__(self, place: Path) -> None:
        self._server = EmbeddedValkey(DataFolder(place).redis)

    def __enter__(self) -> RedisStore:
        self._server.ensure()
        self._store = RedisStore(self._server.url)
        return self._store

    def __exit__(self, *_: object) -> None:
        self._store.close()
        self._server.stop()


def store_content(place: Path) -> list[Any]:
    with store_in(place) as store:
        return [
            (store.positions(partition), store.values(partition), store.load(partition, "cubes", site))
            for partition, site in enumerate(SITES)
        ]


def lines(place: Path, site: str = "pod-0") -> list[bytes]:
    return (DataFolder(place).logs / f"{site}.jsonl").read_bytes().splitlines()


def check_continues(place: Path) -> None:
    """Check that a twin continues from its states without an error, and that its audit is clean."""
    folder = DataFolder(place)
    identity = folder.identity()
    assert identity is not None
    with rebuilt_states(folder, identity, by_snapshots=True) as runners:
        for runner in runners:
            for _ in range(20):
                root = runner.site.next_root(None, clock_us=END + 40 * US_PER_HOUR)
                assert root is not None
                runner.take(root)
    report = run_audit(data=place)
    assert report["clean"], report


def test_a_twin_with_other_rules_is_upgraded_with_one_message_and_a_snapshot(data: Path) -> None:
    before = [lines(data, site) for site in SITES]
    rows = run_upgrade(data)
    assert [(row["site"], row["before"], row["after"], row["migrated"]) for row in rows] == [
        (
            site,
            {"rules": RULES - 1, "software": OLD_SOFTWARE},
            {"rules": RULES, "software": software_version()},
            [],
        )
        for site in SITES
    ]
    for site, had, row in zip(SITES, before, rows, strict=True):
        *same, last = lines(data, site)
        assert same == had
        message = decode(last)
        assert isinstance(message.body, Upgraded)
        assert (message.id, message.cause, message.fabric) == (f"upgrade@{site}/1", None, site)
        assert message.body.state_sha256 == row["state_sha256"]
        upgrades = snapshot_folder(DataFolder(data), site).upgrades
        assert upgrades is not None
        assert upgrades.positions() == [len(had) + 1]
        assert upgrades.read(len(had) + 1).digest == row["state_sha256"]
    assert run_upgrade(data) == []
    report = run_audit(data=data)
    assert report["clean"]
    since = report["sites"][0]["since"]
    assert since is not None
    assert (since["position"], since["rules"]) == (len(before[0]) + 1, RULES)
    assert since["before"] == {"rules": RULES - 1, "software": OLD_SOFTWARE}
    check_continues(data)


@pytest.mark.parametrize(
    "values",
    [
        {f"value:{RULES_VALUE}": str(RULES - 2)},
        {f"value:{RULES_VALUE}": "99"},
        {f"value:{RULES_VALUE}": None},
        {"value:layout:jobs": "00"},
        {"value:fabric:dcn-0": "pod-0 dcn"},
        {"value:fabric:pod-0": "pod-0 foo"},
    ],
    ids=str,
)
def test_a_code_or_fabric_that_something_else_wrote_is_not_upgraded(
    data: Path, values: dict[str, str | None]
) -> None:
    before = lines(data)
    change_head(data, values)
    for _ in range(2):
        with pytest.raises(StateRefused, match=r"^partition 0: the .* in Redis was changed"):
            run_upgrade(data)
    assert lines(data) == before


def remove_digests(place: Path) -> None:
    """Leave the partitions as a version without digests would."""
    with store_in(place) as store:
        for partition in (0, 1):
            names = [
                name.decode()
                for name in store._client.call("", "HKEYS", layout.key(partition, "progress"))
                if name.startswith((b"seal:", b"sums:", b"value:digest:"))
            ]
            for command in layout.hdel(layout.key(partition, "progress"), names):
                store._client.call("", *command)


def test_states_of_a_version_without_digests_are_upgraded(data: Path) -> None:
    remove_digests(data)
    assert [row["site"] for row in run_upgrade(data)] == list(SITES)
    check_continues(data)


def change_head(place: Path, fields: dict[str, str | None]) -> None:
    """Change fields of the first partition as another writer of Redis."""
    head = layout.key(0, "progress")
    with store_in(place) as store:
        for name, text in fields.items():
            store._client.call(head, *(["HDEL", head, name] if text is None else ["HSET", head, name, text]))


def test_only_the_other_version_reads_the_past(data: Path) -> None:
    position = len(lines(data))
    run_upgrade(data)
    past = read_history(DataFolder(data))
    assert past.at("pod-0", position + 1).position == position + 1
    sentence = (
        f"pod-0: up to 0d12:00:00 {re.escape(OLD_SOFTWARE)} wrote its log by rules {RULES - 1}; only that"
    )
    for moment in (0, position - 50, position):
        with pytest.raises(UpgradeNeeded, match=sentence):
            past.at("pod-0", moment)
    with pytest.raises(UpgradeNeeded, match=sentence):
        run_fork(ForkOptions("early", "0d06:00"), data)
    assert not fork_folder("early").exists()


def test_a_backup_and_a_fork_contain_the_record(data: Path, tmp_path: Path) -> None:
    run_upgrade(data)
    run_backup(tmp_path / "backup", data)
    run_restore(tmp_path / "backup", tmp_path / "again")
    check_continues(tmp_path / "again")
    run_fork(ForkOptions("after"), data)
    check_continues(fork_folder("after"))


def test_lost_states_are_rebuilt_from_the_record(data: Path) -> None:
    run_upgrade(data)
    before = store_content(data)
    set_code_values(data, {})
    for path in sorted(DataFolder(data).redis.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    folder = DataFolder(data)
    identity = folder.identity()
    assert identity is not None
    with rebuilt_states(folder, identity):
        pass
    assert [(at, cubes) for at, _, cubes in store_content(data)] == [(at, cubes) for at, _, cubes in before]


@pytest.mark.parametrize("how", ["gone", "damaged", "another"])
def test_without_its_record_a_log_is_not_folded_by_other_rules(data: Path, tmp_path: Path, how: str) -> None:
    run_upgrade(data)
    (path,) = (data / "upgrades" / "pod-0").iterdir()
    if how == "gone":
        path.unlink()
    elif how == "damaged":
        path.write_bytes(path.read_bytes()[:-1])
    else:
        upgrades = SnapshotFolder(path.parent, "pod-0", software_version())
        kept = upgrades.read(int(path.stem))
        upgrades.put(replace(kept, states={("cubes", "pod-0"): {}}))
    folder = DataFolder(data)
    identity = folder.identity()
    assert identity is not None
    sentence = {
        "gone": "No such file or directory; it cannot be rebuilt: restore it",
        "damaged": "content changed since it was written.*; it cannot be rebuilt: restore it from a",
        "another": "its states differ from those on the log; it cannot be rebuilt",
    }
    with pytest.raises(LightwaveError, match=sentence[how]), rebuilt_states(folder, identity):
        pass
    for copied in (
        partial(run_audit, data=data),
        partial(run_backup, tmp_path / "backup", data),
        partial(run_fork, ForkOptions("copy"), data),
    ):
        with pytest.raises(LightwaveError, match=sentence[how]):
            copied()
    assert not (tmp_path / "backup").exists()
    logs = IndexedLogs(folder.logs)
    snapshots = TwinSnapshots(folder, logs)
    snapshots.taker("pod-0")
    (lost,) = snapshots.problems  # the twin continues and reports it
    assert re.search(sentence[how], lost)
    history = snapshots.history("pod-0")
    with pytest.raises(UpgradeNeeded, match="only that version can read what is before"):
        history.at(5)
    with pytest.raises(LightwaveError, match=sentence[how]):
        history.at(logs.end("pod-0"))
    snapshots.close()
    logs.close()


# --- interruptions ------------------------------------------------------------------------------------------

STEPS: dict[str, tuple[type, str]] = {
    "snapshot": (SnapshotFolder, "put"),
    "line": (IndexedLog, "append"),
    "sync": (IndexedLog, "sync"),
    "stage": (RedisStore, "stage"),
    "take over": (RedisStore, "promote_staged"),
    "unstage": (RedisStore, "discard_staged"),
}


@pytest.mark.parametrize("when", ["before", "behind"])
@pytest.mark.parametrize("step", STEPS)
def test_an_interrupted_upgrade_can_be_repeated(
    data: Path, step: str, when: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The interruption is at the second site, after the first is done."""
    expected = [len(lines(data, site)) + 1 for site in SITES]
    calls = 0
    with monkeypatch.context() as patched:
        kind, name = STEPS[step]
        real: Callable[..., Any] = getattr(kind, name)

        def cut_off(*args: Any, **named: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls == len(SITES) and when == "before":
                raise Killed
            result = real(*args, **named)
            if calls == len(SITES):
                raise Killed
            return result

        patched.setattr(kind, name, cut_off)
        with pytest.raises(Killed):
            run_upgrade(data)
    run_upgrade(data)
    assert [len(lines(data, site)) for site in SITES] == expected
    assert [decode(lines(data, site)[-1]).type for site in SITES] == ["Upgraded", "Upgraded"]
    check_continues(data)


def test_the_earlier_version_continues_until_the_log_has_the_upgrade(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The snapshot of the upgrade then belongs to no log, and is not used."""
    with monkeypatch.context() as patched:
        patched.setattr(IndexedLog, "append", cut)
        with pytest.raises(Killed):
            run_upgrade(data)
    assert [*(data / "upgrades").rglob("*.snapshot")]
    set_code_values(
        data, {RULES_VALUE: str(RULES), SOFTWARE_VALUE: OLD_SOFTWARE}
    )  # as if this were the earlier version
    check_continues(data)
    assert run_audit(data=data)["sites"][0]["since"] is None


def cut(*_args: object) -> None:
    raise Killed


@pytest.mark.parametrize("step", ["snapshot", "line"])
def test_a_full_disk_changes_nothing(data: Path, step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = [lines(data, site) for site in SITES], store_content(data)

    def full(*_: object, **__: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        if step == "snapshot":
            patched.setattr(atomic_files, "_sync_folder", full)
        else:
            patched.setattr(IndexedLog, "append", failing)
        with pytest.raises(OperationFailed, match="No space left on device"):
            run_upgrade(data)
    assert ([lines(data, site) for site in SITES], store_content(data)) == before
    assert len(run_upgrade(data)) == 2
    check_continues(data)


def failing(*_: object) -> None:
    raise OperationFailed("log file: No space left on device")


def test_the_earlier_version_names_the_version_that_has_started(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(RedisStore, "stage", cut)
        with pytest.raises(Killed):
            run_upgrade(data)
    set_code_values(
        data, {RULES_VALUE: str(RULES), SOFTWARE_VALUE: OLD_SOFTWARE}
    )  # as if this were the earlier version
    with store_in(data) as store, contextlib.closing(IndexedLogs(DataFolder(data).logs)) as logs:
        runner = SiteRunner(
            "pod-0",
            0,
            services_of,
            store=store,
            place=store.place,
            log=logs.open("pod-0"),
            dead_letters=DeadLetterFile(data / "dead-letters.jsonl"),
        )
        sentence = rf"pod-0: .* upgrade to {re.escape(software_version())} \(rules {RULES}\); finish it"
        with pytest.raises(UpgradeNeeded, match=sentence):
            runner.recover()


# --- refusals -----------------------------------------------------------------------------------------------


def test_an_upgrade_is_completed_only_by_the_version_that_started_it(data: Path) -> None:
    path = DataFolder(data).logs / "pod-1.jsonl"
    folder = DataFolder(data)
    before = lines(data, "pod-0")
    log = IndexedLog(path)
    root = read_history(folder).at("pod-1", log.end).site.next_root(None, clock_us=END + 90 * US_PER_HOUR)
    assert root is not None
    log.append([root], [encode(root)])
    log.close()
    with pytest.raises(
        OperationFailed,
        match=r"pod-1: its states have read \d+ messages, but its log contains \d+: "
        rf"start and stop the twin once with {re.escape(OLD_SOFTWARE)}, ",
    ):
        run_upgrade(data)
    assert lines(data, "pod-0") == before
    assert not [*(data / "upgrades").rglob("*.snapshot")]


@pytest.mark.parametrize(
    ("values", "error", "sentence"),
    [
        ({RULES_VALUE: str(RULES + 1)}, UpgradeNeeded, "which are older: start it with that version"),
        (
            {f"{LAYOUT_VALUE}cubes": OLD_LAYOUT},
            UpgradeNeeded,
            "cubes: no migration leads from states of layout of then",
        ),
        ({f"{LAYOUT_VALUE}cubes": None}, UpgradeNeeded, "cubes: is new in this version"),
    ],
)
def test_a_twin_that_this_version_cannot_take_over_is_refused(
    data: Path, values: dict[str, str | None], error: type[LightwaveError], sentence: str
) -> None:
    set_code_values(data, values, (1,))
    before = [lines(data, site) for site in SITES], store_content(data)
    with pytest.raises(error, match=sentence):
        run_upgrade(data)
    assert ([lines(data, site) for site in SITES], store_content(data)) == before


def test_rules_without_a_number_are_refused_in_states_of_that_time_and_as_a_change_in_later_ones(
    data: Path,
) -> None:
    set_code_values(data, {RULES_VALUE: None}, (1,))
    with pytest.raises(StateRefused, match=r"^partition 1: the number of the rules in Redis was changed"):
        run_upgrade(data)
    remove_digests(data)
    with pytest.raises(UpgradeNeeded, match="whose rules had no number; `lightwave up --rebuild-all`"):
        run_upgrade(data)


def test_a_folder_without_a_twin_and_one_that_is_in_use_are_refused(data: Path, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="holds no twin"):
        run_upgrade(tmp_path / "nothing")
    folder = DataFolder(data)
    folder.hold()
    with pytest.raises(OperationFailed, match=r"in use by another lightwave process; stop it first"):
        run_upgrade(data)
    folder.release()


# --- states in another layout -------------------------------------------------------------------------------


@pytest.fixture
def old_layout(data: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a twin with the same rules whose states of cubes have another digest of their layout, from which
    a migration leads."""
    set_code_values(data, {RULES_VALUE: str(RULES), f"{LAYOUT_VALUE}cubes": OLD_LAYOUT})
    step = Migration(OLD_LAYOUT, state_layout(CUBES.state), dict)
    real = upgrade_refusals._steps

    def steps(service: Any, layout: str | None) -> list[Migration]:
        return [step] if service.name == "cubes" and layout == OLD_LAYOUT else real(service, layout)

    monkeypatch.setattr(upgrade_refusals, "_steps", steps)
    return data


def test_states_of_another_layout_are_migrated_and_the_past_stays_readable(old_layout: Path) -> None:
    data = old_layout
    position = len(lines(data))
    checked = check_upgrade(data)
    assert [(row["migrated"], row["first_difference"], row["differing_states"]) for row in checked] == [
        (["cubes"], None, []),
        (["cubes"], None, []),
    ]
    assert len(lines(data)) == position
    assert [row["migrated"] for row in run_upgrade(data)] == [["cubes"], ["cubes"]]
    assert read_history(DataFolder(data)).at("pod-0", position // 2).position >= position // 2
    report = run_audit(data=data)
    assert report["clean"]
    assert report["sites"][0]["since"] is None
    check_continues(data)


def test_a_check_reports_differences_of_log_and_states(data: Path) -> None:
    progress: list[int] = []
    (row, other) = check_upgrade(data, report_progress=lambda _site, done, _whole: progress.append(done))
    assert (row["since"], row["first_difference"], row["differing_states"]) == (0, None, [])
    assert progress
    assert other["site"] == "pod-1"
    path = DataFolder(data).logs / "pod-0.jsonl"
    changed = path.read_bytes().replace(b'"type":"Tick"', b'"type":"tick"', 1)
    path.write_bytes(changed)
    (row, _) = check_upgrade(data)
    assert str(row["first_difference"]).startswith("position ")
