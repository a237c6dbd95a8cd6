"""Formats fields of the API for people: words for names, and cells for values with their units."""

from typing import Any

from ops.report.tables import display_value
from shared.basics.field_text import format_percent
from shared.basics.time_format import format_duration, format_time

PORT_SIDES = {"north": "N", "south": "S", "north_spare": "N", "south_spare": "S"}
"""Field with the number of a port → the letter before it in the port's name."""
PPM = 1_000_000
SPANS = frozenset(
    {
        "takes_us",
        "duration_us",
        "estimate_us",
        "waited_us",
        "ran_us",
        "left_us",
        "onset_us",
        "late_us",
        "median_us",
        "p95_us",
    }
)
"""Fields that are lengths of time and not points in it."""
SHARES = frozenset(
    {
        "served",
        "served_mean",
        "use",
        "use_out",
        "use_back",
        "bound",
        "transit",
        "share",
        "capacity_kept",
        "confidence",
        "utilisation",
        "utilisation_now",
        "productive_share",
        "cube_availability",
    }
)
"""Fields that are shares from 0 to 1, besides those in millionths."""
FIELD_SPELLING = {"ocs": "OCS", "ocses": "OCSes", "ber": "BER", "db": "dB", "gbps": "Gb/s", "mbps": "Mb/s"}
"""Word of a field's name → its spelling in tables."""


def field_cell(field: str, value: Any) -> object:
    """The cell of a table for the value of a field."""
    if (share := _share(field, value)) is not None:
        return share
    if field.endswith("_us"):
        return format_duration(value) if field in SPANS else format_time(value)
    if field in PORT_SIDES and value is not None:
        return f"{PORT_SIDES[field]}{value}"
    return display_value(field, value)


def _share(field: str, value: Any) -> str | None:
    """A share in per cent with two digits; None if the field is not a share."""
    in_ppm = field.endswith("_ppm")
    if isinstance(value, bool) or not isinstance(value, int | float) or not (in_ppm or field in SHARES):
        return None
    return format_percent(value / PPM if in_ppm else value)


def field_words(field: str) -> str:
    """The name of a field in words: `loss dB`."""
    bare = field.removesuffix("_us").removesuffix("_ppm")
    return " ".join(FIELD_SPELLING.get(word, word) for word in bare.split("_"))


def field_title(field: str) -> str:
    """The name of a field as the start of a line: `Loss dB`."""
    words = field_words(field)
    return words[:1].upper() + words[1:]


def field_value(field: str, value: Any) -> str:
    """The value of a field in one line, with the fields of an object by name."""
    if value is None or value == []:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if field.endswith("_us"):
        return format_duration(value) if field in SPANS else format_time(value)
    if isinstance(value, list):
        return ", ".join(str(item) for item in value)
    if isinstance(value, dict):
        shown = {name: item for name, item in value.items() if item or field != "faults_begun"}
        return (
            ", ".join(f"{field_words(name)} {_nested_value(name, item)}" for name, item in shown.items())
            or "none"
        )
    if (share := _share(field, value)) is not None:
        return share
    value = display_value(field, value)
    return f"{value:.4f}" if isinstance(value, float) else str(value)


def _nested_value(field: str, value: Any) -> str:
    """A value within an object: the items of a list with spaces between them."""
    if value is None:
        return "-"
    return " ".join(map(str, value)) if isinstance(value, list) else str(field_cell(field, value))
