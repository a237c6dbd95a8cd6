"""`lightwave archive` of a running and of a stopped twin, and its refusals."""

import os
import threading
from collections.abc import Iterator
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest

from ops.cli.run.archive import KEEP_S
from ops.sites.site_plans import single_fabric_sites
from ops.twin.data_folder import IDENTITY_FILE, DataFolder, TwinIdentity
from ops.twin.log_archive import LogArchiver, run_archive
from schemas.files.operations_log import LogArchived
from services.gateway.admin.dead_letters import ANONYMOUS
from services.gateway.http.access.caller import Caller, Role
from services.gateway.http.access.tokens import Tokens
from services.gateway.http.app import create_app
from shared.basics.errors import InvalidInput, NotFound, OperationFailed
from shared.basics.units import US_PER_HOUR
from shared.runtimes.embedded.operations_file import OperationsFile
from shared.storage.log.archive_writer import find_archivable, truncated_path, write_segment
from shared.storage.log.log_bytes import LogBytes
from tests.support.gateway_twin import Client, DrivenTwin

pytestmark = pytest.mark.integration

PAIRS = ["pod.cubes=4"]
PATHS = (
    *("events?limit=1000", "events?limit=30&type=Tick", "slices", "cubes", "fabrics", "cubes?at=5h"),
    *("events?limit=50&at=7h", "events?for=pod-0/cube-1", "config/pod-0"),
)


@pytest.fixture
def twin(tmp_path: Path) -> Iterator[DrivenTwin]:
    twin = DrivenTwin(tmp_path, PAIRS)
    twin.advance(20)
    yield twin
    twin.close()


def content(twin: DrivenTwin) -> LogBytes:
    return twin.logs.open("pod-0").content


def read(log: LogBytes) -> bytes:
    with log.opened() as stream:
        return stream.read()


def compressed(log: LogBytes, hours: float) -> int:
    segment = find_archivable(log, int(hours * US_PER_HOUR))
    assert segment is not None
    write_segment(log, segment)
    return segment.end.offset


def answers(client: Client) -> list[tuple[int, Any]]:
    first = client.get("/v1/events?limit=1000").json()[0]["id"]
    responses = [client.get(f"/v1/{path}") for path in (*PATHS, f"why/{first}")]
    return [(response.status_code, response.json()) for response in responses]


def test_a_running_twin_continues_in_a_shorter_file_and_answers_as_before(twin: DrivenTwin) -> None:
    archive = LogArchiver(twin.logs, twin.twin, twin.operations)
    client = twin.client(archive=archive.take)
    log = content(twin)
    before, answers_before, size = read(log), answers(client), log.path.stat().st_size
    assert {status for status, _ in answers_before} == {200}
    for hours in (6, 12):
        offset = compressed(log, hours)
        answer = client.post("/v1/archive", json={"site": "pod-0", "offset": offset})
        assert (answer.status_code, answer.json()["offset"]) == (200, offset)
        again = client.post("/v1/archive", json={"site": "pod-0", "offset": offset})
        assert again.json() == answer.json()  # as if the answer had been lost
        assert (read(log), answers(client)) == (before, answers_before)
    noted = [
        operation
        for operation in map(itemgetter(1), twin.operations.read())
        if operation.type == "LogArchived"
    ]
    assert [(operation.who, operation.body.model_dump()["site"]) for operation in noted] == 2 * [
        (ANONYMOUS, "pod-0")
    ]
    assert noted[-1].body.model_dump()["position"] == twin.logs.open("pod-0").begins().position
    assert log.path.stat().st_size < size
    twin.advance(2)
    assert read(log).startswith(before)
    assert len(read(log)) > len(before)
    assert twin.logs.open("pod-0").size == len(read(log))
    twin.twin.sites[0].check_log()


