"""Which strikes hit what, and when: a pure function of the seed."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from shared.basics.keyed_random import draw_index, draw_uniform

if TYPE_CHECKING:
    from ops.soak.strikes.scene import Scene

Kind = Literal["worker", "sequencer", "gateway", "kafka", "redis", "processes", "log", "requests", "twin"]

VOLLEY_SHARES = (0.65, 0.25, 0.1)
"""How many volleys are of one strike, of two, of three."""
WITHIN_S = 5.0
"""In which the strikes of a volley begin."""


@dataclass(frozen=True, slots=True)
class Target:
    """What a strike hits: the process `ocs-a` of kind worker, or all that there is of a kind."""

    name: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class Strike:
    """One way to strike what is of a kind. `hit` carries it out, and returns when it is over; `lasts_s` is
    (least, most) of how long it holds what it struck. One that is `alone` shares no volley; one that
    `forgets` takes from Redis what it had acknowledged."""

    kind: Kind
    action: str
    hit: Callable[["Scene", "Fault"], None] = field(compare=False, repr=False)
    lasts_s: tuple[float, float] = (0.0, 0.0)
    alone: bool = False
    forgets: bool = False

    @property
    def name(self) -> str:
        """As a report says it: `kill worker`."""
        return f"{self.action} {self.kind}"


@dataclass(frozen=True, slots=True)
class Fault:
    """One strike of a plan. Those of one `volley` overlap; `after_s` counts from its beginning."""

    number: int
    volley: int
    after_s: float
    strike: Strike
    target: Target
    lasts_s: float
    seed: int

    def between(self, purpose: str, least: float, most: float) -> float:
        """A draw of this fault's own."""
        return least + (most - least) * draw_uniform(self.seed, "soak", purpose, self.number)

    def index(self, purpose: str, size: int) -> int:
        """A draw of this fault's own: 0 … size − 1."""
        return draw_index(self.seed, "soak", purpose, self.number, size)


Pair = tuple[Strike, Target]


def plan_faults(seed: int, strikes: Sequence[Strike], targets: Sequence[Target], faults: int) -> list[Fault]:
    """So many faults in order of volley. The first ones are one of each strike, as far as they go; afterwards
    every target is met in turn by every strike of its kind. No two strikes of a volley hit one target."""
    rounds = _rounds(seed, strikes, targets)
    pool = next(rounds)
    found: list[Fault] = []
    volley = 0
    while len(found) < faults:
        size = min(_volley_size(seed, volley), faults - len(found))
        for place, pair in enumerate(_volley(pool, rounds, size)):
            found.append(_fault(seed, len(found), volley, pair, first=place == 0))
        volley += 1
    return found


def volleys(plan: Sequence[Fault]) -> list[list[Fault]]:
    """The faults of each volley, in order."""
    return [list(rows) for _, rows in itertools.groupby(plan, lambda fault: fault.volley)]


def _volley_size(seed: int, volley: int) -> int:
    chance = draw_uniform(seed, "soak", "volley", volley)
    return 1 + sum(chance > bound for bound in itertools.accumulate(VOLLEY_SHARES[:-1]))


def _volley(pool: list[Pair], rounds: Iterator[list[Pair]], size: int) -> list[Pair]:
    """The next pairs, taken out of the pool; fewer than `size` where the first is to be alone, or no other
    fits."""
    if not pool:
        pool += next(rounds)
    found = [pool.pop(0)]
    while len(found) < size and not found[0][0].alone:
        struck = {target for _, target in found}
        fits = (pair for pair in pool if not pair[0].alone and pair[1] not in struck)
        if (pair := next(fits, None)) is None:
            break
        pool.remove(pair)
        found.append(pair)
    return found


def _fault(seed: int, number: int, volley: int, pair: Pair, *, first: bool) -> Fault:
    strike, target = pair
    least, most = strike.lasts_s
    lasts_s = least + (most - least) * draw_uniform(seed, "soak", "lasts", number)
    after_s = 0.0 if first else WITHIN_S * draw_uniform(seed, "soak", "after", number)
    return Fault(number, volley, after_s, strike, target, lasts_s, seed)


def _rounds(seed: int, strikes: Sequence[Strike], targets: Sequence[Target]) -> Iterator[list[Pair]]:
    """All pairs of strike and target in an order by chance, without end; in the first round every strike
    comes once before any comes again."""
    pairs = [(strike, target) for strike in strikes for target in targets if target.kind == strike.kind]
    shuffled = _shuffled(seed, 0, pairs)
    firsts: dict[Strike, Pair] = {}
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
