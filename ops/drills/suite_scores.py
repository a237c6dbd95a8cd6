"""The scores of a suite, and the file that keeps them: which drills never ran, and which are stale."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import orjson
from pydantic import TypeAdapter, ValidationError

from ops.drills.alternatives import TriedAlternative, try_alternatives
from ops.drills.document import read_drill
from ops.drills.lab_runs import run_lab_drills
from ops.drills.score.figures import CATEGORIES, Category, DrillScore, weighted_mean
from ops.drills.score_text import score_json
from ops.drills.suite_plan import LabSettings, lab_drill, read_suite
from ops.local.input_files import read_input
from ops.report.tables import count_text
from shared.basics.checks import closest_match_hint
from shared.basics.errors import InvalidInput, OperationFailed
from shared.basics.json_types import JsonObject

SCORES_BYTES_MAX = 1 << 26
STALE_S = 30 * 86_400
"""A score older than a month is stale, as in Gremlin."""
PASSED, STALE, FAILED, NEVER = 100.0, 75.0, 50.0, 0.0
"""Gremlin's points of a drill: passed; passed, but stale; failed; never run."""


@dataclass(frozen=True, slots=True)
class KeptScore:
    """The last score of a document, and when it was made, in seconds since 1970."""

    ran_s: float
    score: DrillScore


@dataclass(frozen=True, slots=True)
class _ScoresFile:
    scores: dict[str, KeptScore]


_FILE = TypeAdapter(_ScoresFile)


@dataclass(frozen=True, slots=True)
class SuiteRow:
    """A document of a suite and its last score; `age` is in words. `points` are Gremlin's. Stale is a score
    that is older than a month, or of another text of the document."""

    name: str
    tags: tuple[str, ...]
    age: str
    is_stale: bool
    points: float
    score: DrillScore | None
    tried: tuple[TriedAlternative, ...] | None = None
    """What the drill costs with other parameters; None if that was not tried."""

    def json(self) -> JsonObject:
        """The row as JSON."""
        found = None if self.score is None else score_json(self.score)
        return {
            "name": self.name,
            "class": class_of(self),
            "age": self.age,
            "stale": self.is_stale,
            "points": self.points,
            "score": found,
            "tried": None if self.tried is None else [one.json() for one in self.tried],
        }


def class_of(row: SuiteRow) -> str:
    """The class of a drill, from its tag `class/NAME`."""
    return next((tag.removeprefix("class/") for tag in row.tags if tag.startswith("class/")), "other")


def category_means(rows: Sequence[SuiteRow]) -> dict[Category, float | None]:
    """The mean score of each category by its weight, over the drills that have one."""
    means: dict[Category, float | None] = {}
    for category in CATEGORIES:
        found = [row.score.of(category) for row in rows if row.score is not None]
        means[category] = weighted_mean([(one.score, one.weight) for one in found if one is not None])
    return means


def suite_json(rows: Sequence[SuiteRow]) -> JsonObject:
    """The report of a suite as JSON."""
    return {
        "drills": [row.json() for row in rows],
        "categories": {str(name): mean for name, mean in category_means(rows).items()},
        "never_run": [row.name for row in rows if row.score is None],
        "stale": [row.name for row in rows if row.is_stale],
    }


def suite_scores(
    folder: Path, file: Path | None, only: tuple[str, ...], jobs: int, *, compare: bool = False
) -> list[SuiteRow]:
    """Run the documents of a suite (those of `only`, if any) in `jobs` processes, none with 0, and return a
    row for each. `file` keeps the scores. With `compare`, the drills also run with
    other parameters. Raises InvalidInput for unknown names and for a file without
    scores."""
    suite = read_suite(folder)
    names = [path.stem for path in suite]
    for word in only:
        if word not in names:
            hint = closest_match_hint(word, names)
            raise InvalidInput(f"--only {word}: no such document; must be one of {', '.join(names)}{hint}")
    kept = _read(file)
    tried: dict[Path, tuple[TriedAlternative, ...] | None] = {}
    chosen = {path: one for path, one in suite.items() if not only or path.stem in only}
    if jobs:
        plans = [lab_drill(path, one) for path, one in chosen.items()]
        found = run_lab_drills(plans, jobs)
        if compare:
            results = try_alternatives(plans, [run.without for run in found], jobs)
            tried = dict(zip(chosen, results, strict=True))
        for path, run in zip(chosen, found, strict=True):
            kept[path.stem] = KeptScore(round(time.time()), run.score)
        _write(file, kept)
    return [
        replace(_row(path, one, kept.get(path.stem)), tried=tried.get(path)) for path, one in chosen.items()
    ]


def _row(path: Path, settings: LabSettings, kept: KeptScore | None) -> SuiteRow:
    plan = read_drill(path, settings.variables).plan
    if kept is None:
        return SuiteRow(path.stem, plan.tags, "never", is_stale=False, points=NEVER, score=None)
    score = kept.score
    days = (time.time() - kept.ran_s) / 86_400
    is_changed = score.document_sha256 != plan.document_sha256
    is_stale = is_changed or days * 86_400 > STALE_S
    age = (
        count_text(max(0, round(days)), "day")
        + (", stale" if is_stale else "")
        + (": the document changed" if is_changed else "")
    )
    passed = score.status == "completed" and not score.deviated
    points = (STALE if is_stale else PASSED) if passed else FAILED
    return SuiteRow(path.stem, plan.tags, age, is_stale=is_stale, points=points, score=score)


def _read(file: Path | None) -> dict[str, KeptScore]:
    if file is None or not file.exists():
        return {}
    try:
        return _FILE.validate_json(read_input(file, SCORES_BYTES_MAX)).scores
    except InvalidInput as error:
        raise InvalidInput(f"--scores {file}: {error}") from None
    except OSError as error:
        raise OperationFailed(f"--scores {file}: {error.strerror or error}") from None
    except ValidationError:
        raise InvalidInput(
            f"--scores {file}: is not a file of scores; must be one that this command wrote"
        ) from None


def _write(file: Path | None, kept: Mapping[str, KeptScore]) -> None:
    if file is None:
        return
    rows = {name: {"ran_s": round(one.ran_s), "score": score_json(one.score)} for name, one in kept.items()}
    try:
        file.write_bytes(orjson.dumps({"scores": rows}, option=orjson.OPT_INDENT_2) + b"\n")
    except OSError as error:
        raise OperationFailed(f"--scores {file}: {error.strerror or error}") from None
