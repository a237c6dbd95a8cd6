"""Which faults hit what, and when: a pure function of the seed."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from shared.basics.keyed_random import draw_index, draw_uniform
from tests.soak.faults.context import FaultContext
from tests.soak.whole_twin import FaultTarget, TargetKind

BURST_SIZE_SHARES = (0.65, 0.25, 0.1)
"""The shares of bursts of one fault, of two, of three."""
WITHIN_S = 5.0
"""The faults of a burst begin within this time."""


@dataclass(frozen=True, slots=True)
class FaultAction:
    """A kind of fault of targets of a kind. `inject` carries it out, and returns when it is over.
    `duration_s` is the (least, most) duration of its effect. One that is `exclusive` shares no burst; one
    that `loses_data` removes from Redis what Redis had acknowledged."""

    kind: TargetKind
    action: str
    inject: Callable[[FaultContext, "PlannedFault"], None] = field(compare=False, repr=False)
    duration_s: tuple[float, float] = (0.0, 0.0)
    exclusive: bool = False
    loses_data: bool = False

    @property
    def name(self) -> str:
        """As a report says it: `kill worker`."""
        return f"{self.action} {self.kind}"


@dataclass(frozen=True, slots=True)
class PlannedFault:
    """One fault of a plan. Those of one `burst` overlap; `after_s` counts from its beginning."""

    number: int
    burst: int
    after_s: float
    fault_action: FaultAction
    target: FaultTarget
    duration_s: float
    seed: int

    def between(self, purpose: str, least: float, most: float) -> float:
        """A draw of this fault's own."""
        return least + (most - least) * draw_uniform(self.seed, "soak", purpose, self.number)

    def index(self, purpose: str, size: int) -> int:
        """A draw of this fault's own: 0 … size − 1."""
        return draw_index(self.seed, "soak", purpose, self.number, size)


Pair = tuple[FaultAction, FaultTarget]


def plan_faults(
    seed: int, fault_actions: Sequence[FaultAction], targets: Sequence[FaultTarget], faults: int
) -> list[PlannedFault]:
    """This number of faults in order of burst. The first ones are one of each action, as far as they fit.
    Afterwards every action of its kind hits every target in turn. No two actions of a burst hit one
    target."""
    rounds = _rounds(seed, fault_actions, targets)
    pool = next(rounds)
    found: list[PlannedFault] = []
    burst = 0
    while len(found) < faults:
        size = min(_burst_size(seed, burst), faults - len(found))
        for place, pair in enumerate(_burst(pool, rounds, size)):
            found.append(_fault(seed, len(found), burst, pair, first=place == 0))
        burst += 1
    return found


def with_upgrade(
    plan: Sequence[PlannedFault], upgrade: FaultAction, target: FaultTarget
) -> list[PlannedFault]:
    """The same plan with an upgrade of the twin in its middle, alone; all later faults are renumbered."""
    bursts = bursts_of(plan)
    before = bursts[: len(bursts) // 2]
    start = sum(map(len, before))
    found = _fault(plan[0].seed, start, len(before), (upgrade, target), first=True)
    later = (replace(one, number=one.number + 1, burst=one.burst + 1) for one in plan[start:])
    return [*plan[:start], found, *later]


def bursts_of(plan: Sequence[PlannedFault]) -> list[list[PlannedFault]]:
    """The faults of each burst, in order."""
    return [list(rows) for _, rows in itertools.groupby(plan, lambda fault: fault.burst)]


def _burst_size(seed: int, burst: int) -> int:
    chance = draw_uniform(seed, "soak", "volley", burst)
    return 1 + sum(chance > bound for bound in itertools.accumulate(BURST_SIZE_SHARES[:-1]))


def _burst(pool: list[Pair], rounds: Iterator[list[Pair]], size: int) -> list[Pair]:
    """Take the next pairs out of the pool; fewer than `size` if the first must be alone, or if no other
    fits."""
    if not pool:
        pool += next(rounds)
    found = [pool.pop(0)]
    while len(found) < size and not found[0][0].exclusive:
        hit = {target for _, target in found}
        fits = (pair for pair in pool if not pair[0].exclusive and pair[1] not in hit)
        if (pair := next(fits, None)) is None:
            break
        pool.remove(pair)
        found.append(pair)
    return found


def _fault(seed: int, number: int, burst: int, pair: Pair, *, first: bool) -> PlannedFault:
    fault_action, target = pair
    least, most = fault_action.duration_s
    duration_s = least + (most - least) * draw_uniform(seed, "soak", "lasts", number)
    after_s = 0.0 if first else WITHIN_S * draw_uniform(seed, "soak", "after", number)
    return PlannedFault(number, burst, after_s, fault_action, target, duration_s, seed)


def _rounds(
    seed: int, fault_actions: Sequence[FaultAction], targets: Sequence[FaultTarget]
) -> Iterator[list[Pair]]:
    """All pairs of action and target in a random order, without end; in the first round every action
    comes once before any comes again."""
    pairs = [
        (fault_action, target)
        for fault_action in fault_actions
        for target in targets
        if target.kind == fault_action.kind
    ]
    shuffled = _shuffled(seed, 0, pairs)
    firsts: dict[FaultAction, Pair] = {}
    for pair in shuffled:
        firsts.setdefault(pair[0], pair)
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
