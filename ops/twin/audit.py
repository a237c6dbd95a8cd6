"""`lightwave audit`: the lab on the root messages of a living twin's log, compared with its log and its
states.
"""

import contextlib
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from ops.twin.data import DataFolder
from schemas.envelope import Envelope
from schemas.registry import Unreadable, decode
from services.fleet import SUPERPOD
from shared.basics.errors import NotFound, OperationFailed
from shared.engine.codec import encode_instance, state_digest
from shared.engine.fabric import Fabric
from shared.engine.replay import Difference, Replay
from shared.runtimes.embedded.server import EmbeddedServer
from shared.storage.log.lines import read_lines
from shared.storage.redis_store import RedisStore


def run_audit(*, data: Path, redis: str | None = None) -> dict[str, Any]:
    """Audit the twin kept in `data`, running or not; the report's `clean` says whether all agreed."""
    folder = DataFolder(data)
    if not data.exists() or folder.identity() is None:
        raise NotFound(f"data folder {data}: holds no twin")
    with _store(folder, redis) as store:
        fabrics = [_audit_fabric(folder, store, name, p) for name, p in store.fabrics().items()]
    return {"clean": all(f["log_clean"] and f["states_clean"] for f in fabrics), "fabrics": fabrics}


def _audit_fabric(folder: DataFolder, store: RedisStore, name: str, partition: int) -> dict[str, Any]:
    services = [service.name for service in SUPERPOD]
    snapshot = store.snapshot(partition, [(service, name) for service in services])
    positions = {service: snapshot.positions.get(service, 0) for service in services}
    position = min(positions.values())
    audit = FabricAudit(name, snapshot.states)
    if not position:
        audit.differing += [f"{service}: nothing committed" for service in services]
    if len(set(positions.values())) > 1:
        audit.differing.append(f"services stand at different positions {positions}")
    messages = torn = 0
    for number, line in enumerate(read_lines(folder.logs / f"{name}.jsonl")):
        audit.dead_letters += torn
        torn = 0
        try:
            message = decode(line)
        except Unreadable:
            torn = 1  # a dead letter, unless it is the end of a log that is being written
        else:
            if not audit.feed(number, message):
                break
        messages = number + 1
        if messages == position:
            audit.compare()
    if audit.difference is None and messages < position:
        audit.differing.append(f"states have read {position} messages, the log holds {messages}")
    return audit.report(messages, position)


class FabricAudit:
    """The lab on one fabric's recorded log, and the states that a store holds of it."""

    def __init__(
        self,
        name: str,
        states: Mapping[tuple[str, str], Mapping[str, bytes]],
        skips: Collection[tuple[str, str]] = (),
    ) -> None:
        self.name = name
        self.difference: Difference | None = None
        self.differing: list[str] = []
        self.requests = self.dead_letters = 0
        self.replay = Replay(Fabric(name, SUPERPOD, skips=skips))
        self._states = states

    def feed(self, position: int, message: Envelope) -> bool:
        """One recorded message; False once the record is not what the lab gives."""
        if self.difference is None:
            repeats = self.replay.repeats
            self.difference = self.replay.feed(position, message)
            is_request = message.body.writer == "operator" and self.replay.repeats == repeats
            self.requests += self.difference is None and is_request
        return self.difference is None

    def compare(self) -> None:
        """Note every field of a stored state that is not what the lab has now."""
        for instance in self.replay.fabric.instances:
            lab = encode_instance(instance)
            twin = self._states.get((instance.service.name, self.name), {})
            for field in sorted(lab.keys() | twin.keys()):
                if lab.get(field) != twin.get(field):
                    self.differing.append(f"{instance.source}: {field}")

    def report(self, messages: int, position: int) -> dict[str, Any]:
        """The fabric's part of the audit's report."""
        name = self.name
        return {
            "fabric": name,
            "messages": messages,
            "position": position,
            "state_sha256": state_digest(
                (f"{service.name}@{name}", self._states.get((service.name, name), {})) for service in SUPERPOD
            ),
            "requests": self.requests,
            "dead_letters": self.dead_letters,
            "log_clean": self.difference is None,
            "states_clean": not self.differing,
            "first_difference": str(self.difference) if self.difference else None,
            "differing_states": self.differing,
        }


@contextlib.contextmanager
def _store(folder: DataFolder, redis: str | None) -> Iterator[RedisStore]:
    """The running twin's store; where none runs, the folder's own server for as long as the audit takes."""
    url = redis or folder.running().get("redis")
    server: EmbeddedServer | None = None
    held = False
    if url is None or not _answers(url):
        if redis is not None:
            RedisStore(redis).check()
        folder.hold()
        held = True
        server = EmbeddedServer(folder.redis)
        server.ensure()
        url = server.url
    store = RedisStore(url)
    try:
        yield store
    finally:
        store.close()
        if server is not None:
            server.stop()
        if held:
            folder.release()


def _answers(url: str) -> bool:
    try:
        RedisStore(url).check()
    except OperationFailed:
        return False
    return True
