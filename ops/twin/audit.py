"""`lightwave audit`: the lab on the root messages of a living twin's log, compared with its log and its
states.
"""

import contextlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ops.twin.data import DataFolder, FolderInUse
from schemas.envelope import Envelope
from schemas.registry import Unreadable, decode
from services.fleet import services_of
from shared.basics.errors import NotFound
from shared.engine.codec import encode_instance, state_digest
from shared.engine.replay import Difference, Replay
from shared.engine.site import Site, Skip
from shared.runtimes.embedded.server import EmbeddedServer
from shared.storage.log.lines import read_lines
from shared.storage.redis_store import RedisStore
from shared.storage.store import FabricPlace

Tell = Callable[[str, int, int], None]
"""Is told (site, messages compared, messages in all), now and then."""
TOLD_EVERY = 500


def untold(_site: str, _done: int, _whole: int) -> None:
    """Where nobody listens."""


def run_audit(*, data: Path, redis: str | None = None, tell: Tell = untold) -> dict[str, Any]:
    """Audit the twin kept in `data`, running or not; the report's `clean` says whether all agreed."""
    folder = DataFolder(data)
    if not data.exists() or folder.identity() is None:
        raise NotFound(f"data folder {data}: holds no twin")
    with _store(folder, redis) as store:
        sites: dict[str, dict[str, FabricPlace]] = {}
        for fabric, place in store.fabrics().items():
            sites.setdefault(place.site, {})[fabric] = place
        rows = [_audit_site(folder, store, site, places, tell) for site, places in sorted(sites.items())]
    clean = bool(rows) and all(row["log_clean"] and row["states_clean"] for row in rows)
    return {"clean": clean, "sites": rows}


def _audit_site(
    folder: DataFolder, store: RedisStore, site: str, places: Mapping[str, FabricPlace], tell: Tell
) -> dict[str, Any]:
    partition = next(iter(places.values())).partition
    snapshot = store.snapshot(partition, readers_of(places))
    names = sorted({name for name, _ in readers_of(places)})
    positions = {name: snapshot.positions.get(name, 0) for name in names}
    position = min(positions.values())
    audit = SiteAudit(site, list(places), snapshot.states, may_repeat=False)
    if not position:
        audit.differing += [f"{name}: nothing committed" for name in names]
    if len(set(positions.values())) > 1:
        audit.differing.append(f"services stand at different positions {positions}")
    messages = torn = 0
    for number, line in enumerate(read_lines(folder.logs / f"{site}.jsonl")):
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
        if messages % TOLD_EVERY == 0:
            tell(site, messages, max(position, messages))
        if messages == position:
            audit.compare()
    if audit.difference is None and messages < position:
        audit.differing.append(f"states have read {position} messages, the log holds {messages}")
    return audit.report(messages, position)


def readers_of(places: Mapping[str, FabricPlace]) -> list[tuple[str, str]]:
    """(service, fabric) of everyone who holds a state of these fabrics."""
    return [(service.name, fabric) for fabric, place in places.items() for service in services_of(place.kind)]


class SiteAudit:
    """The lab on one site's recorded log, and the states that a store holds of its fabrics."""

    def __init__(
        self,
        site: str,
        fabrics: Sequence[str],
        states: Mapping[tuple[str, str], Mapping[str, bytes]],
        skips: Collection[Skip] = (),
        *,
        may_repeat: bool = True,
    ) -> None:
        self.site = site
        self.difference: Difference | None = None
        self.differing: list[str] = []
        self.requests = self.dead_letters = 0
        self.replay = Replay(Site(site, services_of, skips=skips), may_repeat=may_repeat)
        self._fabrics = list(fabrics)
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
        for instance in self.replay.site.instances:
            lab = encode_instance(instance)
            twin = self._states.get((instance.name, instance.fabric), {})
            for field in sorted(lab.keys() | twin.keys()):
                if lab.get(field) != twin.get(field):
                    self.differing.append(f"{instance.source}: {field}")

    def report(self, messages: int, position: int) -> dict[str, Any]:
        """The site's part of the audit's report."""
        first = self.replay.forged or self.difference  # nothing is fed after the latter
        held = {key: stored for key, stored in self._states.items() if key[1] in self._fabrics}
        return {
            "site": self.site,
            "fabrics": self._fabrics,
            "messages": messages,
            "position": position,
            "state_sha256": state_digest(
                (f"{service}@{fabric}", stored) for (service, fabric), stored in held.items()
            ),
            "requests": self.requests,
            "dead_letters": self.dead_letters,
            "log_clean": first is None,
            "states_clean": not self.differing,
            "first_difference": str(first) if first else None,
            "differing_states": self.differing,
        }


@contextlib.contextmanager
def _store(folder: DataFolder, redis: str | None) -> Iterator[RedisStore]:
    """The store in this Redis, or else the running twin's; where none runs, that of the folder's own server
    for as long as the audit takes."""
    with contextlib.ExitStack() as stack:
        url = redis or _running_store(folder, stack) or _own_store(folder, stack)
        store = RedisStore(url)
        stack.callback(store.close)
        store.check()
        yield store


def _running_store(folder: DataFolder, stack: contextlib.ExitStack) -> str | None:
    """The Redis of the twin that runs in this folder; None where none does, and the folder is then held. What
    its last twin announced says nothing by itself: in a copy it is the Redis of the original."""
    try:
        folder.hold()
    except FolderInUse:
        running = folder.running()
        if running is None:
            raise
        return running.redis
    stack.callback(folder.release)
    return None


def _own_store(folder: DataFolder, stack: contextlib.ExitStack) -> str:
    if not folder.redis.is_dir():
        raise NotFound(
            f"data folder {folder.path}: holds no states; give the Redis that the twin uses with --redis, or "
            "start the twin, which makes them again from its log"
        )
    server = EmbeddedServer(folder.redis)
    stack.callback(server.stop)
    server.ensure()
    return server.url
