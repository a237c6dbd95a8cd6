"""Compares the results of two experiments, such as of two builds.

Variants are compared one by one. Runs with the same seed are paired if the two sides have enough seeds in
common.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ops.experiments.dataset import DOCUMENT, IDENTITY, Dataset, Identity, RunKey, RunRow, read_identity
from ops.experiments.loader import parse_experiment
from ops.experiments.result_json import difference_json
from ops.experiments.results import VariantDifference, variant_difference, with_holm_chances
from ops.experiments.schema import Experiment
from ops.experiments.steadiness import VariantSteadiness, backlog_growths, load_checks
from ops.experiments.variants import Variant, value_text, variants_of
from ops.report.intervals import ReportFields, interval_json
from ops.report.safe_text import quoted
from ops.sites.yaml_reader import read_own_yaml
from services.totals.measures import MEASURES
from shared.basics.errors import InvalidInput, NotFound
from shared.models.statistics.means import Interval, mean_interval
from shared.models.statistics.paired_runs import paired_difference, welch_difference

COMMON_SEEDS_SHARE_MIN = 0.5
"""Minimum share of the smaller side's seeds that both sides must have for differences to be paired."""


@dataclass(frozen=True, slots=True)
class StoredExperiment:
    """A stored folder of results; `identity` is common to all its runs."""

    folder: Path
    experiment: Experiment
    variants: tuple[Variant, ...]
    identity: Identity
    rows: Mapping[RunKey, RunRow]

    def values(self, variant: Variant, name: str) -> dict[int, float]:
        """The values of a measure, by seed."""
        found = {seed: row.figures.get(name) for (key, seed), row in self.rows.items() if key == variant.key}
        return {seed: value for seed, value in sorted(found.items()) if value is not None}

    def steadiness(self, variant: Variant) -> VariantSteadiness:
        """Whether a variant is steady. Its loads are unknown if it has files that are not here."""
        try:
            loads = load_checks(self.experiment, variant, self.folder)
        except (InvalidInput, NotFound):
            loads = ()
        rows = [
            row for (key, _), row in sorted(self.rows.items()) if key == variant.key and row.error is None
        ]
        return VariantSteadiness(variant, loads, backlog_growths(self.experiment, rows))


@dataclass(frozen=True, slots=True)
class Contrast:
    """How much a measure differs between the first and the second side.

    `left_out` is the number of runs of both sides that do not count: if differences are paired, only runs
    with common seeds count. `steadiness` is `not steady` or `not yet steady` if one of them is, and empty
    otherwise.
    """

    compared: VariantDifference
    first: Interval
    second: Interval
    left_out: int
    steadiness: str = ""


@dataclass(frozen=True, slots=True)
class ExperimentComparison:
    """Two results side by side.

    `differs` are identity fields with different values: name → (first, second). `alone` are variants of only
    one side.
    """

    contrasts: tuple[Contrast, ...]
    differs: Mapping[str, tuple[object, object]]
    alone: tuple[Variant, ...]


def read_stored(folder: Path) -> StoredExperiment:
    """Return the results of a folder. Raises NotFound if it has none, InvalidInput if they cannot be read."""
    if not os.path.lexists(folder / IDENTITY):
        raise NotFound(f"{folder}: is not a folder of results; create one with `lightwave experiment run`")
    identity = read_identity(folder / IDENTITY)
    try:
        experiment = parse_experiment(_without_site_defaults(read_own_yaml(folder / DOCUMENT)))
    except InvalidInput as error:
        raise InvalidInput(f"{folder / DOCUMENT}: {error}") from None
    unknown = [name for name in experiment.measure if name not in MEASURES]
    if unknown:
        raise InvalidInput(
            f"{folder / DOCUMENT}: measure: {unknown[0]} is unknown to this build; another build measured it"
        )
    rows = Dataset(folder, experiment.measure).done()
    if all(row.error is not None for row in rows.values()):
        raise NotFound(f"{folder}: no run is finished yet; continue with `lightwave experiment run --resume`")
    return StoredExperiment(folder, experiment, variants_of(experiment), identity, rows)


def _without_site_defaults(content: Any) -> Any:
    """Remove the fabric's defaults from a resolved document that has a site: the schema rejects fields that
    the site's file defines."""
    if isinstance(content, dict) and isinstance(fabric := content.get("fabric"), dict) and fabric.get("site"):
        kept = {name: value for name, value in fabric.items() if name not in ("pods", "kind")}
        return content | {"fabric": kept}
    return content