def test_an_invalid_archive_request_is_refused(twin: DrivenTwin) -> None:
    archive, log = LogArchiver(twin.logs, twin.twin, twin.operations), content(twin)
    client, before = twin.client(archive=archive.take), read(log)
    with pytest.raises(NotFound, match="site pod-7: no such site"):
        archive.take("pod-7", 5, "me")
    with pytest.raises(InvalidInput, match="offset 5: the archive of pod-0 has no segment that ends there"):
        archive.take("pod-0", 5, "me")
    offset = compressed(log, 9)
    manifest = log.archive / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"seqs":{"', '"seqs":{"x":1,"'))
    answer = client.post("/v1/archive", json={"site": "pod-0", "offset": offset})
    assert answer.status_code == 503
    assert "last segment belongs to another log than pod-0" in answer.text
    assert client.post("/v1/archive", json={"site": "pod-0"}).status_code == 422
    assert (read(log), truncated_path(log).exists()) == (before, False)


def test_a_full_disk_is_reported_and_the_twin_continues(
    twin: DrivenTwin, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, sync, calls = content(twin), os.fsync, 0
    offset = compressed(log, 9)

    def full(number: int) -> None:
        nonlocal calls
        calls += 1
        if calls in (1, 3):  # the rest; then the rest again, and the messages that came meanwhile
            raise OSError(28, "No space left on device")
        sync(number)

    monkeypatch.setattr(os, "fsync", full)
    archive = LogArchiver(twin.logs, twin.twin, twin.operations)
    for _ in range(2):
        with pytest.raises(OperationFailed, match="No space left on device"):
            archive.take("pod-0", offset, "me")
        twin.advance(0.5)
        assert not truncated_path(log).exists()
    assert archive.take("pod-0", offset, "me").offset == offset
    twin.advance(0.5)
    twin.twin.sites[0].check_log()


def test_a_loop_that_comes_too_late_leaves_the_file_alone(
    twin: DrivenTwin, monkeypatch: pytest.MonkeyPatch
) -> None:
    from shared.runtimes.embedded import twin_loop as twin_module

    log = content(twin)
    offset, before = compressed(log, 9), read(log)
    monkeypatch.setattr(twin_module, "ANSWER_S_MAX", 0.05)
    may_go_on = threading.Event()
    holding = threading.Thread(target=lambda: _hold_until(twin, may_go_on))
    holding.start()
    with pytest.raises(OperationFailed, match="did not reach a quiet point"):
        LogArchiver(twin.logs, twin.twin, twin.operations).take("pod-0", offset, "me")
    may_go_on.set()
    holding.join()
    twin.advance(1)
    assert (read(log)[: len(before)], truncated_path(log).exists()) == (before, False)
    twin.twin.sites[0].check_log()


def _hold_until(twin: DrivenTwin, may_go_on: threading.Event) -> None:
    try:
        twin.twin.run_when_quiet(lambda: may_go_on.wait(30))
    except OperationFailed:
        return


def test_only_administrators_archive(twin: DrivenTwin) -> None:
    tokens = {role: f"the-token-of-a-{role}-here" for role in Role}
    known = Tokens((token, Caller(f"the-{role}", role)) for role, token in tokens.items())
    guarded = Client(create_app(twin.ports, tokens=known))
    for role, token in tokens.items():
        headers = {"authorization": f"Bearer {token}"}
        answer = guarded.post("/v1/archive", json={"site": "pod-0", "offset": 5}, headers=headers)
        assert answer.status_code == (404 if role is Role.ADMINISTRATOR else 403)
    live = twin.client().post("/v1/archive", json={"site": "pod-0", "offset": 5})
    assert "archive: this twin has no data folder; its log is stored in Kafka" in live.text


def test_a_twin_that_does_not_run_is_archived_by_the_command(tmp_path: Path) -> None:
    twin = DrivenTwin(tmp_path, PAIRS)
    twin.advance(20)
    before, log = read(content(twin)), content(twin)
    twin.close()
    plan = TwinIdentity(sites=single_fabric_sites(1, pairs=PAIRS, seed=3))
    (tmp_path / IDENTITY_FILE).write_text(plan.model_dump_json())
    (row,) = run_archive(tmp_path, KEEP_S * 1_000_000)
    assert (row.file, row.messages, row.begins) == (None, 0, 0)
    (row,) = run_archive(tmp_path, 5 * US_PER_HOUR)
    assert row.messages == row.begins > 0
    assert row.plain > row.size == Path(str(row.file)).stat().st_size
    (again,) = run_archive(tmp_path, 5 * US_PER_HOUR)
    assert (again.file, again.begins) == (None, row.begins)
    assert read(log) == before
    noted = [operation.body for _, operation in OperationsFile(DataFolder(tmp_path).operations).read()]
    assert noted == [LogArchived(site="pod-0", position=row.begins)]
    assert not (tmp_path / "running.json").exists()


def test_a_folder_that_holds_no_twin_is_refused(tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "none"):
        with pytest.raises(NotFound, match="holds no twin"):
            run_archive(place, 1)
    assert [*tmp_path.iterdir()] == []
