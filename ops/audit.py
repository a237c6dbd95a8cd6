"""`lightwave audit`: the lab on the root messages of a living twin's log, compared with its log and its
states.
"""

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ops.data import DataFolder
from schemas.registry import Unreadable, decode
from services.fleet import SUPERPOD
from shared.errors import NotFound, OperationFailed
from shared.fabric import Fabric
from shared.log.lines import read_lines
from shared.refold import Difference, Refold
from shared.state.codec import encode_held, state_digest
from shared.state.redis_store import RedisStore
from shared.state.server import EmbeddedServer


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
    refold = Refold(Fabric(name, SUPERPOD))
    differing = [] if position else [f"{service}: nothing committed" for service in services]
    if len(set(positions.values())) > 1:
        differing.append(f"services stand at different positions {positions}")
    difference: Difference | None = None
    dead_letters = requests = messages = torn = 0
    for number, line in enumerate(read_lines(folder.logs / f"{name}.jsonl")):
        dead_letters += torn
        torn = 0
        try:
            message = decode(line)
        except Unreadable:
            torn = 1  # a dead letter, unless it is the end of a log that is being written
        else:
            difference = refold.feed(number, message)
            if difference is not None:
                break
            requests += message.body.writer == "operator"
        messages = number + 1
        if messages == position:
            differing += _compare(refold.fabric, snapshot.states)
    if difference is None and messages < position:
        differing.append(f"states have read {position} messages, the log holds {messages}")
    return {
        "fabric": name,
        "messages": messages,
        "position": position,
        "state_sha256": state_digest(
            (f"{service}@{name}", snapshot.states.get((service, name), {})) for service in sorted(services)
        ),
        "requests": requests,
        "dead_letters": dead_letters,
        "log_clean": difference is None,
        "states_clean": not differing,
        "first_difference": str(difference) if difference else None,
        "differing_states": differing,
    }


def _compare(fabric: Fabric, stored: Mapping[tuple[str, str], Mapping[str, bytes]]) -> list[str]:
    """In words, every field of a stored state that is not what the lab has."""
    found = []
    for held in fabric.held:
        lab = encode_held(held)
        twin = stored.get((held.service.name, fabric.name), {})
        for field in sorted(lab.keys() | twin.keys()):
            if lab.get(field) != twin.get(field):
                found.append(f"{held.source}: {field}")
    return found


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
