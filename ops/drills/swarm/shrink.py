"""Shrinks a combination to a minimal one that still fails.

Delta debugging (Zeller and Hildebrandt 2002) on the steps, then simpler values: lists of parts, repeats,
durations, arguments, settings of the pod, and the lengths of the warm-up and of the last phase. The order of
the tries is fixed, so the result depends only on the combination and on `still_fails`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from ops.drills.swarm.combination import DURATIONS, HOUR_S, MINUTE_S, Combination, SwarmStep

ItemT = TypeVar("ItemT")

OPTIONAL = (
    *("severity", "onset", "lasts", "recovery", "priority", "tier", "twisted", "owner", "error_mode"),
)
"""Arguments that a step can omit, in the order in which they are left out."""
NEEDED = {"wait": frozenset({"lasts"})}
"""Verb → arguments that it cannot omit although other verbs can."""
WARM_UP_LEAST_S, VERIFY_LEAST_S = HOUR_S, MINUTE_S


@dataclass(frozen=True, slots=True)
class Shrunk:
    """The smallest combination found, and the number of tries. `is_minimal`: no further simplification
    fails; false if the tries ran out or the shrinking was stopped."""

    combination: Combination
    tries: int
    is_minimal: bool


class _OutOfTries(Exception):
    """No more tries are left."""


class _Tries:
    """Counts the tries, and remembers their results."""

    def __init__(self, still_fails: Callable[[Combination], bool | None], most: int) -> None:
        self._still_fails, self._most = still_fails, most
        self._known: dict[str, bool] = {}
        self.count = 0

    def fails(self, one: Combination) -> bool:
        key = repr(one)
        if key not in self._known:
            if self.count >= self._most:
                raise _OutOfTries
            self.count += 1
            found = self._still_fails(one)
            if found is None:
                raise _OutOfTries
            self._known[key] = found
        return self._known[key]


def shrink(failing: Combination, still_fails: Callable[[Combination], bool | None], tries_max: int) -> Shrunk:
    """Simplify a failing combination as long as it fails, with at most `tries_max` tries. `still_fails`
    returns None to stop."""
    tries, best = _Tries(still_fails, tries_max), failing
    try:
        while True:
            before = best
            for better in _passes(best, tries):
                best = better
            if best == before:
                return Shrunk(best, tries.count, is_minimal=True)
    except _OutOfTries:
        return Shrunk(best, tries.count, is_minimal=False)


def _passes(best: Combination, tries: _Tries) -> Iterator[Combination]:
    """One round of all simplifications; yields each combination that is simpler and fails."""
    first = best
    for steps in fewer(first.steps, lambda kept: tries.fails(first.with_steps(kept))):
        best = first.with_steps(steps)
        yield best
    second = best
    for names in fewer(tuple(second.pairs), lambda kept: tries.fails(_with_pairs(second, kept))):
        best = _with_pairs(second, names)
        yield best
    for place in range(len(best.steps)):
        before = best
        for best in _simplified(before, place, tries):
            yield best
    for candidate in _shorter(best):
        if tries.fails(candidate):
            best = candidate
            yield best


def _simplified(best: Combination, place: int, tries: _Tries) -> Iterator[Combination]:
    """Simplify one step as long as the combination fails."""
    is_simpler = True
    while is_simpler:
        is_simpler = False
        for simpler in simpler_steps(best.steps[place]):
            candidate = best.with_steps((*best.steps[:place], simpler, *best.steps[place + 1 :]))
            if tries.fails(candidate):
                best, is_simpler = candidate, True
                yield best
                break


def _with_pairs(one: Combination, kept: Sequence[str]) -> Combination:
    return replace(one, pairs={name: one.pairs[name] for name in kept})


def _shorter(one: Combination) -> Iterator[Combination]:
    """Shorter last phases and warm-ups, the shortest first."""
    for verify_s in (VERIFY_LEAST_S, one.verify_s // 2):
        if VERIFY_LEAST_S <= verify_s < one.verify_s:
            yield replace(one, verify_s=verify_s)
    for warm_up_s in (WARM_UP_LEAST_S, one.warm_up_s // 2):
        if WARM_UP_LEAST_S <= warm_up_s < one.warm_up_s:
            yield replace(one, warm_up_s=warm_up_s)


def fewer(
    items: tuple[ItemT, ...], fails: Callable[[tuple[ItemT, ...]], bool]
) -> Iterator[tuple[ItemT, ...]]:
    """Delta debugging: leave out ever smaller parts of a list as long as it fails. Yields each shorter list
    that fails; the last one fails no more without any single item. At least one item is kept."""
    size = max(1, len(items) // 2)
    while len(items) > 1:
        for start in range(0, len(items), size):
            kept = items[:start] + items[start + size :]
            if kept and fails(kept):
                items = kept
                yield items
                break
        else:
            if size == 1:
                return
            size = max(1, size // 2)
            continue
        size = min(size, max(1, len(items) // 2))


def simpler_steps(step: SwarmStep) -> Iterator[SwarmStep]:
    """Steps that are simpler than this one, the simplest first. Each chain of them ends."""
    if step.repeat > 1:
        yield replace(step, repeat=1, every_s=0)
        if step.repeat > 3:
            yield replace(step, repeat=step.repeat // 2)
    for name in OPTIONAL:
        if name in step.arguments and name not in NEEDED.get(step.verb, ()):
            yield replace(step, arguments={k: v for k, v in step.arguments.items() if k != name})
    for name, value in step.arguments.items():
        for simpler in _simpler_values(name, value):
            yield replace(step, arguments={**step.arguments, name: simpler})


def _simpler_values(name: str, value: Any) -> Iterator[Any]:
    if isinstance(value, list) and len(value) > 1:
        middle = len(value) // 2
        yield from (value[:1], value[:middle], value[middle:], value[1:])
    elif isinstance(value, Mapping) and len(value) > 1:
        for left_out in value:
            yield {key: one for key, one in value.items() if key != left_out}
    elif name in DURATIONS and isinstance(value, int):
        for seconds in (MINUTE_S, value // 2 // MINUTE_S * MINUTE_S, 1):
            if 0 < seconds < value:
                yield seconds
