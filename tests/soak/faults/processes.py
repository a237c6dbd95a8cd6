"""Faults of the twin's processes, one or many at a time."""

import contextlib
import resource
import shutil
import signal
from pathlib import Path

from shared.basics.errors import InvalidInput, LightwaveError
from shared.runtimes.live.process.process_registry import processes
from tests.soak.fault_plan import PlannedFault
from tests.soak.faults.context import RUNNING_S_MAX, FaultContext

EXTRA = "sequencer-extra"
NAMESAKE_S_MAX = 30.0
REFUSED = "another live process has this name"
WITHIN_S = 1.0
"""In which the kills of a burst come."""


def kill(context: FaultContext, fault: PlannedFault) -> None:
    """SIGKILL; its supervisor starts it again."""
    context.signal([fault.target.name], signal.SIGKILL)


def restart(context: FaultContext, fault: PlannedFault) -> None:
    """SIGTERM; its supervisor starts it again."""
    context.signal([fault.target.name], signal.SIGTERM)


def pause(context: FaultContext, fault: PlannedFault) -> None:
    """SIGSTOP, later SIGCONT."""
    _pause_all(context, fault, [fault.target.name])


def hold_down(context: FaultContext, fault: PlannedFault) -> None:
    """SIGKILL, without a restart for a while."""
    context.twin.supervisor.drop(fault.target.name, signal.SIGKILL)
    try:
        context.hold(fault.duration_s)
    finally:
        context.twin.start_process(fault.target.name)


def exhaust_files(context: FaultContext, fault: PlannedFault) -> None:
    """It may open no more files, nor connections, than it has; if it ends of that, it is back as it was."""
    name, limit = fault.target.name, resource.RLIMIT_NOFILE
    found: list[int] = []

    def runs() -> bool:
        pid = context.twin.supervisor.pids()[name]
        found.extend([] if pid is None else [pid])
        return bool(found)

    if not context.wait_until(runs):
        context.problems.append(f"no files to exhaust: for {RUNNING_S_MAX:.0f} s {name} did not run")
        return
    pid = found[0]
    try:
        soft, hard = resource.prlimit(pid, limit)
        held = len([*Path(f"/proc/{pid}/fd").iterdir()])
        resource.prlimit(pid, limit, (held, hard))
    except OSError:
        context.missed.append(f"{name} ended before its files were exhausted")
        return
    try:
        context.hold(fault.duration_s)
    finally:
        with contextlib.suppress(OSError):  # it has ended of it
            resource.prlimit(pid, limit, (soft, hard))


def double_sequencer(context: FaultContext, fault: PlannedFault) -> None:
    """Start an additional sequencer."""
    context.twin.start_sequencer(EXTRA)
    try:
        context.hold(fault.duration_s)
    finally:
        context.twin.supervisor.drop(EXTRA)


def namesake(context: FaultContext, fault: PlannedFault) -> None:
    """Start a second process with the name of a running one: it must be refused for its name."""
    words = context.twin.words_of(fault.target.name)
    if fault.target.kind == "gateway":
        words[words.index("--port") + 1] = "0"  # or it would be refused for the port, which is in use
    done = context.command(*words, kill_after_s=NAMESAKE_S_MAX)
    if done.code != InvalidInput.exit_code or REFUSED not in done.stderr:
        context.problems.append(f"a second {fault.target.name} was not refused: {done}")


def delete_copy(context: FaultContext, fault: PlannedFault) -> None:
    """The gateway's copy of the log is removed under it, then the gateway is killed."""
    shutil.rmtree(context.twin.data_of(fault.target.name) / "mirror", ignore_errors=True)
    context.hold(fault.duration_s)
    kill(context, fault)


# --- many at once -------------------------------------------------------------------------------------------


def kill_some(context: FaultContext, fault: PlannedFault) -> None:
    """A burst: several processes of any kind within a second."""
    names = context.twin.supervisor.names
    count = 2 + fault.index("how many", min(5, len(names) - 2))
    for place in range(count):
        context.send(names.pop(fault.index(f"which {place}", len(names))), signal.SIGKILL)
        context.hold(fault.between(f"next {place}", 0.0, WITHIN_S / count))


def kill_workers(context: FaultContext, _: PlannedFault) -> None:
    """All workers at once."""
    context.signal([*context.twin.workers], signal.SIGKILL)


def kill_everything(context: FaultContext, fault: PlannedFault) -> None:
    """Every process, Kafka and Redis with them; the two are back after a while."""
    context.signal(context.twin.supervisor.names, signal.SIGKILL)
    context.twin.kafka.kill()
    context.twin.redis.kill()
    try:
        context.hold(fault.duration_s)
    finally:
        context.twin.kafka.start(wait=False)
        context.twin.redis.start(wait=False)


def pause_kind(context: FaultContext, fault: PlannedFault) -> None:
    """All sequencers, all gateways, or all workers of one service are suspended."""
    _pause_all(context, fault, _of_one_kind(context, fault))


def restart_kind(context: FaultContext, fault: PlannedFault) -> None:
    """SIGTERM to the same set of processes."""
    context.signal(_of_one_kind(context, fault), signal.SIGTERM)


def stop_kafka_at_join(context: FaultContext, fault: PlannedFault) -> None:
    """All workers are killed; Kafka is suspended when the first worker is back in its group."""
    old = {row["token"] for row in processes(context.twin.store)}
    kill_workers(context, fault)
    if not context.wait_until(lambda: _first_is_back(context, old)):
        context.problems.append(
            f"all workers were killed, and none held a partition after {RUNNING_S_MAX:.0f} s"
        )
        return
    context.twin.kafka.pause()
    try:
        context.hold(fault.duration_s)
    finally:
        context.twin.kafka.resume()


def _first_is_back(context: FaultContext, old: set[str]) -> bool:
    try:
        rows = processes(context.twin.store)
    except LightwaveError:
        return False
    return any(row["kind"] == "worker" and row["partitions"] and row["token"] not in old for row in rows)


def _of_one_kind(context: FaultContext, fault: PlannedFault) -> list[str]:
    workers = context.twin.workers
    groups = [[*context.twin.sequencers], [*context.twin.gateways]]
    for service in context.twin.options.services:
        groups.append([name for name in workers if workers[name] == service])
    return groups[fault.index("kind", len(groups))]


def _pause_all(context: FaultContext, fault: PlannedFault, names: list[str]) -> None:
    pids = context.signal(names, signal.SIGSTOP)
    try:
        context.hold(fault.duration_s)
    finally:
        for pid in pids:
            context.twin.supervisor.resume(pid)
