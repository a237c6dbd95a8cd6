"""Strikes at the twin's own processes, one of them or many at once."""

import contextlib
import resource
import shutil
import signal
from pathlib import Path

from ops.soak.plan import Fault
from ops.soak.strikes.scene import BACK_S_MAX, Scene
from shared.basics.errors import InvalidInput, LightwaveError
from shared.runtimes.live.process.heartbeat import processes

EXTRA = "sequencer-extra"
NAMESAKE_S_MAX = 30.0
REFUSED = "another live process has this name"
WITHIN_S = 1.0
"""In which the kills of a burst come."""


def kill(scene: Scene, fault: Fault) -> None:
    """SIGKILL; its supervisor starts it again."""
    scene.signal([fault.target.name], signal.SIGKILL)


def restart(scene: Scene, fault: Fault) -> None:
    """SIGTERM; its supervisor starts it again."""
    scene.signal([fault.target.name], signal.SIGTERM)


def pause(scene: Scene, fault: Fault) -> None:
    """SIGSTOP, later SIGCONT."""
    _pause_all(scene, fault, [fault.target.name])


def hold_down(scene: Scene, fault: Fault) -> None:
    """SIGKILL, and nobody starts it for a while."""
    scene.twin.supervisor.drop(fault.target.name, signal.SIGKILL)
    try:
        scene.hold(fault.lasts_s)
    finally:
        scene.twin.start_process(fault.target.name)


def exhaust_files(scene: Scene, fault: Fault) -> None:
    """It may open no more files, nor connections, than it has; if it ends of that, it is back as it was."""
    name, limit = fault.target.name, resource.RLIMIT_NOFILE
    found: list[int] = []

    def runs() -> bool:
        pid = scene.twin.supervisor.pids()[name]
        found.extend([] if pid is None else [pid])
        return bool(found)

    if not scene.wait_until(runs):
        scene.problems.append(f"no files to exhaust: for {BACK_S_MAX:.0f} s {name} did not run")
        return
    pid = found[0]
    try:
        soft, hard = resource.prlimit(pid, limit)
        held = len([*Path(f"/proc/{pid}/fd").iterdir()])
        resource.prlimit(pid, limit, (held, hard))
    except OSError:
        scene.missed.append(f"{name} ended before its files were exhausted")
        return
    try:
        scene.hold(fault.lasts_s)
    finally:
        with contextlib.suppress(OSError):  # it has ended of it
            resource.prlimit(pid, limit, (soft, hard))


def double_sequencer(scene: Scene, fault: Fault) -> None:
    """One more sequencer than there are."""
    scene.twin.start_sequencer(EXTRA)
    try:
        scene.hold(fault.lasts_s)
    finally:
        scene.twin.supervisor.drop(EXTRA)


def namesake(scene: Scene, fault: Fault) -> None:
    """A second process under a name that lives: it is refused for that, with the exit code of a wrong use."""
    words = scene.twin.words_of(fault.target.name)
    if fault.target.kind == "gateway":
        words = [*words, "--port", "0"]  # or it would be refused for that
    done = scene.command(*words, kill_after_s=NAMESAKE_S_MAX)
    if done.code != InvalidInput.exit_code or REFUSED not in done.complained:
        scene.problems.append(f"a second {fault.target.name} was not refused: {done}")


def delete_copy(scene: Scene, fault: Fault) -> None:
    """The gateway's copy of the log is removed under it, then the gateway is killed."""
    shutil.rmtree(scene.twin.data_of(fault.target.name) / "mirror", ignore_errors=True)
    scene.hold(fault.lasts_s)
    kill(scene, fault)


# --- many at once -------------------------------------------------------------------------------------------


def kill_some(scene: Scene, fault: Fault) -> None:
    """A burst: several processes of any kind within a second."""
    names = scene.twin.supervisor.names
    count = 2 + fault.index("how many", min(5, len(names) - 2))
    for place in range(count):
        scene.send(names.pop(fault.index(f"which {place}", len(names))), signal.SIGKILL)
        scene.hold(fault.between(f"next {place}", 0.0, WITHIN_S / count))


def kill_workers(scene: Scene, _: Fault) -> None:
    """All workers at once."""
    scene.signal([*scene.twin.workers], signal.SIGKILL)


def kill_everything(scene: Scene, fault: Fault) -> None:
    """Every process, Kafka and Redis with them; the two are back after a while."""
    scene.signal(scene.twin.supervisor.names, signal.SIGKILL)
    scene.twin.kafka.kill()
    scene.twin.redis.kill()
    try:
        scene.hold(fault.lasts_s)
    finally:
        scene.twin.kafka.start(wait=False)
        scene.twin.redis.start(wait=False)


def pause_kind(scene: Scene, fault: Fault) -> None:
    """All sequencers, all gateways, or all workers of one service stand still."""
    _pause_all(scene, fault, _of_one_kind(scene, fault))


def restart_kind(scene: Scene, fault: Fault) -> None:
    """The same are asked to end."""
    scene.signal(_of_one_kind(scene, fault), signal.SIGTERM)


def stop_kafka_at_join(scene: Scene, fault: Fault) -> None:
    """All workers are killed; Kafka stands still from the moment when the first is back in its group."""
    old = {row["token"] for row in processes(scene.twin.store)}
    kill_workers(scene, fault)
    if not scene.wait_until(lambda: _first_is_back(scene, old)):
        scene.problems.append(f"all workers were killed, and none held a partition after {BACK_S_MAX:.0f} s")
        return
    scene.twin.kafka.pause()
    try:
        scene.hold(fault.lasts_s)
    finally:
        scene.twin.kafka.resume()


def _first_is_back(scene: Scene, old: set[str]) -> bool:
    try:
        rows = processes(scene.twin.store)
    except LightwaveError:
        return False
    return any(row["kind"] == "worker" and row["partitions"] and row["token"] not in old for row in rows)


def _of_one_kind(scene: Scene, fault: Fault) -> list[str]:
    workers = scene.twin.workers
    groups = [[*scene.twin.sequencers], [*scene.twin.gateways]]
    for service in scene.twin.options.services:
        groups.append([name for name in workers if workers[name] == service])
    return groups[fault.index("kind", len(groups))]


def _pause_all(scene: Scene, fault: Fault, names: list[str]) -> None:
    pids = scene.signal(names, signal.SIGSTOP)
    try:
        scene.hold(fault.lasts_s)
    finally:
        for pid in pids:
            scene.twin.supervisor.resume(pid)
