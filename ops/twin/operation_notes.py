"""Records of `lightwave up` on the operations log: plan of the twin, rebuilds, and changes of the version."""

import uuid
from collections.abc import Callable, Sequence

from ops.local.software_version import software_version
from ops.report.wall_time import format_wall_time
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
    """Record the plan of a new twin, once, even if an earlier start was killed."""
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
    """Record the version that runs the twin, if it differs from the last recorded one."""
    before = [found.body for _, found in operations.read() if isinstance(found.body, VersionStarted)]
    started = VersionStarted(process=PROCESS, software=software_version())
    if before[-1:] != [started]:
        _record(operations, started)


def recorded_rebuild(
    operations: OperationsLog, rebuild: Callable[[], Sequence[SiteRunner]]
) -> Sequence[SiteRunner]:
    """Rebuild every state, and record start and result."""
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


def record_refusal(operations: OperationsLog, reason: str, messages: int, state_sha256: str) -> None:
    """Record that the stored states of a site were changed by something other than the twin, and were rebuilt
    from its log."""
    _record(operations, RebuildBegun(software=software_version(), reason=reason))
    _record(operations, RebuildEnded(result="done", messages=messages, state_sha256=state_sha256))


def refusals(operations: OperationsLog) -> list[str]:
    """Return a sentence for each time that something other than the twin changed stored states, oldest
    first."""
    found = (row for _, row in operations.read() if isinstance(row.body, RebuildBegun))
    return [
        f"{format_wall_time(row.wall_us)}: {row.body.reason}"
        for row in found
        if isinstance(row.body, RebuildBegun) and row.body.reason is not None
    ]


def _record(operations: OperationsLog, body: OperationBody) -> None:
    operations.append(new_operation(body, local_person()))
