"""How the twin's own processes ended, judged by what was sent to them."""

import signal
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ops.live.supervise import GOOD_ENDS, WRONG_USAGE, how_it_ended
from shared.basics.errors import LightwaveError
from shared.runtimes.live.process.health import AGAIN

BY_THEMSELVES = {LightwaveError.exit_code, AGAIN}
"""How a process ends, with a sentence, where starting it again helps."""
TRACEBACK = "Traceback (most recent call last)"

Sent = Mapping[tuple[str, signal.Signals], int]
"""(process, signal) → how often it was sent."""


def check_exits(exits: Mapping[str, Sequence[int]], sent: Sent) -> Iterator[str]:
    """A sentence for every process that ended otherwise than strikes made it, or than with a sentence."""
    for name, codes in exits.items():
        killed, asked = sent.get((name, signal.SIGKILL), 0), sent.get((name, signal.SIGTERM), 0)
        good = [code for code in codes if code in GOOD_ENDS]
        if len(good) > asked:
            yield f"{name} ended in good order {len(good)} times, and was asked to {asked} times"
        for code, count in Counter(codes).items():
            allowed = killed if code == -signal.SIGKILL else 0
            if code not in GOOD_ENDS | BY_THEMSELVES and count > allowed:
                yield (
                    f"{name} ended with {how_it_ended(code)} {count} times, strikes made it do so "
                    f"{allowed} times"
                )


def refused_for_good(exits: Mapping[str, Sequence[int]]) -> list[str]:
    """Processes that were given up, for they said that their use is wrong."""
    return [name for name, codes in exits.items() if codes and codes[-1] == WRONG_USAGE]


def check_logs(folder: Path) -> Iterator[str]:
    """A sentence for every process that wrote a traceback, whether it ended of it or not."""
    for log in sorted(folder.glob("*.log")):
        lines = log.read_text(errors="replace").splitlines()
        places = [number for number, line in enumerate(lines) if TRACEBACK in line]
        if places:
            raised = (line for line in lines[places[-1] + 1 :] if line and not line.startswith(" "))
            yield f"{log.stem} wrote {len(places)} tracebacks, the last of: {next(raised, 'nothing')[:300]}"
