"""Whether the historian of a soak has compared everything, and its findings."""

import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass

from shared.runtimes.live.process.process_registry import processes
from tests.soak.whole_twin import ANSWER_S_MAX, HISTORIAN, WholeTwin

COMPARED = "lightwave_historian_compared_total"
LOG_DIFFERS = "the log differs from what its services emit"
STATE_DIFFERS = "in Redis differs from the fold of the log"


@dataclass(frozen=True, slots=True)
class HistorianFindings:
    """How often the historian reported a state in Redis, or a log, that differs from its fold, whether the
    report was still true at the end or not."""

    state_differences: int
    log_differences: int


class ComparedAgain:
    """Whether the historian has compared every state since this was made. OSError, ValueError or
    LightwaveError while the twin cannot be read."""

    def __init__(self, twin: WholeTwin) -> None:
        self._twin = twin
        places = twin.store.fabrics().values()
        states = sum(len(twin.options.services_of(place.kind)) for place in places)
        self._wanted = compared(twin) + 2 * states  # the check in progress, and a whole one

    def __call__(self) -> bool:
        return compared(self._twin) >= self._wanted


def compared(twin: WholeTwin) -> int:
    """How many states the running historian has compared since it started."""
    alive = [row for row in processes(twin.store) if row["name"] == HISTORIAN and row["alive"]]
    if not alive:
        raise ValueError("no historian runs")
    with urllib.request.urlopen(f"{alive[0]['address']}/metrics", timeout=ANSWER_S_MAX) as answer:
        return sample(answer.read().decode(), COMPARED)


def sample(metrics: str, name: str) -> int:
    """The value of a metric without labels. ValueError if it is missing."""
    for line in metrics.splitlines():
        words = line.split()
        if words[:1] == [name]:
            return int(float(words[1]))
    raise ValueError(f"no metric {name}")


def read_findings(log: str) -> HistorianFindings:
    """The log lines of the historian, of all its processes."""
    lines = [line for line in log.splitlines() if " error: " in line]
    return HistorianFindings(
        state_differences=sum(STATE_DIFFERS in line for line in lines),
        log_differences=sum(LOG_DIFFERS in line for line in lines),
    )


def check_historian(found: HistorianFindings, data_losses: int) -> Iterator[str]:
    """A sentence for every kind of difference that no fault explains.

    A fault after which Redis lacks data (`data_losses` of them) may leave half a commit, which is repaired; a
    log that differs from what its services emit is never right."""
    if found.log_differences:
        yield f"the historian reported {found.log_differences} times that {LOG_DIFFERS}"
    if found.state_differences and not data_losses:
        yield (
            f"the historian reported {found.state_differences} states in Redis that differ from the log, and "
            "no fault took data from Redis"
        )
