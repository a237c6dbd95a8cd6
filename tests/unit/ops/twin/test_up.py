"""Checks of `lightwave up` before it creates or removes anything."""

import socket
import stat
from pathlib import Path

import pytest

import shared.storage.files.folder_lock as folder_module
from ops.sites.site_plans import NewTwinOptions
from ops.twin.data_folder import IDENTITY_FILE, DataFolder, default_data
from ops.twin.operation_notes import record_plan
from ops.twin.up import UpOptions, _resume_command, run_up
from schemas.body import Body
from schemas.config.pods import SuperpodConfig
from schemas.envelope import Envelope
from schemas.files.backup_manifest import SavedClock
from schemas.files.operations_log import ClockChanged
from schemas.messages.ocs import OcsDown
from schemas.messages.scheduler import CubeSwapped
from services.gateway.text.notable_messages import notable_text
from shared.basics.errors import InvalidInput, OperationFailed, StoreUnreachable
from shared.runtimes.embedded.dead_letter_file import DeadLetterFile
from shared.runtimes.embedded.embedded_clock import EmbeddedClock
from shared.runtimes.embedded.operations_file import OperationsFile
from shared.runtimes.operations_log import new_operation
from shared.storage.files.atomic_files import write_private_text
from shared.storage.files.folder_lock import LOCK

INVALID_OPTIONS = [
    NewTwinOptions(pairs=("pod.cube=8",)),
    NewTwinOptions(kind="superpot"),
    NewTwinOptions(site_files=(Path("no-such.yaml"),)),
    NewTwinOptions(2, site_files=(Path("no-such.yaml"),)),
]


@pytest.mark.parametrize("requested", INVALID_OPTIONS)
def test_an_invalid_option_next_to_fresh_loses_nothing(requested: NewTwinOptions, tmp_path: Path) -> None:
    folder = DataFolder(tmp_path)
    folder.open_or_create(NewTwinOptions())
    folder.logs.mkdir()
    (folder.logs / "pod-0.jsonl").write_text("a message\n")
    with pytest.raises(InvalidInput):
        run_up(UpOptions(data=tmp_path, requested=requested, fresh=True, port=0))
    assert (folder.logs / "pod-0.jsonl").read_text() == "a message\n"
    assert (tmp_path / IDENTITY_FILE).exists()


def test_a_redis_that_does_not_answer_next_to_fresh_loses_nothing(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path)
    folder.open_or_create(NewTwinOptions())
    with pytest.raises(StoreUnreachable):
        run_up(UpOptions(data=tmp_path, fresh=True, port=0, redis="redis://127.0.0.1:1/0"))
    assert (tmp_path / IDENTITY_FILE).exists()


def test_a_second_start_is_refused_with_the_folder_and_the_port(tmp_path: Path) -> None:
    here, elsewhere = DataFolder(tmp_path / "here"), tmp_path / "elsewhere"
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        taken = f"port {port} on 127.0.0.1: Address already in use; choose another with --port"
        here.hold()
        both = (
            f"data folder {here.path}: in use by another lightwave process; {taken}, and another folder with"
        )
        for data, sentence in ((here.path, f"{both} --data"), (elsewhere, taken)):
            with pytest.raises(OperationFailed) as refused:
                run_up(UpOptions(data=data, port=port))
            assert str(refused.value) == sentence
        here.release()
        with pytest.raises(OperationFailed, match=rf"^{taken}$"):
            run_up(UpOptions(data=here.path, port=port))
    assert not elsewhere.exists()


@pytest.mark.parametrize("requested", INVALID_OPTIONS)
def test_an_invalid_option_leaves_no_new_folder(requested: NewTwinOptions, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput):
        run_up(UpOptions(data=tmp_path / "new", requested=requested, port=0))
    assert not (tmp_path / "new").exists()


def test_a_redis_that_does_not_answer_leaves_no_twin_behind(tmp_path: Path) -> None:
    with pytest.raises(StoreUnreachable):
        run_up(UpOptions(data=tmp_path / "new", port=0, redis="redis://127.0.0.1:1/0"))
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    "text",
    [
        '{"speed":1e400}',
        '{"speed":0}',
        '{"now_us":1e400}',
        '{"now_us":-1}',
        '{"until_us":99999999999999999999}',
        "5",
        "\x00",
        "[" * 10_000,
    ],
    ids=lambda text: text[:20],
)
def test_an_invalid_clock_is_ignored(text: str, tmp_path: Path) -> None:
    folder = DataFolder(tmp_path)
    folder.clock.write_text(text)
    assert folder.stored_clock() == SavedClock()


@pytest.mark.parametrize("text", [None, "{", '{"speed":0}'])
def test_a_lost_clock_is_restored_from_its_last_change(text: str | None, tmp_path: Path) -> None:
    folder = DataFolder(tmp_path)
    operations = OperationsFile(folder.operations)
    for speed, paused in ((600.0, False), (60.0, True)):
        operations.append(new_operation(ClockChanged(speed=speed, paused=paused, anchor_us=7), "ada"))
    if text is not None:
        folder.clock.write_text(text)
    assert folder.stored_clock() == SavedClock(speed=60.0, paused=True, now_us=7)


