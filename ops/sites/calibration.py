"""Calibrations: sets of parameter values, each with its source and confidence.

    failures.host_per_day: {value: 0.00077, source: "…", sure: digitised}

Ready calibrations have names; others are files in the same format.
"""

from dataclasses import dataclass
from pathlib import Path

from ops.report.safe_text import quoted
from ops.sites.configuration import config_from_sections, parameters, to_sections
from ops.sites.yaml_reader import read_yaml
from schemas.config.fabric_configs import CONFIGS
from shared.basics.checks import closest_match_hint
from shared.basics.errors import InvalidInput

FOLDER = Path(__file__).parent / "calibrations"
CONFIDENCE_LEVELS = {
    "published": "the same in several texts",
    "digitised": "read off a figure",
    "derived": "computed from published values",
    "fitted": "chosen so that the model gives a published result",
    "assumed": "from experience, or an estimate without a source",
}
"""Confidence in a value → its meaning."""
FIELDS = ("value", "source", "sure")


@dataclass(frozen=True, slots=True)
class CalibrationValue:
    """The value of one parameter, and how `sure` it is (CONFIDENCE_LEVELS)."""

    name: str
    value: object
    source: str
    sure: str


def calibration_names() -> list[str]:
    """The names of the ready calibrations."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


def read_calibration(name: str) -> tuple[CalibrationValue, ...]:
    """Read a ready calibration by name, or a file. Raises InvalidInput that names the parameter, the value
    and what is allowed."""
    path = Path(name)
    if not _is_file(name):
        if name not in calibration_names():
            raise InvalidInput(
                f"calibration {quoted(name)}: no such calibration; must be "
                f"{', '.join(calibration_names())}, or a file"
                f"{closest_match_hint(name, calibration_names())}"
            )
        path = FOLDER / f"{name}.yaml"
    try:
        return _read(path)
    except InvalidInput as error:
        raise InvalidInput(f"calibration {name}: {error}") from None


def resolve_calibration(folder: Path, name: str) -> str:
    """A calibration that a file in this folder names; paths are relative to the folder."""
    return str(folder / name) if _is_file(name) else name


def _is_file(name: str) -> bool:
    return bool(Path(name).suffix) or "/" in name


def calibration_values(name: str, kind: str) -> dict[str, object]:
    """The values of a calibration for the parameters of a kind, by dotted name."""
    known = {parameter.name for parameter in parameters(kind)}
    return {one.name: one.value for one in read_calibration(name) if one.name in known}


def _read(path: Path) -> tuple[CalibrationValue, ...]:
    content = read_yaml(path)
    if not isinstance(content, dict) or not content:
        raise InvalidInput(f"{quoted(content)} is not allowed; must be parameters, with {', '.join(FIELDS)}")
    known = {parameter.name for kind in CONFIGS for parameter in parameters(kind)}
    rows = []
    for name, row in content.items():
        if name not in known:
            raise InvalidInput(
                f"{quoted(name)}: no such parameter{closest_match_hint(str(name), sorted(known))}"
            )
        if not isinstance(row, dict) or set(row) != set(FIELDS):
            raise InvalidInput(
                f"{name}: {quoted(row)} is not allowed; must be {', '.join(FIELDS)}, all three"
            )
        if row["sure"] not in [*CONFIDENCE_LEVELS]:  # a list: the value may be unhashable
            raise InvalidInput(
                f"{name}: sure {quoted(row['sure'])} is not allowed; must be {', '.join(CONFIDENCE_LEVELS)}"
            )
        if not isinstance(row["source"], str) or not row["source"].strip():
            raise InvalidInput(f"{name}: source {quoted(row['source'])} is not allowed; must be text")
        rows.append(CalibrationValue(str(name), row["value"], row["source"], str(row["sure"])))
    for kind in CONFIGS:
        own = {parameter.name for parameter in parameters(kind)}
        config_from_sections(
            kind, to_sections({one.name: one.value for one in rows if one.name in own}), "with it"
        )
    return tuple(rows)
