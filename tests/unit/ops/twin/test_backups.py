"""Backups and restores of a data folder, with disk failures and refusals."""

import errno
import gzip
import hashlib
import itertools
import json
import os
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
import zstandard

from ops.sites.site_plans import single_fabric_sites
from ops.twin.backups import create, restore
from ops.twin.backups.backup_files import INBOX, MANIFEST, PARTIAL, atomic_folder, log_chunks, write_file
from ops.twin.backups.backup_point import twin_identity
from ops.twin.backups.create import run_backup
from ops.twin.backups.manifest import manifest_bytes, verify_backup
from ops.twin.backups.restore import run_restore
from ops.twin.data_folder import IDENTITY_FILE, DataFolder, TwinIdentity
from schemas.files.backup_manifest import (
    BackupFile,
    BackupManifest,
    BackupPoint,
    CancelledKey,
    SavedClock,
    SiteLogCut,
    WaitingRequest,
)
from shared.basics.errors import InvalidInput, LightwaveError, LogDamaged, NotFound, OperationFailed
from shared.runtimes.embedded.operations_file import OperationsFile
from shared.storage.log.log_bytes import site_log

LOG = b'{"one": 1}\n{"two": 2}\n'
BEYOND = b'{"three": 3}\n{"to'
POINT = BackupPoint(
    twin="first",
    software="1.0+0",
    wall_us=1_000,
    plans=single_fabric_sites(1, pairs=["pod.cubes=4"]),
    sites=(SiteLogCut(site="pod-0", position=2, size=len(LOG)),),
    clock=SavedClock(speed=60.0, paused=True, now_us=7_000),
    inbox=(WaitingRequest(site="pod-0", number=9, fabric="pod-0", type="DrainCube", body="{}"),),
    cancelled=(CancelledKey(key="k", kept_s=5),),
    operations_size=8,
    letters_size=0,
)


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a hand-made folder of a twin. Its log, snapshots and frames extend beyond the point."""
    place = tmp_path / "data"
    files = {
        "log/pod-0.jsonl": LOG + BEYOND,
        "snapshots/pod-0/000000000002.snapshot": b"of then",
        "snapshots/pod-0/000000000003.snapshot": b"of later",
        "telemetry/pod-0/00000000000000007000.arrows": b"of then",
        "telemetry/pod-0/00000000000000007001.arrows": b"of later",
        "operations.jsonl": b"{then}\n\n{later}\n",
        IDENTITY_FILE: TwinIdentity(sites=POINT.plans).model_dump_json().encode(),
        "running.json": b"secret",
        "redis/password.conf": b"secret",
    }
    for name, content in files.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes(content)
    monkeypatch.setattr(create, "stopped_backup_point", lambda _folder, _redis: POINT)
    monkeypatch.setattr(restore, "_make_states", lambda *_given: None)
    return place


def files_in(place: Path) -> dict[str, bytes]:
    return {str(f.relative_to(place)): f.read_bytes() for f in sorted(place.rglob("*")) if f.is_file()}


def test_a_restored_folder_has_the_data_up_to_the_point_and_another_identity(
    data: Path, tmp_path: Path
) -> None:
    manifest = run_backup(tmp_path / "b", data)
    kept = files_in(tmp_path / "b")
    assert not [name for name, content in kept.items() if b"secret" in content]
    assert {row.path for row in manifest.files} == kept.keys() - {MANIFEST}
    assert verify_backup(tmp_path / "b") == manifest
    assert json.loads(kept[INBOX])["waiting"][0]["number"] == 9
    assert run_restore(tmp_path / "b", tmp_path / "new") == manifest
    made = files_in(tmp_path / "new")
    operations = made.pop("operations.jsonl")
    assert operations.startswith(b"{then}\n\n")
    assert made.keys() == {
        *("log/pod-0.jsonl", "clock.json", IDENTITY_FILE),
        *("snapshots/pod-0/000000000002.snapshot", "telemetry/pod-0/00000000000000007000.arrows"),
    }
    assert made["log/pod-0.jsonl"] == LOG
    folder = DataFolder(tmp_path / "new")
    assert folder.stored_clock() == POINT.clock
    assert twin_identity(OperationsFile(folder.operations)) not in ("", "first")
    assert ((tmp_path / "new").stat().st_mode & 0o777) == 0o700


def commands(data: Path, tmp_path: Path) -> dict[str, Callable[[], Any]]:
    run_backup(tmp_path / "good", data)
    return {
        "backup": lambda: run_backup(tmp_path / "made", data),
        "restore": lambda: run_restore(tmp_path / "good", tmp_path / "made"),
    }


@pytest.mark.parametrize("command", ["backup", "restore"])
def test_a_full_disk_at_any_time_leaves_nothing(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    run, sync, moments = commands(data, tmp_path)[command], os.fsync, 0
    before = files_in(data)

    def full_at(moment: int) -> Callable[[int], None]:
        calls = 0

        def full(number: int) -> None:
            nonlocal calls
            calls += 1
            if calls == moment:
                raise OSError(errno.ENOSPC, "No space left on device")
            sync(number)

        return full

    while True:
        moments += 1
        monkeypatch.setattr(os, "fsync", full_at(moments))
        with pytest.raises(OperationFailed, match=r"made\b.*No space left on device"):
            run()
        assert not (tmp_path / f"made{PARTIAL}").exists()
        if (tmp_path / "made").exists():  # it was complete, and only its name was not synced
            break
    assert moments > 8
    assert files_in(data) == before


@pytest.mark.integration
@pytest.mark.parametrize("command", ["backup", "restore"])
def test_a_killed_command_can_be_repeated(data: Path, tmp_path: Path, command: str) -> None:
    run, sync = commands(data, tmp_path)[command], os.fsync
    run()
    wanted = files_in(tmp_path / "made").keys()
    for moment in range(1, 30):
        shutil.rmtree(tmp_path / "made", ignore_errors=True)
        if (child := os.fork()) == 0:
            calls = itertools.count(1)

            def killing(number: int, calls: Iterator[int] = calls, moment: int = moment) -> None:
                if next(calls) == moment:
                    os.kill(os.getpid(), signal.SIGKILL)
                sync(number)

            setattr(os, "fsync", killing)  # noqa: B010 -- of the child alone
            run()
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if not (tmp_path / "made").exists():
            run()
        assert files_in(tmp_path / "made").keys() == wanted
        assert not (tmp_path / f"made{PARTIAL}").exists()
        if status == 0:
            break
    assert moment > 8


@pytest.mark.parametrize("command", ["backup", "restore"])
def test_an_unwritable_target_is_an_error_in_one_sentence(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    run = commands(data, tmp_path)[command]

    def refused(path: Path, **_how: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system", str(path))

    monkeypatch.setattr(Path, "mkdir", refused)
    with pytest.raises(OperationFailed, match=r"made: .*Read-only file system"):
        run()


@pytest.mark.parametrize("command", ["backup", "restore"])
def test_existing_files_are_never_overwritten(data: Path, tmp_path: Path, command: str) -> None:
    run, made = commands(data, tmp_path)[command], tmp_path / "made"
    made.mkdir()
    run()
    before = files_in(made)
    with pytest.raises(OperationFailed, match="is not empty; give a folder that is new or empty"):
        run()
    assert files_in(made) == before
    shutil.rmtree(made)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "kept").write_text("mine")
    made.symlink_to(tmp_path / "other")
    with pytest.raises(OperationFailed, match="is not empty"):
        run()
    made.unlink()
    made.write_text("mine")
    with pytest.raises(OperationFailed, match="is not a folder"):
        run()
    made.unlink()
    part = tmp_path / f"made{PARTIAL}"
    part.mkdir()
    (part / "thesis.tex").write_text("mine")
    with pytest.raises(OperationFailed, match=r"thesis.tex in it is not a file of a twin; move it away"):
        run()
    assert (part / "thesis.tex").read_text() == "mine"


def test_two_processes_do_not_write_one_folder(tmp_path: Path) -> None:
    with atomic_folder(tmp_path / "made", "backup") as part:
        (part / MANIFEST).write_text("first")
        with (
            pytest.raises(OperationFailed, match="is being written by another process"),
            atomic_folder(tmp_path / "made", "backup"),
        ):
            pass
    assert (tmp_path / "made" / MANIFEST).read_text() == "first"


def test_every_change_of_a_backup_is_found_and_named(data: Path, tmp_path: Path) -> None:
    run_backup(tmp_path / "good", data)
    names = files_in(tmp_path / "good").keys()
    for name in names:
        changes: list[Callable[[bytes], bytes | None]] = [
            lambda content: bytes([content[0], content[1] ^ 1, *content[2:]]),
            lambda content: content[:-2],
            lambda content: content + b" ",
            lambda _content: None,
        ]
        for change in changes if name != MANIFEST else [*changes[:2], changes[3]]:
            bad = shutil.copytree(tmp_path / "good", tmp_path / "bad")
            changed = change((bad / name).read_bytes())
            (bad / name).unlink() if changed is None else (bad / name).write_bytes(changed)
            with pytest.raises(LightwaveError) as refused:
                run_restore(bad, tmp_path / "new")
            assert str(refused.value).startswith(f"backup {bad}: ")
            assert name in str(refused.value)
            assert not (tmp_path / "new").exists()
            shutil.rmtree(bad)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (b"{}", "manifest.json is not a valid manifest"),
        (b"[]", "manifest.json is not a valid manifest"),
        (b'{"format": 2, "sha256": ""}', "manifest.json has format 2; must be 1"),
    ],
)
def test_a_foreign_folder_is_not_a_backup(tmp_path: Path, text: bytes, sentence: str) -> None:
    (tmp_path / MANIFEST).write_bytes(text)
    with pytest.raises(OperationFailed, match=sentence):
        verify_backup(tmp_path)
    with pytest.raises(NotFound, match="no such folder"):
        verify_backup(tmp_path / "nowhere")


def test_a_manifest_with_a_path_outside_the_backup_is_refused(data: Path, tmp_path: Path) -> None:
    manifest = run_backup(tmp_path / "b", data)
    first = manifest.files[0].model_copy(update={"path": "snapshots/../../lightwave-twin.json"})
    forged = manifest.model_copy(update={"files": (first, *manifest.files[1:])})
    (tmp_path / "b" / MANIFEST).write_bytes(manifest_bytes(forged))
    with pytest.raises(OperationFailed, match="is not a valid manifest"):
        verify_backup(tmp_path / "b")


PLAIN = 20_000_000


@pytest.mark.parametrize(
    "packed",
    [
        zstandard.compress(b"0" * PLAIN),
        zstandard.compress(b"{}\n" * (PLAIN // 3)),
        zstandard.ZstdCompressor(write_content_size=False).compress(b"0" * PLAIN),
        zstandard.compress(LOG) + zstandard.compress(b"0" * PLAIN),
        gzip.compress(b"0" * PLAIN),
        b"0" * PLAIN,
    ],
    ids=["one line", "many lines", "no declared size", "second frame", "gzip", "plain"],
)
def test_a_log_that_unpacks_to_more_is_written_one_byte_too_far_at_most(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, packed: bytes
) -> None:
    forge(tmp_path / "b", run_backup(tmp_path / "b", data), "log/pod-0.jsonl.zst", packed)
    sizes: list[int] = []

    def write(*given: Any) -> BackupFile:
        made = write_file(*given)
        sizes.append(made.size)
        return made

    monkeypatch.setattr(restore, "write_file", write)
    with pytest.raises(OperationFailed, match="holds more bytes of log than the 22 with which"):
        run_restore(tmp_path / "b", tmp_path / "new")
    assert max(sizes) < 10_000
    assert len(LOG) + 1 in sizes
    assert not (tmp_path / "new").exists()


def forge(backup: Path, manifest: BackupManifest, name: str, content: bytes) -> None:
    """Replace a file of a backup, with a manifest that agrees."""
    (backup / name).write_bytes(content)
    digest = hashlib.sha256(content).hexdigest()
    changed = {"size": len(content), "sha256": digest}
    files = [row.model_copy(update=changed if row.path == name else {}) for row in manifest.files]
    forged = manifest.model_copy(update={"files": tuple(files)})
    (backup / MANIFEST).write_bytes(manifest_bytes(forged))


def test_a_file_with_a_hole_of_an_exabyte_is_not_read(data: Path, tmp_path: Path) -> None:
    run_backup(tmp_path / "b", data)
    os.truncate(tmp_path / "b" / "log" / "pod-0.jsonl.zst", 1 << 42)
    with pytest.raises(OperationFailed, match=r"has 4398046511104 bytes; it was written with"):
        verify_backup(tmp_path / "b")


@pytest.mark.parametrize("name", ["log", "snapshots", "snapshots/pod-0", "telemetry", "telemetry/pod-0"])
def test_folders_of_a_backup_are_not_links(data: Path, tmp_path: Path, name: str) -> None:
    run_backup(tmp_path / "b", data)
    (tmp_path / "b" / name).rename(tmp_path / "elsewhere")
    (tmp_path / "b" / name).symlink_to(tmp_path / "elsewhere")
    sentence = f"{Path(name).name}: is a link; must be a folder"
    with pytest.raises(OperationFailed, match=sentence):
        verify_backup(tmp_path / "b")
    with pytest.raises(OperationFailed, match=sentence):
        run_restore(tmp_path / "b", tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_a_log_that_is_not_what_the_twin_wrote_is_not_backed_up(data: Path, tmp_path: Path) -> None:
    (data / "log" / "pod-0.jsonl").write_bytes(LOG[:-3])
    with pytest.raises(LogDamaged, match=r"holds 1 messages in 19 bytes, but the twin wrote 2 in 22"):
        run_backup(tmp_path / "b", data)
    assert not (tmp_path / "b").exists()


def test_a_log_that_cannot_be_read_is_reported_by_its_data_folder(tmp_path: Path) -> None:
    """It applies to backups and to forks."""
    (tmp_path / "log" / "pod-0.jsonl").mkdir(parents=True)
    log = site_log(tmp_path / "log", "pod-0")
    with pytest.raises(OperationFailed, match=rf"^data folder {tmp_path}: pod-0.jsonl: Is a directory$"):
        [*log_chunks(tmp_path, log, 5)]
    assert [*log_chunks(tmp_path, site_log(tmp_path / "log", "pod-1"), 0)] == []


def test_a_build_that_reads_the_log_differently_reports_it(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_backup(tmp_path / "b", data)

    def differ(*_given: object) -> None:
        raise LogDamaged("pod-0: position 1 differs")

    monkeypatch.setattr(restore, "_make_states", differ)
    with pytest.raises(
        OperationFailed, match=r"was created by 1\.0\+0; the services of .*: position 1 differs"
    ):
        run_restore(tmp_path / "b", tmp_path / "new")
    assert not (tmp_path / "new").exists()
    assert orjson.loads((tmp_path / "b" / MANIFEST).read_bytes())["software"] == "1.0+0"


@pytest.mark.parametrize("place", ["", "backups/one"])
def test_a_backup_cannot_be_inside_its_twin(data: Path, place: str) -> None:
    before = files_in(data)
    with pytest.raises(InvalidInput, match=r"is inside the data folder; must be outside it"):
        run_backup(data / place, data)
    assert files_in(data) == before
