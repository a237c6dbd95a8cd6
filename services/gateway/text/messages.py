"""Log messages for people: the message, the names that it is about, and a short line of text."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import orjson

from schemas.api.rows import LogMessage
from schemas.body import Model
from schemas.config.parameter import ParameterChange, ParameterSetting, parameter_text
from schemas.envelope import Envelope
from schemas.messages.jobs import OwnerUse, SliceUse, TierUse
from schemas.messages.transceivers import LinkEndInspection
from schemas.name_parts import is_within
from schemas.registry import encode
from schemas.request_metadata import METADATA_FIELDS
from schemas.site_readings import SiteReading
from services.gateway.fabrics import fabric_plant
from services.gateway.runtime_ports import TwinPorts
from shared.basics.field_text import LIST_ITEMS_MAX, field_text, one_line
from shared.basics.time_format import format_chip_hours
from shared.models.plant.naming import (
    Fields,
    Mention,
    concerns_joins_of,
    mentioned_names,
    mentions_by_field,
    names_to_search,
)

# Short texts for the anomalies of a link end's readings.

FIELD_TEXTS: dict[str, Callable[[float], str]] = {
    "rx_db": lambda db: f"received {db:+.1f} dB",
    "tx_db": lambda db: f"launched {db:+.1f} dB",
    "snr_db": lambda db: f"SNR {db:+.1f} dB",
    "mpi_db": lambda db: f"MPI {db:+.1f} dB",
    "bias": lambda share: f"bias {100 * share:+.0f}%",
    "warmer_k": lambda kelvin: f"{kelvin:+.1f} K",
    "spread_db": lambda db: f"lanes scatter by {db:.1f} dB",
    "age_min": lambda minutes: f"readings {minutes:.0f} min old",
    "outages": lambda times: f"{times:.0f} outages in a day",
}
"""Field of LinkEndInspection → its text."""
BOUNDS = {
    "rx_db": 0.4,
    "tx_db": 0.4,
    "snr_db": 0.6,
    "mpi_db": 2.0,
    "bias": 0.06,
    "warmer_k": 4.0,
    "spread_db": 1.0,
    "age_min": 10.0,
    "outages": 2.5,
}
"""Thresholds of anomalies, as in `shared.models.telemetry.outlier_thresholds`. The gateway does not import
that physics; a test checks that both are equal."""
TWO_SIDED = frozenset({"rx_db", "tx_db", "snr_db"})
"""Fields that are also anomalous below the negative threshold."""


def reading_text(inspection: LinkEndInspection) -> str:
    """The anomalies of a link end, for the worse strand. Empty if the end is listed only with the other end
    of its link."""
    if inspection.silent:
        return "silent"
    anomalies = ["launches no light"] if None in inspection.tx_db else []
    for name, bound in BOUNDS.items():
        value = getattr(inspection, name)
        amounts = [item for item in (value if isinstance(value, tuple) else (value,)) if item is not None]
        size: Callable[[float], float] = abs if name in TWO_SIDED else float
        worst = max(amounts, key=size, default=0.0)
        if size(worst) > bound:
            anomalies.append(FIELD_TEXTS[name](worst))
    return ", ".join([*anomalies, *(["readings do not change"] if inspection.unchanged else [])])


HIDDEN_FIELDS = frozenset({"config", "key"})
"""Fields without text: they are long, or random."""
READINGS_MAX = 2
"""Inspections of link ends that are described; of more, only the first names are listed."""
NAMES_MAX = 3
CHIP_USES = (TierUse, OwnerUse, SliceUse)
ChipUse: TypeAlias = TierUse | OwnerUse | SliceUse
"""An item of a report of chip-time."""


def log_message(twin: TwinPorts, message: Envelope, resource: str | None = None) -> LogMessage:
    """The message as the API returns it, without validation. If it has long lists, `text` shows only the
    items about `thing`."""
    names, text = _read(twin, message, resource)
    return LogMessage.model_construct(**dict(message), about=tuple(names), text=text)


def log_message_json(twin: TwinPorts, message: Envelope, resource: str | None = None) -> bytes:
    """The same as JSON. It avoids building thousands of models, which would take longer than reading the
    messages."""
    names, text = _read(twin, message, resource)
    return b'%b,"about":%b,"text":%b}' % (encode(message)[:-1], orjson.dumps(names), orjson.dumps(text))


def _read(twin: TwinPorts, message: Envelope, resource: str | None) -> tuple[list[str], str]:
    body, plant = message.body.__dict__, fabric_plant(twin, message.fabric)
    fields = mentions_by_field(type(message.body), body, plant, message.fabric)
    searched = () if resource is None else names_to_search(plant, resource)
    return mentioned_names(fields), message_line(body, fields, searched)


def message_line(body: Mapping[str, object], fields: Fields, searched: Sequence[str] = ()) -> str:
    """The body of a message in one short line: its fields in order, resources by name. Requester and comment
    come last, and `ends` after the evidence. Of a long list, only the items about a resource are shown, whose
    names (`names_to_search`) are `searched`."""
    words = []
    last = (*METADATA_FIELDS, "ends") if "evidence" in body else METADATA_FIELDS
    for name, value in sorted(body.items(), key=lambda item: item[0] in last):
        if value is None or value == () or name in HIDDEN_FIELDS or _is_place(name, fields):
            continue
        mentions = fields.get(name)
        if mentions and isinstance(value, tuple) and isinstance(value[0], LinkEndInspection):
            words.append(f"{name}={_inspections_text(value, mentions, searched)}")
            continue
        if isinstance(value, tuple) and isinstance(value[0], ParameterSetting):
            words.append(", ".join(map(_setting, value)))
            continue
        if isinstance(value, tuple) and isinstance(value[0], CHIP_USES):
            words.append(f"{name}={_uses_text(value)}")
            continue
        if isinstance(value, tuple) and isinstance(value[0], SiteReading):
            words.append(f"{name}={_site_readings_text(value)}")
            continue
        plain = value.model_dump() if isinstance(value, Model) else value
        words.append(f"{name}={_mentions_text(mentions, searched)}" if mentions else field_text(name, plain))
    return one_line(words)


def _setting(setting: ParameterSetting) -> str:
    """A parameter as `lightwave set` takes it, with its old value if it changed."""
    was = f" (was {parameter_text(setting.was)})" if isinstance(setting, ParameterChange) else ""
    return f"{setting.name}={parameter_text(setting.value)}{was}"


def _uses_text(uses: Sequence[ChipUse]) -> str:
    """The chip-time of each tier, owner or slice; of a long list, how many."""
    if len(uses) > LIST_ITEMS_MAX:
        return f"({len(uses)} of them)"
    return ", ".join(map(_use_text, uses))


def _use_text(use: ChipUse) -> str:
    """Chip-time of a tier, an owner or a slice: `production 10,300.0 chip-h 96% productive`."""
    names = [f"slice-{use.number}"] if isinstance(use, SliceUse) else []
    names += [] if isinstance(use, TierUse) else [use.owner]
    by_category = dict(use.chip_us)
    total_us = sum(by_category.values())
    share = f" {100 * by_category.get('productive', 0) / total_us:.0f}% productive" if total_us else ""
    return f"{' '.join([*names, use.tier])} {format_chip_hours(total_us)} chip-h{share}"


def _site_readings_text(readings: Sequence[SiteReading]) -> str:
    """What a service read of its site; of a long list, how many."""
    if len(readings) > LIST_ITEMS_MAX:
        return f"({len(readings)} of them)"
    return ", ".join(map(_site_reading_text, readings))


def _site_reading_text(reading: SiteReading) -> str:
    """The answer to one query: `false (count=1)`, `3 names`, `1 ocs`, or why there is none."""
    if reading.problem is not None:
        return f"not measured ({reading.problem})"
    if reading.names is not None:
        return f"{len(reading.names)} name{'' if len(reading.names) == 1 else 's'}"
    if reading.counts is not None:
        return " and ".join(f"{row.count} {row.what}" for row in reading.counts) or "nothing"
    compared = f" ({' '.join(reading.compared)})" if reading.compared else ""
    return f"{'true' if reading.holds else 'false'}{compared}"


def _inspections_text(
    inspections: Sequence[LinkEndInspection], mentions: list[Mention], searched: Sequence[str]
) -> str:
    """Inspections of link ends, all or those about a resource: the anomalies of a few, or the first
    names of many."""
    pairs = list(zip(mentions, inspections, strict=True))
    concerned = [(item, inspection) for item, inspection in pairs if _concerns(item, searched)]
    shown = concerned or pairs
    if len(shown) <= READINGS_MAX:
        texts = [(item.text, reading_text(inspection)) for item, inspection in shown]
        text = "; ".join(f"{name} ({words})" if words else name for name, words in texts)
    else:
        text = ",".join(item.text for item, _ in shown[:NAMES_MAX])
    is_all = len(inspections) <= READINGS_MAX and len(shown) == len(inspections)
    return text if is_all else f"({len(inspections)} of them) {text}{'…' if len(shown) > NAMES_MAX else ''}"


def _is_place(name: str, fields: Fields) -> bool:
    """Whether a field only says where the resource in another field is, such as the cube of a host."""
    mentions = fields.get(name, ())
    others = [other for key, value in fields.items() if key != name for other in value]
    inside = tuple(f"{part}/" for resource in mentions for part in resource.names)
    return bool(inside) and any(other.text.startswith(inside) for other in others)


def _mentions_text(mentions: list[Mention], searched: Sequence[str]) -> str:
    if len(mentions) <= LIST_ITEMS_MAX:
        return ",".join(item.text for item in mentions)
    concerned = [item.text for item in mentions if _concerns(item, searched)]
    if not concerned or len(concerned) == len(mentions):
        return f"({len(mentions)} of them)"
    if len(concerned) > LIST_ITEMS_MAX:
        return f"({len(concerned)} of {len(mentions)})"
    return f"{','.join(concerned)} (of {len(mentions)})"


def _concerns(item: Mention, searched: Sequence[str]) -> bool:
    """Whether an item is the resource with these names, a part of it, the face that it is on, or a join along
    its axis."""
    own, others = searched[:1], searched[1:]
    return any(
        any(is_within(name, resource) or is_within(resource, name) for resource in own)
        or name in others
        or any(concerns_joins_of(name, other) for other in others)
        for name in item.names
    )
