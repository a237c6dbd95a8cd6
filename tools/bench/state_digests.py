"""Group `digests`: what the digests of stored states cost an embedded twin, next to the same twin without
them.

Both twins run in one process, and take turns after every root message, so that other work on the machine
slows down both. Each has a Redis of its own; logs are byte-identical.
"""

import contextlib
import gc
import tempfile
import time
from pathlib import Path

from schemas.config.pods import SuperpodConfig
from schemas.messages.sequencer import FabricCommissioned
from services.fabric_kinds import services_of
from shared.basics.errors import OperationFailed
from shared.basics.units import US_PER_DAY
from shared.engine.message_order import commissioning_message
from shared.runtimes.embedded.dead_letter_file import DeadLetterFile
from shared.runtimes.embedded.site_runner import SiteRunner
from shared.runtimes.embedded.valkey_server import EmbeddedValkey
from shared.storage.log.frame_files import TelemetryFolder
from shared.storage.log.indexed_log import IndexedLog
from shared.storage.store.redis_store import RedisStore
from shared.storage.store.state_digests import StateDigests
from tools.bench.figure import BenchFigure

POD = "pod-0"
SEED = 7
WARM_UP_STEPS = 100
"""Steps that are not counted: the first ones fill caches that both twins share."""
DIGESTS = StateDigests("bench", b"secret")


class _Peer:
    """An embedded twin of one pod; `spent_s` is its processor time so far."""

    def __init__(self, folder: Path, stack: contextlib.ExitStack, digests: StateDigests | None) -> None:
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
        )
        self.runner.recover()
        config = SuperpodConfig(seed=SEED)
        self.runner.take(commissioning_message(POD, FabricCommissioned(site=POD, config=config)))
        self.spent_s = 0.0

    def step(self, until_us: int) -> bool:
        """Take the next Tick up to this time; False if there is none."""
        due_us = self.runner.due_us()
        if due_us is None or due_us > until_us:
            return False
        began_s = time.process_time()
        self.runner.step(None, until_us)
        self.spent_s += time.process_time() - began_s
        return True

    def load_s(self) -> float:
        """Processor time of a load of its states."""
        began_s = time.process_time()
        self.runner.recover()
        return time.process_time() - began_s


def measure_digests(quick: bool) -> list[BenchFigure]:
    """The processor time of a run with digests to that of one without."""
    days = 1.0 if quick else 10.0
    with contextlib.ExitStack() as stack:
        folders = [Path(stack.enter_context(tempfile.TemporaryDirectory())) for _ in range(2)]
        one, other = (
            _Peer(folder, stack, digests) for folder, digests in zip(folders, (DIGESTS, None), strict=True)
        )
        gc.collect()
        gc.disable()  # a collection would be counted to whichever twin triggers it
        stack.callback(gc.enable)
        order, steps, until_us = [one, other], 0, round(days * US_PER_DAY)
        is_running = True
        while is_running:
            for peer in order:
                is_running &= peer.step(until_us)
            order.reverse()
            steps += 1
            if steps == WARM_UP_STEPS:
                one.spent_s = other.spent_s = 0.0
        if [*one.log.lines(0)] != [*other.log.lines(0)]:
            raise OperationFailed("state digests: the logs of both twins differ")
        commits = one.runner.commits - WARM_UP_STEPS
        loads_s = [peer.load_s() for peer in (one, other)]
    how = (
        f"embedded pod, {days:g} days, seed {SEED}, {commits:,} commits to Redis; peer: the same, in turns "
        "in the same run, without digests"
    )
    return [
        BenchFigure(
            "run with state digests", round(one.spent_s / other.spent_s, 3), "ratio", "at most 1.03", how
        ),
        BenchFigure(
            "digests of a commit", round(1e6 * (one.spent_s - other.spent_s) / commits), "us", "-", how
        ),
        BenchFigure("run without digests", round(other.spent_s, 2), "s", "-", "the peer's processor time"),
        BenchFigure(
            "load with state digests",
            round(1e3 * loads_s[0], 1),
            "ms",
            "-",
            f"without: {1e3 * loads_s[1]:.1f} ms",
        ),
    ]
