"""Forks of a twin that does not run: their content, their course, and refusals."""

import hashlib
import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ops.local.software_version import software_version
from ops.twin.backups.backup_files import PARTIAL
from ops.twin.data_folder import IDENTITY_FILE, DataFolder, TwinIdentity
from ops.twin.folder_audit import run_audit
from ops.twin.forks.create_fork import ForkOptions, run_fork
from ops.twin.forks.fork_folders import fork_folder, fork_names, fork_row, forks_folder, remove_fork
from ops.twin.forks.fork_origin import read_origin
from ops.twin.history_reader import read_history
from ops.twin.rebuild import rebuilt_states
from schemas.config.failures import FailuresConfig
from schemas.config.pods import PodConfig, SuperpodConfig
from schemas.files.operations_log import TwinForked
from schemas.files.site_plan import SitePlan
from services.fabric_kinds import services_of
from services.forecasts.futures import run_future
from shared.basics.errors import InvalidInput, LightwaveError, NotFound, OperationFailed
from shared.basics.units import US_PER_DAY, US_PER_HOUR
from shared.runtimes.embedded.operations_file import OperationsFile
from shared.storage.snapshots.site_history import ReplayedSite, SiteHistory
from shared.storage.snapshots.site_snapshot import from_bytes, to_bytes
from shared.storage.snapshots.snapshot_folder import SnapshotFolder
from shared.storage.snapshots.snapshot_interval import SNAPSHOT_INTERVAL_MESSAGES
from tests.support.pods import POD, pod_lab
from tests.unit.storage.test_snapshots import Recorded

pytestmark = pytest.mark.integration

DAY = US_PER_DAY
CONFIG = SuperpodConfig(
    seed=5, pod=PodConfig(cubes=8), failures=FailuresConfig(host_per_day=0.002, ocs_per_day=0.01)
)
FORKED_AT = 5 * DAY
END = 35 * DAY
FORECAST_SPAN = 8 * DAY


@pytest.fixture(scope="module")
def lines() -> list[bytes]:
    """Return the log of the parent's 35 days."""
    log_lines: list[bytes] = []
    pod_lab(CONFIG, sink=lambda chunk: log_lines.extend(chunk.splitlines(keepends=True))).run(END)
    return log_lines


@pytest.fixture(scope="module")
def snapshots(lines: list[bytes]) -> dict[str, bytes]:
    """Return the snapshots that the parent has taken, by the names of their files."""
    recorded = Recorded([line.rstrip(b"\n") for line in lines])
    taken: dict[str, bytes] = {}

    def take_due(moment: ReplayedSite) -> None:
        if len(taken) < moment.position // SNAPSHOT_INTERVAL_MESSAGES:
            taken[f"{moment.position:012d}.snapshot"] = to_bytes(moment.snapshot(software_version()))

    SiteHistory(recorded, SnapshotFolder(Path("/nowhere"), POD, software_version()), services_of).at(
        recorded.end, take_due
    )
    return taken