def compare(first: StoredExperiment, second: StoredExperiment) -> ExperimentComparison:
    """Compare variants with the same values, or the only variants of both sides. Raises InvalidInput if the
    two sides have no variant or no measure in common."""
    known = {variant.key: variant for variant in first.variants}
    pairs = [(known[other.key], other) for other in second.variants if other.key in known]
    if not pairs and len(first.variants) == len(second.variants) == 1:
        pairs = [(first.variants[0], second.variants[0])]
    if not pairs:
        raise InvalidInput(
            f"{first.folder} and {second.folder}: have no variant in common; the first has "
            f"{first.variants[0].words}, the second {second.variants[0].words}"
        )
    names = [name for name in first.experiment.measure if name in second.experiment.measure]
    if not names:
        raise InvalidInput(f"{first.folder} and {second.folder}: have no measure in common")
    taken = {variant for pair in pairs for variant in pair}
    every = {variant.key: variant for variant in (*first.variants, *second.variants)}
    differs = {
        name: (first.identity.get(name), second.identity.get(name))
        for name in sorted({*first.identity, *second.identity})
        if first.identity.get(name) != second.identity.get(name)
    }
    alone = tuple(variant for variant in every.values() if variant not in taken)
    return ExperimentComparison(_contrasts(first, second, pairs, names), differs, alone)


def compare_within(results: StoredExperiment, against: Sequence[str]) -> ExperimentComparison:
    """Compare all variants of one folder with the variant that has these `NAME=VALUE`. Raises InvalidInput
    unless exactly one variant has them."""
    wanted = [_name_and_value(word) for text in against for word in text.split(", ")]
    found = [
        variant
        for variant in results.variants
        if all((name, value) in {(n, value_text(v)) for n, v in variant.values} for name, value in wanted)
    ]
    if len(found) != 1:
        said = (
            f"matches {len(found)} variants; must match one, such as"
            if found
            else "matches no variant; must match one, such as"
        )
        raise InvalidInput(f"--against {' '.join(against)}: {said} {(found or results.variants)[0].words}")
    pairs = [(found[0], variant) for variant in results.variants if variant != found[0]]
    return ExperimentComparison(_contrasts(results, results, pairs, results.experiment.measure), {}, ())


def _name_and_value(word: str) -> tuple[str, str]:
    """Split `repairs.technicians=1`, or `repairs.technicians 1` as tables print it."""
    name, _, value = word.partition("=" if "=" in word else " ")
    if not name or not value:
        raise InvalidInput(f"--against {quoted(word)}: must be NAME=VALUE, such as repairs.technicians=2")
    return name.strip(), value.strip()


def _contrasts(
    first: StoredExperiment,
    second: StoredExperiment,
    pairs: Sequence[tuple[Variant, Variant]],
    names: Sequence[str],
) -> tuple[Contrast, ...]:
    confidence = first.experiment.confidence
    found = []
    # Within one folder, all pairs share a variant.
    firsts = {variant: first.steadiness(variant) for variant in dict.fromkeys(one for one, _ in pairs)}
    for variant, other in pairs:
        steadiness = _worst_word([firsts[variant], second.steadiness(other)])
        for name in names:
            before, after = first.values(variant, name), second.values(other, name)
            if before and after:
                contrast = _contrast(variant, other, name, before, after, confidence)
                found.append(replace(contrast, steadiness=steadiness))
    corrected = with_holm_chances([one.compared for one in found])
    return tuple(replace(one, compared=compared) for one, compared in zip(found, corrected, strict=True))


def _worst_word(both: Sequence[VariantSteadiness]) -> str:
    words = [one.word for one in both if not one.is_steady]
    return max(words, key="not steady".__eq__, default="")


def _contrast(
    variant: Variant,
    other: Variant,
    name: str,
    before: Mapping[int, float],
    after: Mapping[int, float],
    confidence: float,
) -> Contrast:
    common = before.keys() & after.keys()
    paired = len(common) >= max(1, COMMON_SEEDS_SHARE_MIN * min(len(before), len(after)))
    if paired:
        seeds = sorted(common)
        found = paired_difference([after[n] for n in seeds], [before[n] for n in seeds], confidence)
    else:
        found = welch_difference(list(after.values()), list(before.values()), confidence)
    return Contrast(
        variant_difference(other, variant, name, found, paired=paired),
        mean_interval(list(before.values()), confidence),
        mean_interval(list(after.values()), confidence),
        len(before) + len(after) - 2 * len(common) if paired else 0,
    )


def comparison_json(found: ExperimentComparison) -> ReportFields:
    """Return the comparison as JSON, in the units of the measures."""
    return {
        "differs": {name: list(both) for name, both in found.differs.items()},
        "alone": [dict(variant.values) for variant in found.alone],
        "differences": [
            difference_json(one.compared)
            | {
                "parameters": dict(one.compared.variant.values),
                "unit": MEASURES[one.compared.measure].unit,
                "first": interval_json(one.first),
                "second": interval_json(one.second),
                "left_out": one.left_out,
                "steady": not one.steadiness,
            }
            for one in found.contrasts
        ],
    }