@pytest.mark.parametrize("text", [None, "{", '{"sites":[{"site":"pod-0"}]}'])
def test_a_lost_identity_is_restored_from_the_plan(text: str | None, tmp_path: Path) -> None:
    folder = DataFolder(tmp_path)
    made = folder.open_or_create(NewTwinOptions(2, seed=5))
    whole = (tmp_path / IDENTITY_FILE).read_text()
    record_plan(OperationsFile(folder.operations), made, EmbeddedClock(speed=1.0).show())
    folder.logs.mkdir()
    (folder.logs / "pod-0.jsonl").write_text("a message\n")
    (tmp_path / IDENTITY_FILE).unlink()
    if text is not None:
        (tmp_path / IDENTITY_FILE).write_text(text)
    assert folder.identity() == made
    with pytest.raises(InvalidInput, match="--pods 3: the twin has 2 sites"):
        folder.open_or_create(NewTwinOptions(3))
    assert folder.open_or_create(NewTwinOptions()) == made
    assert (tmp_path / IDENTITY_FILE).read_text() == whole


def test_a_twin_without_identity_and_plan_needs_a_backup(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path)
    (tmp_path / IDENTITY_FILE).write_text("{")
    with pytest.raises(
        OperationFailed, match=r"is damaged, and operations.jsonl has no plan .* from a backup"
    ):
        folder.identity()


def test_a_folder_where_a_file_should_be_is_named(tmp_path: Path) -> None:
    for name in (LOCK, "running.json", IDENTITY_FILE, "dead-letters.jsonl"):
        (tmp_path / name / "inner").mkdir(parents=True)
    folder = DataFolder(tmp_path)
    for act, sentence in (
        (folder.hold, f"data folder {tmp_path}: lock: Is a directory"),
        (lambda: folder.announce("", ""), f"data folder {tmp_path}: running.json: Is a directory"),
        (folder.identity, f"data folder {tmp_path}: {IDENTITY_FILE}: Is a directory"),
        (folder.clear, f"data folder {tmp_path}: dead-letters.jsonl: Is a directory"),
        (lambda: DeadLetterFile(folder.dead_letters), f"dead letters {folder.dead_letters}: Is a directory"),
    ):
        with pytest.raises(OperationFailed) as refused:
            act()
        assert str(refused.value) == sentence
    folder.release()


def test_a_folder_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.getuid", lambda: 4_242)
    monkeypatch.setattr(folder_module, "ROOT", 4_243)
    with pytest.raises(OperationFailed, match="belongs to another user; choose a folder of your own"):
        DataFolder(tmp_path).hold()


def test_only_the_user_can_read_the_folder_of_a_twin(tmp_path: Path) -> None:
    place = tmp_path / "twin"
    place.mkdir(mode=0o755)
    folder = DataFolder(place)
    folder.open_or_create(NewTwinOptions())
    folder.hold()
    folder.announce("http://127.0.0.1:1", "redis://:secret@127.0.0.1:2/0")
    assert stat.S_IMODE(place.stat().st_mode) == 0o700
    assert stat.S_IMODE((place / "running.json").stat().st_mode) == 0o600
    folder.release()


def test_only_the_user_can_read_a_new_folder(tmp_path: Path) -> None:
    place = tmp_path / "twin"
    place.mkdir()
    place.chmod(0o777)
    folder = DataFolder(place)
    folder.hold()
    assert stat.S_IMODE(place.stat().st_mode) == 0o700
    folder.release()


@pytest.mark.parametrize(("mode", "allowed"), [(0o755, True), (0o777, False), (0o775, False)])
def test_the_mode_of_a_folder_with_other_files_is_kept_if_only_the_user_can_write(
    tmp_path: Path, mode: int, allowed: bool
) -> None:
    (tmp_path / "letter.txt").write_text("dear Mia")
    tmp_path.chmod(mode)
    folder = DataFolder(tmp_path)
    if allowed:
        folder.hold()
        folder.release()
    else:
        with pytest.raises(OperationFailed, match=rf"is writable by others \(mode {mode:o}\); must be"):
            folder.hold()
        assert not folder.running()
    assert stat.S_IMODE(tmp_path.stat().st_mode) == mode


def test_a_link_under_the_name_of_a_part_is_not_followed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / "clock.part").symlink_to(victim)
    write_private_text(tmp_path / "clock.json", "{}")
    assert victim.read_text() == "precious"
    assert (tmp_path / "clock.json").read_text() == "{}"


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (UpOptions(default_data()), "lightwave up"),
        (UpOptions(Path("/d d"), port=9001), "lightwave up --data '/d d' --port 9001"),
        (
            UpOptions(default_data(), host="::1", redis="redis://:secret@h/0", tokens=Path("/t")),
            "lightwave up --host ::1 --redis URL --tokens /t",
        ),
    ],
)
def test_the_resume_command_has_the_options_that_locate_the_twin(options: UpOptions, sentence: str) -> None:
    assert _resume_command(options) == sentence


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (OcsDown(ocs=17), "OcsDown ocs=pod-0/ocs-17"),
        (
            CubeSwapped(slice="pod-0/slice-3", left=12, spare=31, corner=None, reason="failed"),
            "CubeSwapped slice=pod-0/slice-3 left=pod-0/cube-12 spare=pod-0/cube-31 reason=failed",
        ),
    ],
)
def test_messages_of_up_have_names_and_a_time(body: Body, sentence: str) -> None:
    message = Envelope(
        id="x@pod-0/1",
        type=type(body).__name__,
        fabric="pod-0",
        at_us=20_273_665_800,
        cause=None,
        source="x@pod-0",
        seq=1,
        v=1,
        body=body,
    )
    assert notable_text(message, SuperpodConfig()) == f"0d05:37:53 pod-0 {sentence}"
