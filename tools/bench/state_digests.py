"""Group `digests`: what the digests of stored states cost an embedded twin, next to the same twin without
them.

Both twins run in one process, and take turns after every root message, so that other work on the machine
slows down both. Each has a Redis of its own; logs are byte-identical.
"""

import contextlib
import gc
import tempfile
from pathlib import Path

from shared.basics.errors import OperationFailed
from shared.basics.units import US_PER_DAY
from tools.bench.embedded_peer import DIGESTS, SEED, EmbeddedPeer
from tools.bench.figure import BenchFigure

WARM_UP_STEPS = 100
"""Steps that are not counted: the first ones fill caches that both twins share."""


def measure_digests(quick: bool) -> list[BenchFigure]:
    """The processor time of a run with digests to that of one without."""
    days = 1.0 if quick else 10.0
    with contextlib.ExitStack() as stack:
        folders = [Path(stack.enter_context(tempfile.TemporaryDirectory())) for _ in range(2)]
        one, other = (
            EmbeddedPeer(folder, stack, digests)
            for folder, digests in zip(folders, (DIGESTS, None), strict=True)
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
