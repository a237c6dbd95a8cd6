"""The variants of an experiment: the parameter values that differ between its runs."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from itertools import product

import scipy  # which loads scipy.stats when it is first used

from ops.experiments.schema import VARIANTS_MAX, Experiment, LatinHypercube, Scalar, Values
from ops.sites.configuration import takes_whole_numbers
from shared.basics.errors import InvalidInput

KEY_LETTERS = 12


@dataclass(frozen=True, slots=True)
class Variant:
    """A variant, by its varied parameters."""

    values: tuple[tuple[str, Scalar], ...]

    @property
    def key(self) -> str:
        """A short name that depends only on the values."""
        text = json.dumps(sorted(self.values), separators=(",", ":"), ensure_ascii=False)
        return sha256(text.encode()).hexdigest()[:KEY_LETTERS]

    @property
    def words(self) -> str:
        """Return the values as text for people."""
        return ", ".join(f"{name} {value_text(value)}" for name, value in self.values) or "as it is"

    def has(self, values: Mapping[str, Scalar]) -> bool:
        """Whether the variant has all these values."""
        own = dict(self.values)
        return all(name in own and same_value(own[name], value) for name, value in values.items())


def same_value(one: Scalar, other: Scalar) -> bool:
    """Whether two values are equal: 1 equals 1.0, but not true."""
    return isinstance(one, bool) is isinstance(other, bool) and one == other


def value_text(value: Scalar) -> str:
    if value is None or isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


def variants_of(experiment: Experiment) -> tuple[Variant, ...]:
    """Return all variants in the document's order; one without values if nothing varies.

    Raises InvalidInput if two are equal, or if there are too many.
    """
    vary = experiment.vary
    if vary.grid:
        number = 1
        for values in vary.grid.values():
            number *= len(values)
        if number > VARIANTS_MAX:
            raise InvalidInput(f"vary: {number:,} variants; must be at most {VARIANTS_MAX:,}")
        rows = [dict(zip(vary.grid, row, strict=True)) for row in product(*vary.grid.values())]
    elif vary.latin_hypercube is not None:
        rows = _latin_hypercube_rows(vary.latin_hypercube)
    else:
        rows = [dict(row) for row in vary.list] or [{}]
    found = tuple(Variant(tuple(row.items())) for row in rows)
    seen: set[object] = set()
    for variant in found:
        # Compare by value: 1 and 1.0 are written differently but run the same.
        row = frozenset((name, isinstance(value, bool), value) for name, value in variant.values)
        if row in seen:
            raise InvalidInput(f"vary: {variant.words} is given twice; variants must be unique")
        seen.add(row)
    return found


def _latin_hypercube_rows(hypercube: LatinHypercube) -> list[Values]:
    """Return the points of a Latin hypercube. The same seed gives the same points.

    If a parameter is a count, every whole number between its bounds, both included, has the same share of the
    points.
    """
    for name, (least, most) in hypercube.between.items():
        bounds = f"vary.latin_hypercube.between.{name}: [{least:g}, {most:g}]"
        if not least < most or math.isinf(most - least):
            raise InvalidInput(
                f"{bounds} is not a valid range; must be two finite numbers, the lower one first"
            )
        if takes_whole_numbers(name) and math.ceil(least) > math.floor(most):
            raise InvalidInput(f"{bounds} contains no whole number, but {name} is a count")
    unit = scipy.stats.qmc.LatinHypercube(len(hypercube.between), rng=hypercube.seed).random(hypercube.points)
    return [
        {
            name: _interpolated(name, hypercube.between[name], share)
            for name, share in zip(hypercube.between, row, strict=True)
        }
        for row in unit
    ]


def _interpolated(name: str, bounds: list[float], share: float) -> Scalar:
    """The value at a fraction of the range."""
    least, most = bounds
    if takes_whole_numbers(name):
        first, last = math.ceil(least), math.floor(most)
        return first + int(share * (last - first + 1))
    return float(least + share * (most - least))


def single_variant(variants: tuple[Variant, ...], values: Values, where: str) -> Variant:
    """Return the only variant with these values. Raises InvalidInput, prefixed by `where`, unless there is
    exactly one."""
    found = [variant for variant in variants if variant.has(values)]
    if len(found) == 1:
        return found[0]
    description = ", ".join(f"{name} {value_text(value)}" for name, value in values.items()) or "no values"
    if found:
        raise InvalidInput(
            f"{where}: {description} matches {len(found)} variants; must match one, such as {found[0].words}"
        )
    raise InvalidInput(
        f"{where}: {description} matches no variant; must match one, such as {variants[0].words}"
    )
