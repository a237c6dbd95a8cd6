"""The predefined experiments. The first line of each document is its question."""

from pathlib import Path

from shared.basics.checks import closest_match_hint
from shared.basics.errors import NotFound

FOLDER = Path(__file__).parent
TEMPLATE = """\
title: How many technicians does a pod need?
question: Do four more than eight technicians raise goodput?
fabric: {days: 60, warm_up_days: 10, set: {failures.host_per_day: 0.004}}
vary:
  repairs.technicians: [8, 12]
seeds: 20
measure: [goodput, cube_availability, queue_h_p95]
compare: {against: {repairs.technicians: 8}}
claim: {measure: goodput, of: {repairs.technicians: 12}, over: {repairs.technicians: 8}, more_than: 0}
"""


def ready() -> list[tuple[str, str]]:
    """Return (name, question) of each predefined experiment."""
    return [(path.stem, _question(path)) for path in sorted(FOLDER.glob("*.yaml"))]


def library_path(name: str) -> Path:
    """Return the file of a predefined experiment. Raises NotFound with the closest name."""
    path = FOLDER / f"{name}.yaml"
    names = [known for known, _ in ready()]
    if name not in names:
        raise NotFound(
            f"{name}: is neither a file nor a predefined experiment; `lightwave experiment list` lists these"
            f"{closest_match_hint(name, names)}"
        )
    return path


def _question(path: Path) -> str:
    """Return the question of an experiment: the comment in its first line."""
    with path.open(encoding="utf-8") as file:
        return file.readline().lstrip("# ").rstrip()
