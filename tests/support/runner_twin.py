"""A fabric with its folder and its store, run by a `SiteRunner`."""

import copy
from pathlib import Path
from typing import Any, ClassVar

import orjson

from ops.sites.configuration import superpod_config as configured
from schemas.config.pods import SuperpodConfig
from shared.engine.service import AnyService
from shared.engine.state_codec import encode_instance
from shared.runtimes.embedded.dead_letter_file import DeadLetterFile
from shared.runtimes.embedded.site_runner import SiteRunner
from shared.storage.log.indexed_log import IndexedLog
from shared.storage.store.memory_store import MemoryStore
from tests.support.pods import POD, first_message, fleet_of
from tests.support.toy_services import TOYS

CONFIG = SuperpodConfig(seed=4)
BUSY = configured(["pod.cubes=8", "failures.host_per_day=0.3", "failures.ocs_per_day=0.3"], seed=4)


class RunnerTwin:
    """A fabric with its folder and its store; `start` restarts it from these two."""

    def __init__(
        self, folder: Path, services: tuple[AnyService, ...] = TOYS, store: MemoryStore | None = None
    ) -> None:
        self.folder = folder
        self.services = services
        self.store = store or MemoryStore()
        folder.mkdir(parents=True, exist_ok=True)
        self.letters = DeadLetterFile(folder / "dead-letters.jsonl")

    opened: ClassVar[list[IndexedLog]] = []

    @property
    def path(self) -> Path:
        return self.folder / "pod-0.jsonl"

    @property
    def log(self) -> bytes:
        return self.path.read_bytes()

    def start(self, **more: Any) -> int:
        """Returns how many messages of the log were folded again."""
        log = IndexedLog(self.path)
        self.opened.append(log)
        self.runner = SiteRunner(
            POD,
            0,
            fleet_of(self.services),
            store=self.store,
            place=self.store.place,
            log=log,
            dead_letters=self.letters,
            **more,
        )
        return self.runner.recover()

    def step(self) -> None:
        """The next step of the loop: the oldest request, otherwise the next Tick."""
        waiting = self.store.waiting(0, 1)
        if waiting:
            assert self.runner.step(waiting[0], self.runner.site.now_us + 5)
            return
        due_us = self.runner.next_due_us()
        assert due_us is not None
        assert not self.runner.step(None, due_us)

    def stop(self) -> None:
        self.opened[-1].close()


def copied(store: MemoryStore) -> MemoryStore:
    other = MemoryStore()
    other._fabrics = dict(store._fabrics)
    other._partitions = copy.deepcopy(store._partitions)
    return other


def stored_data(store: MemoryStore) -> dict[str, object]:
    """All data of the fabric in a store."""
    kept = store._partitions[0]
    return {
        "positions": kept.positions,
        "values": kept.values,
        "states": dict(kept.states),
        "documents": dict(kept.documents),
        "progress": kept.progress,
        "inbox": kept.inbox,
    }


def run_steps(
    folder: Path, steps: int, services: tuple[AnyService, ...] = TOYS, config: SuperpodConfig = CONFIG
) -> RunnerTwin:
    twin = RunnerTwin(folder, services)
    assert twin.start() == 0
    twin.runner.take(first_message(config))
    for _ in range(steps):
        twin.step()
    return twin


def check_whole(twin: RunnerTwin) -> None:
    """The guarantees of a running twin at any quiet point: the store equals the memory, and contains all of
    the log."""
    runner = twin.runner
    assert set(twin.store.positions(0).values()) == {runner.position}
    assert runner.position == len(twin.log.splitlines())
    for instance in runner.site.instances:
        assert twin.store.load(0, instance.service.name, "pod-0") == encode_instance(instance)
        row = twin.store.progress(0)[instance.service.name, "pod-0"]
        assert (row.due_us, row.ticks) == (instance.due_us, instance.ticks)
    fresh = {
        key: document.model_dump_json().encode()
        for instance in runner.site.instances
        for key in instance.service.document_keys(instance.state)
        if (document := instance.service.document(instance.state, key)) is not None
    }
    kinds = {kind for kind, _ in fresh}
    kept = {(kind, name): text for kind in kinds for name, text in twin.store.all("pod-0", kind).items()}
    assert {key: orjson.loads(text) for key, text in kept.items()} == {
        key: orjson.loads(text) for key, text in fresh.items()
    }