@pytest.fixture
def parent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lines: list[bytes], snapshots: dict[str, bytes]
) -> Path:
    """Return the folder of a twin that does not run. Its Redis is not needed."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    data = tmp_path / "parent"
    plan = TwinIdentity(sites=(SitePlan(site=POD, fabrics={POD: CONFIG}),))
    files = {
        f"log/{POD}.jsonl": b"".join(lines) + b'{"torn',
        IDENTITY_FILE: plan.model_dump_json().encode(),
        "clock.json": json.dumps({"speed": 60.0, "paused": True, "now_us": END}).encode(),
        f"telemetry/{POD}/{FORKED_AT:020d}.arrows": b"of then",
        f"telemetry/{POD}/{FORKED_AT + 1:020d}.arrows": b"of later",
        "redis/password.conf": b"secret",
        "lock": b"",
        **{f"snapshots/{POD}/{name}": content for name, content in snapshots.items()},
    }
    for name, content in files.items():
        (data / name).parent.mkdir(parents=True, exist_ok=True)
        (data / name).write_bytes(content)
    return data


def files_in(place: Path) -> dict[str, tuple[bytes, float]]:
    return {
        str(f.relative_to(place)): (f.read_bytes(), f.stat().st_mtime)
        for f in sorted(place.rglob("*"))
        if f.is_file()
    }


def log_of(name: str) -> list[bytes]:
    return (fork_folder(name) / "log" / f"{POD}.jsonl").read_bytes().splitlines(keepends=True)


def driven(name: str, until_us: int) -> list[bytes]:
    """Run a fork from the states in its Redis; return its log."""
    folder = DataFolder(fork_folder(name))
    identity = folder.identity()
    assert identity is not None
    with rebuilt_states(folder, identity, by_snapshots=True) as (runner,):
        while (root := runner.site.next_root(None, clock_us=until_us)) is not None:
            runner.take(root)
    return log_of(name)


@pytest.mark.slow("thirty days of a twin and of its fork")
def test_a_fork_without_changes_stays_equal_to_its_parent_for_thirty_days(
    parent: Path, lines: list[bytes]
) -> None:
    before = files_in(parent)
    origin = run_fork(ForkOptions("calm", "5d"), parent)
    assert files_in(parent) == before
    (own,) = origin.sites
    had = log_of("calm")
    assert had == lines[: own.position]
    assert (origin.at_us, own.size) == (FORKED_AT, len(b"".join(had)))
    assert own.sha256 == hashlib.sha256(b"".join(had)).hexdigest()
    assert own.last_sha256 == hashlib.sha256(had[-1].rstrip(b"\n")).hexdigest()
    assert 0 < own.position < len(lines) // 3
    assert driven("calm", END) == lines
    folder = DataFolder(fork_folder("calm"))
    assert read_origin(folder) == origin
    assert folder.stored_clock().model_dump(exclude_none=True) == {
        "speed": 60.0,
        "paused": True,
        "now_us": FORKED_AT,
    }
    kept = {path.name for path in fork_folder("calm").rglob("*.arrows")}
    assert kept == {f"{FORKED_AT:020d}.arrows"}
    assert not (fork_folder("calm") / "running.json").exists()
    noted = [operation.body for _, operation in OperationsFile(folder.operations).read()]
    assert noted == [TwinForked(twin=origin.twin, origin="", name="calm", at_us=FORKED_AT)]


@pytest.mark.slow("folds a log up to many of its messages")
def test_a_fork_after_a_message_includes_its_whole_cascade(parent: Path, lines: list[bytes]) -> None:
    messages = [json.loads(line) for line in lines]
    at = next(
        n for n, message in enumerate(messages) if n > 2_000 and messages[n + 1]["cause"] == message["id"]
    )
    end = next(n for n in range(at + 1, len(messages)) if messages[n]["cause"] is None)
    (own,) = run_fork(ForkOptions("one", messages[at]["id"]), parent).sites
    assert own.position == end > at + 1
    (now,) = run_fork(ForkOptions("two"), parent).sites
    assert now.position == len(lines)


@pytest.mark.slow("a twin, its fork and a forecast of days")
def test_a_fork_with_other_draws_and_parameters_is_the_future_of_a_forecast(
    parent: Path, lines: list[bytes]
) -> None:
    origin = run_fork(
        ForkOptions("other", "5d", 7, ("failures.host_per_day=0.02", "repairs.technicians=3")), parent
    )
    (own,) = origin.sites
    tail = [json.loads(line) for line in log_of("other")[own.position :]]
    heads = [message["type"] for message in tail if message["source"] == f"operator@{POD}"]
    assert heads == ["RekeyDraws", "SetParameters"]
    assert tail[0]["body"]["salt"] == 7
    assert tail[0]["body"]["comment"] == f"fork other of twin unknown from {FORKED_AT} us on"
    settings = next(message["body"]["settings"] for message in tail if message["type"] == "SetParameters")
    assert [message["name"] for message in settings] == ["failures.host_per_day", "repairs.technicians"]
    assert "ParametersChanged" in {message["type"] for message in tail}
    run_fork(ForkOptions("seventh", "5d", 7), parent)
    moment = read_history(DataFolder(parent)).at(POD, own.position)
    forecast = run_future(
        from_bytes(to_bytes(moment.snapshot("x"))), FORKED_AT, FORECAST_SPAN, salt=7, events=True
    )
    future_lines = driven("seventh", FORKED_AT + FORECAST_SPAN)[own.position :]
    assert len(future_lines) == forecast.messages
    assert future_lines[100:] != lines[own.position + 100 : own.position + len(future_lines)]
    assert {message.at_us for message in forecast.notable} <= {
        json.loads(line)["at_us"] for line in future_lines
    }


@pytest.mark.slow("audits the logs of a twin and of its fork")
def test_an_audit_covers_both_parts_and_names_the_parent(parent: Path) -> None:
    origin = run_fork(ForkOptions("calm", "5d"), parent)
    assert run_audit(data=fork_folder("calm"))["clean"]  # the states at its creation
    end = len(driven("calm", FORKED_AT + DAY))
    report = run_audit(data=fork_folder("calm"))
    assert report["clean"]
    (own,) = origin.sites
    fork = report["fork"]
    assert fork is not None
    assert (fork["name"], fork["place"], fork["at_us"]) == ("calm", str(parent.resolve()), FORKED_AT)
    assert (fork["positions"], fork["own"]) == ({POD: own.position}, {POD: end - own.position})
    content = json.loads((fork_folder("calm") / "origin.json").read_text())
    content["sites"][0]["sha256"] = "0" * 64
    (fork_folder("calm") / "origin.json").write_text(json.dumps(content))
    report = run_audit(data=fork_folder("calm"))
    assert not report["clean"]
    fork = report["fork"]
    assert fork is not None
    (sentence,) = fork["differing"]
    assert sentence.startswith(f"{POD}: the first {own.position:,} messages differ from those of its parent")
    (fork_folder("calm") / "origin.json").write_text("{}")
    report = run_audit(data=fork_folder("calm"))
    fork = report["fork"]
    assert fork is not None
    assert "origin.json is damaged" in fork["differing"][0]


def test_a_fork_of_a_fork_has_the_history_of_both(parent: Path, lines: list[bytes]) -> None:
    first = run_fork(ForkOptions("first", "5d"), parent)
    driven("first", FORKED_AT + DAY)
    second = run_fork(ForkOptions("second", f"{FORKED_AT + US_PER_HOUR}us"), fork_folder("first"))
    assert second.parent == first.twin != second.twin
    assert log_of("second") == lines[: second.sites[0].position]
    assert second.sites[0].position > first.sites[0].position


@pytest.mark.parametrize("name", ["", "A", "a/b", "..", "-a", "a-", "a" * 41, "a.partial", "é", "a\n"])
def test_an_invalid_name_is_an_error_in_one_sentence(parent: Path, name: str) -> None:
    with pytest.raises(InvalidInput, match=r"^fork .*: is not a valid name; must be 1 to 40 lowercase"):
        run_fork(ForkOptions(name), parent)


@pytest.mark.parametrize(
    ("requested", "error", "sentence"),
    [
        (
            ForkOptions("x", "36d"),
            InvalidInput,
            "at '36d': is in the future; must be at most 35d00:00:00.000 (3024000000000 us)",
        ),
        (
            ForkOptions("x", "soon"),
            InvalidInput,
            "at 'soon': must be a duration before now like -2h (or `2h ago`), or a time since the start",
        ),
        (ForkOptions("x", "scheduler@pod-0/99999999"), NotFound, "not on any log"),
        (ForkOptions("x", settings=("pod.cubes=4",)), InvalidInput, "pod.cubes"),
        (ForkOptions("x", settings=("failures.host_per_day=500",)), InvalidInput, "500.0 is not allowed"),
        (ForkOptions("x", settings=("repairs.technicians=3@2h",)), InvalidInput, "leave @IN out"),
        (ForkOptions("x", settings=("repairs.technicians=3",) * 2), InvalidInput, "is set twice"),
    ],
)
def test_a_refused_fork_leaves_nothing_behind(
    parent: Path, requested: ForkOptions, error: type[LightwaveError], sentence: str
) -> None:
    before = files_in(parent)
    with pytest.raises(error) as raised:
        run_fork(requested, parent)
    assert sentence in str(raised.value)
    assert not forks_folder().exists() or [*forks_folder().iterdir()] == []
    assert files_in(parent) == before


def test_an_existing_fork_is_refused_and_a_removed_one_is_gone(parent: Path) -> None:
    run_fork(ForkOptions("calm", "5d"), parent)
    with pytest.raises(OperationFailed, match="fork calm: already exists"):
        run_fork(ForkOptions("calm"), parent)
    row = fork_row("calm")
    assert (row.place, row.at_us, row.now_us, row.runs) == (str(parent), FORKED_AT, FORKED_AT, False)
    assert row.bytes > 100_000
    folder = DataFolder(fork_folder("calm"))
    folder.hold()
    assert fork_row("calm").runs
    with pytest.raises(OperationFailed, match="fork calm: runs; stop it first"):
        remove_fork("calm")
    folder.release()
    remove_fork("calm")
    assert fork_names() == []
    assert [*forks_folder().iterdir()] == []
    with pytest.raises(NotFound, match="fork calm: no such fork"):
        remove_fork("calm")


def test_a_killed_command_leaves_no_fork_and_can_be_repeated(parent: Path) -> None:
    sync = os.fsync
    for moment in (1, 3, 6):
        if (child := os.fork()) == 0:
            calls = 0

            def killed(number: Any, moment: int = moment) -> None:
                nonlocal calls
                calls += 1
                if calls == moment:
                    os.kill(os.getpid(), signal.SIGKILL)
                sync(number)

            os.fsync = killed  # type: ignore[assignment]  # of this child alone
            run_fork(ForkOptions("calm", "5d"), parent)
            os._exit(0)
        assert os.waitpid(child, 0)[1] == signal.SIGKILL
        assert fork_names() == []
        assert [path.name for path in forks_folder().iterdir()] == [f"calm{PARTIAL}"]
    run_fork(ForkOptions("calm", "5d"), parent)
    assert [path.name for path in forks_folder().iterdir()] == ["calm"]
    (forks_folder() / f"calm{PARTIAL}").mkdir()
    remove_fork("calm")
    assert [*forks_folder().iterdir()] == []


def test_a_full_disk_leaves_no_fork(parent: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for moment in (1, 4):
        calls = iter(range(1, 100))

        def full(_number: Any, moment: int = moment, calls: Iterator[int] = calls) -> None:
            if next(calls) == moment:
                raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(OperationFailed, match=r"^fork .*calm.*No space left on device"):
            run_fork(ForkOptions("calm", "5d"), parent)
        assert [*forks_folder().iterdir()] == []
