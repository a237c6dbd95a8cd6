"""A twin that another version left, taken over: by other rules, or with states in another layout; cut off
behind each of its steps, without room at each, and refused where it cannot be."""

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
from shared.basics.errors import LightwaveError, NotFound, OperationFailed, UpgradeNeeded
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
from shared.storage.store.redis_store import RedisStore
from shared.storage.store.state_store import Commit

pytestmark = pytest.mark.integration

CONFIG = SuperpodConfig(seed=5, pod=PodConfig(cubes=4), failures=FailuresConfig(host_per_day=0.5))
SITES = ("pod-0", "pod-1")
LIVED = 12 * US_PER_HOUR
THEN = "1.0+then"
LAYOUT = "of then"


class Killed(BaseException):
    """The end of the process."""


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two pods that a version of earlier rules has left, in good order."""
    place = tmp_path_factory.mktemp("left") / "twin"
    folder = DataFolder(place)
    folder.logs.mkdir(parents=True)
    plans = []
    for site in SITES:
        found: list[bytes] = []
        Lab(site, {site: CONFIG}, services_of, found.append).run(LIVED)
        (folder.logs / f"{site}.jsonl").write_bytes(b"".join(found))
        plans.append(SitePlan(site=site, fabrics={site: CONFIG}))
    identity = TwinIdentity(sites=tuple(plans))
    (place / IDENTITY_FILE).write_text(identity.model_dump_json())
    folder.clock.write_text(json.dumps({"speed": 60.0, "paused": True, "now_us": LIVED}))
    with rebuilt_states(folder, identity):
        pass
    noted(place, {RULES_VALUE: str(RULES - 1), SOFTWARE_VALUE: THEN})
    return place


@pytest.fixture
def data(left: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of them for each test."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return shutil.copytree(left, tmp_path / "twin")


def noted(place: Path, values: dict[str, str | None], partitions: tuple[int, ...] = (0, 1)) -> None:
    """Say of the states in a folder which code has left them."""
    with store_in(place) as store:
        for partition in partitions:
            at = store.positions(partition)
            generation = store.snapshot(partition, []).generation
            assert store.commit(Commit(partition, at, at, fields=values, generation=generation))


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


def held(place: Path) -> list[Any]:
    with store_in(place) as store:
        return [
            (store.positions(partition), store.values(partition), store.load(partition, "cubes", site))
            for partition, site in enumerate(SITES)
        ]


def lines(place: Path, site: str = "pod-0") -> list[bytes]:
    return (DataFolder(place).logs / f"{site}.jsonl").read_bytes().splitlines()


def goes_on(place: Path) -> None:
    """By its states, without a word; and its audit is clean."""
    folder = DataFolder(place)
    identity = folder.identity()
    assert identity is not None
    with rebuilt_states(folder, identity, by_snapshots=True) as runners:
        for runner in runners:
            for _ in range(20):
                root = runner.site.next_root(None, clock_us=LIVED + 40 * US_PER_HOUR)
                assert root is not None
                runner.take(root)
    report = run_audit(data=place)
    assert report["clean"], report


def test_a_twin_of_other_rules_is_taken_over_with_one_message_and_its_snapshot(data: Path) -> None:
    before = [lines(data, site) for site in SITES]
    rows = run_upgrade(data)
    assert [(row["site"], row["before"], row["after"], row["migrated"]) for row in rows] == [
        (site, {"rules": RULES - 1, "software": THEN}, {"rules": RULES, "software": software_version()}, [])
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
    assert since["before"] == {"rules": RULES - 1, "software": THEN}
    goes_on(data)


def test_what_was_before_is_the_other_version_s_to_tell(data: Path) -> None:
    position = len(lines(data))
    run_upgrade(data)
    past = read_history(DataFolder(data))
    assert past.at("pod-0", position + 1).position == position + 1
    sentence = f"pod-0: up to 0d12:00:00 {re.escape(THEN)} wrote its log by rules {RULES - 1}; only that"
    for moment in (0, position - 50, position):
        with pytest.raises(UpgradeNeeded, match=sentence):
            past.at("pod-0", moment)
    with pytest.raises(UpgradeNeeded, match=sentence):
        run_fork(ForkOptions("early", "0d06:00"), data)
    assert not fork_folder("early").exists()


def test_a_backup_and_a_fork_take_the_record_along(data: Path, tmp_path: Path) -> None:
    run_upgrade(data)
    run_backup(tmp_path / "backup", data)
    run_restore(tmp_path / "backup", tmp_path / "again")
    goes_on(tmp_path / "again")
    run_fork(ForkOptions("after"), data)
    goes_on(fork_folder("after"))


def test_states_that_are_lost_are_made_from_the_record(data: Path) -> None:
    run_upgrade(data)
    before = held(data)
    noted(data, {})
    for path in sorted(DataFolder(data).redis.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    folder = DataFolder(data)
    identity = folder.identity()
    assert identity is not None
    with rebuilt_states(folder, identity):
        pass
    assert [(at, cubes) for at, _, cubes in held(data)] == [(at, cubes) for at, _, cubes in before]


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
    (lost,) = snapshots.problems  # the twin lives on, and says so
    assert re.search(sentence[how], lost)
    history = snapshots.history("pod-0")
    with pytest.raises(UpgradeNeeded, match="only that version can read what is before"):
        history.at(5)
    with pytest.raises(LightwaveError, match=sentence[how]):
        history.at(logs.end("pod-0"))
    snapshots.close()
    logs.close()


# --- cut off ------------------------------------------------------------------------------------------------

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
def test_cut_off_at_any_step_it_is_done_again(
    data: Path, step: str, when: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the second site, when the first is done."""
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
            found = real(*args, **named)
            if calls == len(SITES):
                raise Killed
            return found

        patched.setattr(kind, name, cut_off)
        with pytest.raises(Killed):
            run_upgrade(data)
    run_upgrade(data)
    assert [len(lines(data, site)) for site in SITES] == expected
    assert [decode(lines(data, site)[-1]).type for site in SITES] == ["Upgraded", "Upgraded"]
    goes_on(data)


