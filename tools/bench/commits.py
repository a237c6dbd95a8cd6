"""Group `commits`: what an embedded twin gains by committing several root messages together.

Two twins run in one process and take turns after every root message, so that other work on the machine slows
down both. One commits each root, the other up to 300 together. Each has a Redis of its own; logs are
byte-identical.
"""

import contextlib
import gc
import tempfile
from pathlib import Path

from shared.basics.errors import OperationFailed
from shared.basics.units import US_PER_DAY, US_PER_S
from shared.runtimes.embedded.uncommitted_roots import ROOTS_PER_COMMIT
from tools.bench.embedded_peer import DIGESTS, SEED, EmbeddedPeer
from tools.bench.figure import BenchFigure

WARM_UP_DAYS = 1.0
"""Days that are not counted: they fill caches that both twins share."""


def measure_commits(quick: bool) -> list[BenchFigure]:
    """The processor time of a run with one commit per root, to that of one with many roots per commit."""
    days = 1.0 if quick else 10.0
    with contextlib.ExitStack() as stack:
        folders = [Path(stack.enter_context(tempfile.TemporaryDirectory())) for _ in range(2)]
        one, many = (
            EmbeddedPeer(folder, stack, DIGESTS, roots)
            for folder, roots in zip(folders, (1, ROOTS_PER_COMMIT), strict=True)
        )
        gc.collect()
        gc.disable()  # a collection would be counted to whichever twin triggers it
        stack.callback(gc.enable)
        _run([one, many], round(WARM_UP_DAYS * US_PER_DAY))
        before = [one.runner.commits, many.runner.commits]
        for peer in (one, many):
            peer.spent_s = 0.0
        _run([one, many], round((WARM_UP_DAYS + days) * US_PER_DAY))
        if [*one.log.lines(0)] != [*many.log.lines(0)]:
            raise OperationFailed("commits: the logs of both twins differ")
        commits = [one.runner.commits - before[0], many.runner.commits - before[1]]
    how = (
        f"embedded pod, {days:g} days after {WARM_UP_DAYS:g}, seed {SEED}, {commits[0]:,} commits to Redis "
        f"over {commits[1]:,}; peer: one commit per root, in turns in the same run"
    )
    speeds = [round(days * US_PER_DAY / US_PER_S / peer.spent_s) for peer in (one, many)]
    ratio = round(one.spent_s / many.spent_s, 2)
    return [
        BenchFigure("one commit per root over many", ratio, "ratio", "at least 2.5", how),
        BenchFigure("simulated over processor time", speeds[1], "×", "150,000", f"the peer: {speeds[0]:,}"),
    ]


def _run(peers: list[EmbeddedPeer], until_us: int) -> None:
    is_running = True
    while is_running:
        for peer in peers:
            is_running &= peer.step(until_us)
        peers.reverse()
    for peer in peers:
        peer.commit()
