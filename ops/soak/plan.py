"""Which faults strike which process, and when: a pure function of the seed."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from shared.basics.keyed_random import draw_index, draw_uniform

Action = Literal["kill", "pause", "restart", "double", "roll back", "refuse writes"]
Kind = Literal["worker", "sequencer", "gateway", "kafka", "redis"]

ACTIONS: Mapping[Kind, tuple[Action, ...]] = {
    "worker": ("kill", "pause", "restart"),
    "sequencer": ("kill", "pause", "restart", "double"),
    "gateway": ("kill", "pause", "restart"),
    "kafka": ("kill", "pause", "restart", "refuse writes"),
    "redis": ("kill", "pause", "restart", "roll back"),
}
"""`kill` is SIGKILL, `pause` SIGSTOP and later SIGCONT, `restart` SIGTERM; `double` starts a second sequencer
for a while; `roll back` cuts the end off Redis's append-only file; `refuse writes` lets Kafka turn every
append away."""

SESSION_TIMEOUT_S = 10.0
"""After which Kafka gives a silent worker's partitions to another one."""
PAUSE_S = {"worker": (SESSION_TIMEOUT_S + 1.5, SESSION_TIMEOUT_S + 5.0), "kafka": (2.0, 6.0)}
OTHER_PAUSE_S = (1.0, 8.0)
DOWN_S = (0.0, 3.0)
"""How long a killed or ended server stays away; every other process is restarted by its supervisor."""
DOUBLE_S = (4.0, 12.0)
REFUSE_S = 60.0
REFUSE_SHARE = 0.1
"""Writes are refused for this long, but for no larger share of all the time that there is for faults."""
REST_S = 2.0
"""From the end of a fault to the next one of the same process."""
CUT_BYTES = (2_000, 400_000)


@dataclass(frozen=True, slots=True)
class Target:
    """A process that faults may strike: `ocs-a` of kind worker, or `redis` of kind redis."""

    name: str
    kind: Kind


Pair = tuple[Action, Target]


@dataclass(frozen=True, slots=True)
class Fault:
    """`at_s` counts from the first moment for faults. `lasts_s` is the time until it is ended, 0 where it
    ends by itself; `cut_bytes` is what a rollback cuts off."""

    number: int
    at_s: float
    action: Action
    target: Target
    lasts_s: float
    cut_bytes: int = 0


def plan_faults(seed: int, targets: Sequence[Target], faults: int, seconds: float) -> list[Fault]:
    """So many faults in order of time, spread evenly. The first ones take each kind of fault of each kind of
    process once; afterwards every process is met by every fault in turn. A process is not struck before its
    last fault is over: where there is too little time for so many, the plan lasts longer."""
    rounds = _rounds(seed, targets)
    pool = next(rounds)
    slot_s = seconds / max(1, faults)
    free_at_s = dict.fromkeys((target.name for target in targets), 0.0)
    found: list[Fault] = []
    for number in range(faults):
        at_s = slot_s * (number + 0.8 * draw_uniform(seed, "soak", "moment", number))
        at_s = max(at_s, min(free_at_s.values()), found[-1].at_s if found else 0.0)
        while (pair := _first_free(pool, free_at_s, at_s)) is None:
            pool += next(rounds)
        pool.remove(pair)
        action, target = pair
        lasts_s = _lasts_s(seed, number, action, target, seconds)
        free_at_s[target.name] = at_s + lasts_s + REST_S
        cut_bytes = _between(seed, "cut", number, CUT_BYTES) if action == "roll back" else 0
        found.append(Fault(number, at_s, action, target, lasts_s, int(cut_bytes)))
    return found


def _first_free(pool: Sequence[Pair], free_at_s: Mapping[str, float], at_s: float) -> Pair | None:
    return next((pair for pair in pool if free_at_s[pair[1].name] <= at_s), None)


def _rounds(seed: int, targets: Sequence[Target]) -> Iterator[list[Pair]]:
    """All pairs of fault and process in an order by chance, without end; in the first round every kind of
    fault comes once before any comes again."""
    pairs = [(action, target) for target in targets for action in ACTIONS[target.kind]]
    shuffled = _shuffled(seed, 0, pairs)
    firsts: dict[tuple[Action, Kind], Pair] = {}
    for action, target in shuffled:
        firsts.setdefault((action, target.kind), (action, target))
    first = [*firsts.values()]
    yield [*first, *(pair for pair in shuffled if pair not in first)]
    for count in itertools.count(1):
        yield _shuffled(seed, count, pairs)


def _shuffled(seed: int, count: int, pairs: Sequence[Pair]) -> list[Pair]:
    """Fisher and Yates, with keyed draws."""
    found = list(pairs)
    for last in range(len(found) - 1, 0, -1):
        other = draw_index(seed, f"round {count}", "shuffle", last, last + 1)
        found[last], found[other] = found[other], found[last]
    return found


def _lasts_s(seed: int, number: int, action: Action, target: Target, seconds: float) -> float:
    if action == "refuse writes":
        return min(REFUSE_S, REFUSE_SHARE * seconds)
    if action == "pause":
        return _between(seed, "pause", number, PAUSE_S.get(target.kind, OTHER_PAUSE_S))
    if action == "double":
        return _between(seed, "double", number, DOUBLE_S)
    return _between(seed, "down", number, DOWN_S) if target.kind in ("kafka", "redis") else 0.0


def _between(seed: int, purpose: str, count: int, bounds: tuple[float, float]) -> float:
    low, high = bounds
    return low + (high - low) * draw_uniform(seed, "soak", purpose, count)
