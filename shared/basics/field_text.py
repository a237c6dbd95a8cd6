"""Text of message fields in one short line."""

import re
from collections.abc import Mapping
from math import inf

from shared.basics.time_format import format_chip_hours, format_duration, format_time

TIME_FIELDS = ("due_us", "expires_us", "anchor_us", "from_us", "until_us")
"""Fields of messages and operations that are points in time; other time fields are durations."""
CHIP_TIME_SUFFIX = "_chip_us"
"""Suffix of the names of chip-time."""
PPM_SUFFIX = "_ppm"
"""Suffix of the names of shares in millionths."""
PPM_WHOLE = 1_000_000
TRUNK_COUNT_FIELDS = ("path_ppm",)
"""Names with that suffix that are numbers of trunks, not shares."""
RATE_FIELDS = {"mbps": "bandwidth", "sent": "sent"}
"""Field in Mb/s → its displayed name, in Gb/s."""
GBPS_WITHOUT_DECIMALS = 100
"""From this value on, numbers are shown without decimals."""
LIST_ITEMS_MAX = 4
"""Maximum number of items of a list that are shown one by one."""
LINE_MAX = 120
RAW_TIME = re.compile(r"\b([0-9]{1,18}) us\b")
"""A point in time in the text of a reason on the log."""


def fields_text(fields: Mapping[str, object]) -> str:
    """Format all fields that are not None, in their order."""
    return one_line([field_text(name, value) for name, value in fields.items() if value is not None])


def one_line(words: list[str]) -> str:
    """Join words to one line, cut if it is too long."""
    text = " ".join(words)
    return text if len(text) <= LINE_MAX else text[: LINE_MAX - 1] + "…"


def field_text(name: str, value: object) -> str:
    """Format one field: yes or no, a time by its largest units, chip-time in hours, a share in percent, a
    rate in Gb/s, a long list by its number of items."""
    if isinstance(value, bool):
        return f"{name}={'yes' if value else 'no'}"
    if isinstance(value, int) and name.endswith(PPM_SUFFIX):
        share = value / PPM_WHOLE
        amount = f"{share:.2f}" if name in TRUNK_COUNT_FIELDS else format_percent(share)
        return f"{name.removesuffix(PPM_SUFFIX)}={amount}"
    if isinstance(value, int) and name in RATE_FIELDS:
        return f"{RATE_FIELDS[name]}={format_gbps(value / 1_000)} Gb/s"
    if isinstance(value, tuple | list):
        if len(value) > LIST_ITEMS_MAX or (value and isinstance(value[0], tuple | list)):
            return f"{name}=({len(value)} of them)"
        if name in RATE_FIELDS:
            return f"{RATE_FIELDS[name]}={' '.join(format_gbps(mbps / 1_000) for mbps in value)} Gb/s"
        return f"{name}={('x' if name == 'shape' else ',').join(map(str, value))}"
    if isinstance(value, Mapping):
        unit = CHIP_TIME_SUFFIX if name.endswith(CHIP_TIME_SUFFIX) else ""
        parts = [field_text(key + unit, item) for key, item in value.items() if item is not None]
        return f"{name.removesuffix(CHIP_TIME_SUFFIX)}={', '.join(parts).replace('=', ' ')}"
    if isinstance(value, int) and name.endswith(CHIP_TIME_SUFFIX):
        return f"{name.removesuffix(CHIP_TIME_SUFFIX)}={format_chip_hours(value)} chip-h"
    if isinstance(value, int) and name.endswith("_us"):
        return f"{name[:-3]}={format_time(value) if name in TIME_FIELDS else format_duration(value)}"
    return f"{name}={with_readable_times(str(value))}"


def format_percent(share: float) -> str:
    """Format a share in percent with two decimals; 100 only if it is exactly 1."""
    return f"{min(100 * share, 99.99 if share < 1 else inf):.2f}%"


def format_gbps(value: float) -> str:
    """Format a rate in Gb/s, small ones with one decimal."""
    return f"{value:,.0f}" if value >= GBPS_WITHOUT_DECIMALS else f"{value:.1f}"


def with_readable_times(reason: str) -> str:
    """Return a reason on the log with its times in readable form."""
    return RAW_TIME.sub(lambda match: format_time(int(match[1])), reason)
