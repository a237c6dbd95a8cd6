"""An embedded twin of one pod in the measuring process, which takes turns with another one."""

import contextlib
import time
from pathlib import Path

from schemas.config.pods import SuperpodConfig
from schemas.messages.sequencer import FabricCommissioned
from services.fabric_kinds import services_of
from shared.engine.message_order import commissioning_message
from shared.runtimes.embedded.dead_letter_file import DeadLetterFile
from shared.runtimes.embedded.site_runner import SiteRunner
from shared.runtimes.embedded.valkey_server import EmbeddedValkey
from shared.storage.log.frame_files import TelemetryFolder
from shared.storage.log.indexed_log import IndexedLog
from shared.storage.store.redis_store import RedisStore
from shared.storage.store.state_digests import StateDigests

POD = "pod-0"
SEED = 7
DIGESTS = StateDigests("bench", b"secret")


class EmbeddedPeer:
    """An embedded twin of one pod with a Redis of its own; `spent_s` is its processor time so far."""

    def __init__(
        self,
        folder: Path,
        stack: contextlib.ExitStack,
        digests: StateDigests | None,
        roots_per_commit: int = 1,
    ) -> None:
        server = EmbeddedValkey(folder / "redis")
        stack.callback(server.stop)
        server.ensure()
        self.store = stack.enter_context(contextlib.closing(RedisStore(server.url)))
        self.log = stack.enter_context(contextlib.closing(IndexedLog(folder / f"{POD}.jsonl")))
        self.runner = SiteRunner(
            POD,
            0,
            services_of,
            store=self.store,
            place=self.store.place,
            log=self.log,
            dead_letters=DeadLetterFile(folder / "dead-letters.jsonl"),
            telemetry=TelemetryFolder(folder / "telemetry", newest=self.store.keep_frame),
            digests=digests,
            roots_per_commit=roots_per_commit,
        )
        self.runner.recover()
        config = SuperpodConfig(seed=SEED)
        self.runner.take(commissioning_message(POD, FabricCommissioned(site=POD, config=config)))
        self.spent_s = 0.0

    def step(self, until_us: int) -> bool:
        """Take the next Tick up to this time; False if there is none."""
        due_us = self.runner.next_due_us()
        if due_us is None or due_us > until_us:
            return False
        began_s = time.process_time()
        self.runner.step(None, until_us)
        self.spent_s += time.process_time() - began_s
        return True

    def commit(self) -> None:
        """Commit what the last steps left."""
        began_s = time.process_time()
        self.runner.commit()
        self.spent_s += time.process_time() - began_s

    def load_s(self) -> float:
        """Processor time of a load of its states."""
        began_s = time.process_time()
        self.runner.recover()
        return time.process_time() - began_s
