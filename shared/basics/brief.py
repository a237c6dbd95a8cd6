"""The fields of a message in one short line, as people read them."""

import re
from collections.abc import Mapping
from math import inf

from shared.basics.times import chip_hours, moment, span

MOMENTS = ("due_us", "expires_us", "anchor_us", "until_us")
"""Fields of messages and operations that are points in time; the other times in them are spans."""
CHIP_TIME = "_chip_us"
"""How names of chip-time end."""
PPM = "_ppm"
"""How names of shares in millionths end."""
PPM_WHOLE = 1_000_000
COUNTS = ("path_ppm",)
"""Those that are no shares, but numbers of trunks."""
RATES = {"mbps": "bandwidth", "sent": "sent"}
"""Field in Mb/s → how people call it, in Gb/s."""
GBPS_WHOLE = 100
"""From here on nobody reads a digit behind the point."""
LISTED_MAX = 4
"""Items of a list that are said one by one."""
LINE_MAX = 120
RAW_TIME = re.compile(r"\b([0-9]{1,18}) us\b")
"""A point in time as a reason on the log has it."""


def brief(fields: Mapping[str, object]) -> str:
    """What is there, in its order."""
    return in_line([said(name, value) for name, value in fields.items() if value is not None])


def in_line(words: list[str]) -> str:
    """Words as one line, cut where it is too long."""
    text = " ".join(words)
    return text if len(text) <= LINE_MAX else text[: LINE_MAX - 1] + "…"


def said(name: str, value: object) -> str:
    """One field: yes or no, a time by its largest units, chip-time in hours, a share in per cent, a rate in
    Gb/s, of a long list how many."""
    if isinstance(value, bool):
        return f"{name}={'yes' if value else 'no'}"
    if isinstance(value, int) and name.endswith(PPM):
        share = value / PPM_WHOLE
        return f"{name.removesuffix(PPM)}={f'{share:.2f}' if name in COUNTS else per_cent(share)}"
    if isinstance(value, int) and name in RATES:
        return f"{RATES[name]}={gbps(value / 1_000)} Gb/s"
    if isinstance(value, tuple | list):
        if len(value) > LISTED_MAX or (value and isinstance(value[0], tuple | list)):
            return f"{name}=({len(value)} of them)"
        if name in RATES:
            return f"{RATES[name]}={' '.join(gbps(mbps / 1_000) for mbps in value)} Gb/s"
        return f"{name}={('x' if name == 'shape' else ',').join(map(str, value))}"
    if isinstance(value, Mapping):
        unit = CHIP_TIME if name.endswith(CHIP_TIME) else ""
        parts = [said(key + unit, item) for key, item in value.items() if item is not None]
        return f"{name.removesuffix(CHIP_TIME)}={', '.join(parts).replace('=', ' ')}"
    if isinstance(value, int) and name.endswith(CHIP_TIME):
        return f"{name.removesuffix(CHIP_TIME)}={chip_hours(value)} chip-h"
    if isinstance(value, int) and name.endswith("_us"):
        return f"{name[:-3]}={moment(value) if name in MOMENTS else span(value)}"
    return f"{name}={with_moments(str(value))}"


def per_cent(share: float) -> str:
    """A share to the hundredth of a per cent, and 100 only where it is all."""
    return f"{min(100 * share, 99.99 if share < 1 else inf):.2f}%"


def gbps(value: float) -> str:
    """A rate in Gb/s, small ones with a digit behind the point."""
    return f"{value:,.0f}" if value >= GBPS_WHOLE else f"{value:.1f}"


def with_moments(reason: str) -> str:
    """A reason on the log with its points in time as people read them."""
    return RAW_TIME.sub(lambda match: moment(int(match[1])), reason)