def test_until_the_log_is_reported_the_version_before_continues(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the upgrade had kept is of no log then, and nobody's base."""
    with monkeypatch.context() as patched:
        patched.setattr(IndexedLog, "append", cut)
        with pytest.raises(Killed):
            run_upgrade(data)
    assert [*(data / "upgrades").rglob("*.snapshot")]
    noted(data, {RULES_VALUE: str(RULES), SOFTWARE_VALUE: THEN})  # as if this were that version
    goes_on(data)
    assert run_audit(data=data)["sites"][0]["since"] is None


def cut(*_args: object) -> None:
    raise Killed


@pytest.mark.parametrize("step", ["snapshot", "line"])
def test_without_room_nothing_is_changed(data: Path, step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = [lines(data, site) for site in SITES], held(data)

    def full(*_: object, **__: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        if step == "snapshot":
            patched.setattr(atomic_files, "_sync_folder", full)
        else:
            patched.setattr(IndexedLog, "append", failing)
        with pytest.raises(OperationFailed, match="No space left on device"):
            run_upgrade(data)
    assert ([lines(data, site) for site in SITES], held(data)) == before
    assert len(run_upgrade(data)) == 2
    goes_on(data)


def failing(*_: object) -> None:
    raise OperationFailed("log file: No space left on device")


def test_the_version_before_shows_who_has_begun(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(RedisStore, "stage", cut)
        with pytest.raises(Killed):
            run_upgrade(data)
    noted(data, {RULES_VALUE: str(RULES), SOFTWARE_VALUE: THEN})  # as if this were that version
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


# --- what cannot be taken over ------------------------------------------------------------------------------


def test_an_upgrade_is_completed_only_by_the_version_that_started_it(data: Path) -> None:
    path = DataFolder(data).logs / "pod-1.jsonl"
    folder = DataFolder(data)
    before = lines(data, "pod-0")
    log = IndexedLog(path)
    root = read_history(folder).at("pod-1", log.end).site.next_root(None, clock_us=LIVED + 90 * US_PER_HOUR)
    assert root is not None
    log.append([root], [encode(root)])
    log.close()
    with pytest.raises(
        OperationFailed,
        match=r"pod-1: its states have read \d+ messages, but its log contains \d+: "
        rf"start and stop the twin once with {re.escape(THEN)}, ",
    ):
        run_upgrade(data)
    assert lines(data, "pod-0") == before
    assert not [*(data / "upgrades").rglob("*.snapshot")]


@pytest.mark.parametrize(
    ("values", "error", "sentence"),
    [
        ({RULES_VALUE: str(RULES + 1)}, UpgradeNeeded, "which are older: start it with that version"),
        ({RULES_VALUE: None}, UpgradeNeeded, "whose rules had no number; `lightwave up --rebuild-all`"),
        (
            {f"{LAYOUT_VALUE}cubes": LAYOUT},
            UpgradeNeeded,
            "cubes: no migration leads from states of layout of then",
        ),
        ({f"{LAYOUT_VALUE}cubes": None}, UpgradeNeeded, "cubes: is new in this version"),
    ],
)
def test_a_twin_that_this_version_cannot_take_over_is_refused(
    data: Path, values: dict[str, str | None], error: type[LightwaveError], sentence: str
) -> None:
    noted(data, values, (1,))
    before = [lines(data, site) for site in SITES], held(data)
    with pytest.raises(error, match=sentence):
        run_upgrade(data)
    assert ([lines(data, site) for site in SITES], held(data)) == before


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
def of_another_form(data: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same rules, and states of cubes whose layout has another digest, which a migration leads from."""
    noted(data, {RULES_VALUE: str(RULES), f"{LAYOUT_VALUE}cubes": LAYOUT})
    step = Migration(LAYOUT, state_layout(CUBES.state), dict)
    real = upgrade_refusals._steps

    def steps(service: Any, layout: str | None) -> list[Migration]:
        return [step] if service.name == "cubes" and layout == LAYOUT else real(service, layout)

    monkeypatch.setattr(upgrade_refusals, "_steps", steps)
    return data


def test_states_of_another_form_are_migrated_and_the_past_stays(of_another_form: Path) -> None:
    data = of_another_form
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
    goes_on(data)


def test_what_this_version_would_have_reported_and_held_is_reported_before(data: Path) -> None:
    told: list[int] = []
    (row, other) = check_upgrade(data, report_progress=lambda _site, done, _whole: told.append(done))
    assert (row["since"], row["first_difference"], row["differing_states"]) == (0, None, [])
    assert told
    assert other["site"] == "pod-1"
    path = DataFolder(data).logs / "pod-0.jsonl"
    changed = path.read_bytes().replace(b'"type":"Tick"', b'"type":"tick"', 1)
    path.write_bytes(changed)
    (row, _) = check_upgrade(data)
    assert str(row["first_difference"]).startswith("position ")
