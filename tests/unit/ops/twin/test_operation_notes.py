"""The records of an embedded twin in its operations log."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ops.local.software_version import software_version
from ops.sites.site_plans import single_fabric_sites
from ops.twin import operation_notes
from ops.twin.data_folder import TwinIdentity
from ops.twin.operation_notes import record_plan, record_version, recorded_rebuild
from schemas.files.operations_log import (
    OperationBody,
    RebuildBegun,
    RebuildEnded,
    TwinPlanned,
    VersionStarted,
)
from shared.basics.errors import LogDamaged
from shared.runtimes.embedded.embedded_clock import EmbeddedClock
from shared.runtimes.embedded.site_runner import SiteRunner
from tests.support.gateway_twin import QUIET, DrivenTwin
from tests.support.memory_operations import MemoryOperations

pytestmark = pytest.mark.integration


def bodies_of(operations: MemoryOperations) -> list[OperationBody]:
    return [operation.body for _, operation in operations.read()]


@pytest.fixture
def twin(tmp_path: Path) -> Iterator[DrivenTwin]:
    made = DrivenTwin(tmp_path, ["pod.cubes=4", *QUIET])
    yield made
    made.close()


def test_a_twin_is_planned_once() -> None:
    operations = MemoryOperations()
    identity = TwinIdentity(sites=single_fabric_sites(2))
    for speed in (60.0, 1.0):
        record_plan(operations, identity, EmbeddedClock(speed=speed).show())
    (plan,) = bodies_of(operations)
    assert isinstance(plan, TwinPlanned)
    assert (plan.sites, plan.partitions, plan.speed, plan.paused) == (identity.sites, 2, 60.0, False)


def test_a_version_is_recorded_when_it_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    operations = MemoryOperations()
    for version in ("1", "1", "2", "2", "1"):
        monkeypatch.setattr(operation_notes, "software_version", lambda version=version: version)
        record_version(operations)
    assert bodies_of(operations) == [VersionStarted(process="up", software=version) for version in "121"]


def test_a_rebuild_is_recorded_with_its_outcome(twin: DrivenTwin) -> None:
    operations = MemoryOperations()
    (runner,) = recorded_rebuild(operations, lambda: twin.twin.sites)
    begun, ended = bodies_of(operations)
    assert begun == RebuildBegun(software=software_version())
    assert ended == RebuildEnded(result="done", messages=runner.position, state_sha256=runner.digest())


def test_an_impossible_rebuild_is_recorded_as_refused() -> None:
    operations = MemoryOperations()

    def damaged() -> list[SiteRunner]:
        raise LogDamaged("pod-0: differs from what its services emit: position 7")

    with pytest.raises(LogDamaged):
        recorded_rebuild(operations, damaged)
    sentence = "pod-0: differs from what its services emit: position 7"
    assert bodies_of(operations)[1] == RebuildEnded(result="refused", sentence=sentence)
