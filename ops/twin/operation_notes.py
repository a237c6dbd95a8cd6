"""What `lightwave up` notes on the operations log as it starts, as a live twin's commands do: how the twin
was planned, that its states are made again, that another version of the software runs it."""

import uuid
from collections.abc import Callable, Sequence

from ops.local.software_version import software_version
from ops.twin.data_folder import TwinIdentity
from schemas.files.operations_log import (
    OperationBody,
    RebuildBegun,
    RebuildEnded,
    TwinPlanned,
    VersionStarted,
)
from shared.basics.errors import LightwaveError
from shared.engine.state_codec import encode_instance, state_digest
from shared.runtimes.embedded.site_runner import SiteRunner
from shared.runtimes.operations_log import OperationsLog, local_person, new_operation
from shared.runtimes.simulated_clock import ClockState

PROCESS = "up"
"""The name of a twin's only process."""


def record_plan(operations: OperationsLog, identity: TwinIdentity, clock: ClockState) -> None:
    """Note what a twin is to be made of, of which nothing is on any log yet; once, whoever is killed."""
    if not any(isinstance(found.body, TwinPlanned) for _, found in operations.read()):
        plan = TwinPlanned(
            twin=uuid.uuid4().hex,
            sites=identity.sites,
            partitions=len(identity.sites),
            replication=1,
            speed=clock.speed,
            paused=clock.paused,
        )
        _record(operations, plan)


def record_version(operations: OperationsLog) -> None:
    """Note the version that runs the twin from now on, if it is another one than did before."""
    before = [found.body for _, found in operations.read() if isinstance(found.body, VersionStarted)]
    started = VersionStarted(process=PROCESS, software=software_version())
    if before[-1:] != [started]:
        _record(operations, started)


def recorded_rebuild(
    operations: OperationsLog, rebuild: Callable[[], Sequence[SiteRunner]]
) -> Sequence[SiteRunner]:
    """Make every state again, and note when that began and how it ended."""
    _record(operations, RebuildBegun(software=software_version()))
    try:
        sites = rebuild()
    except LightwaveError as error:
        _record(operations, RebuildEnded(result="refused", sentence=str(error)))
        raise
    digest = state_digest((i.source, encode_instance(i)) for runner in sites for i in runner.site.instances)
    messages = sum(runner.position for runner in sites)
    _record(operations, RebuildEnded(result="done", messages=messages, state_sha256=digest))
    return sites


def _record(operations: OperationsLog, body: OperationBody) -> None:
    operations.append(new_operation(body, local_person()))
