"""Messages as people read them: as they stand on the log, with the names of what they are about, and in one
short line."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import orjson

from schemas.api.rows import LogMessage
from schemas.body import Model
from schemas.config.parameter import ParameterChange, ParameterSetting, parameter_text
from schemas.envelope import Envelope
from schemas.messages.transceivers import LinkEndInspection
from schemas.registry import encode
from schemas.request_metadata import METADATA_FIELDS
from services.gateway.fabrics import fabric_plant
from services.gateway.ports import TwinPorts
from shared.basics.field_text import LIST_ITEMS_MAX, field_text, one_line
from shared.models.plant.naming import Fields, Mention, mentioned_names, mentions_by_field

# What the readings of a link end show that should not be there, in few words.

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
"""Field of EndLook → what is said of it."""
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
"""From how far off on it stands out: as those who look have it (`shared.models.telemetry.inspections`), which
is
physics that the gateway does not import; a test holds both equal."""
TWO_SIDED = frozenset({"rx_db", "tx_db", "snr_db"})
"""Those that stand out downwards, too."""


def reading_text(look: LinkEndInspection) -> str:
    """What stands out at an end, of both strands the worse one; nothing where it is told only beside the
    other end of its link."""
    if look.silent:
        return "silent"
    found = ["launches nothing"] if None in look.tx_db else []
    for name, bound in BOUNDS.items():
        value = getattr(look, name)
        amounts = [one for one in (value if isinstance(value, tuple) else (value,)) if one is not None]
        size: Callable[[float], float] = abs if name in TWO_SIDED else float
        most = max(amounts, key=size, default=0.0)
        if size(most) > bound:
            found.append(FIELD_TEXTS[name](most))
    return ", ".join([*found, *(["readings stand still"] if look.unchanged else [])])


HIDDEN_FIELDS = frozenset({"config", "key"})
"""What nobody reads in a line: it is long, or drawn at random."""
READINGS_MAX = 2
"""Looks at link ends that are said in words; of more, the first names."""
NAMES_MAX = 3


def log_message(twin: TwinPorts, message: Envelope, thing: str | None = None) -> LogMessage:
    """The message as the API gives it; it is not checked again. `text` keeps to one thing where it would
    only count many."""
    names, text = _read(twin, message, thing)
    return LogMessage.model_construct(**dict(message), about=tuple(names), text=text)


def log_message_json(twin: TwinPorts, message: Envelope, thing: str | None = None) -> bytes:
    """The same as JSON: a making of ten thousand models would take longer than the reading of them."""
    names, text = _read(twin, message, thing)
    return b'%b,"about":%b,"text":%b}' % (encode(message)[:-1], orjson.dumps(names), orjson.dumps(text))


def _read(twin: TwinPorts, message: Envelope, thing: str | None) -> tuple[list[str], str]:
    body = message.body.__dict__
    fields = mentions_by_field(type(message.body), body, fabric_plant(twin, message.fabric), message.fabric)
    return mentioned_names(fields), message_line(body, fields, thing)


def message_line(body: Mapping[str, Any], fields: Fields, thing: str | None = None) -> str:
    """What a body says in one short line: what is there, in its order, by name; who asked and why comes last,
    and the ends behind the evidence. Of a list that is too long to be said only what the thing has to do
    with."""
    words = []
    last = (*METADATA_FIELDS, "ends") if "evidence" in body else METADATA_FIELDS
    for name, value in sorted(body.items(), key=lambda item: item[0] in last):
        if value is None or value == () or name in HIDDEN_FIELDS or _is_place(name, fields):
            continue
        things = fields.get(name)
        if things and isinstance(value, tuple) and isinstance(value[0], LinkEndInspection):
            words.append(f"{name}={_looks(value, things, thing)}")
            continue
        if isinstance(value, tuple) and isinstance(value[0], ParameterSetting):
            words.append(", ".join(map(_setting, value)))
            continue
        plain = value.model_dump() if isinstance(value, Model) else value
        words.append(f"{name}={_listed(things, thing)}" if things else field_text(name, plain))
    return one_line(words)


def _setting(setting: ParameterSetting) -> str:
    """A parameter as `lightwave set` takes it, and what it was before it was changed."""
    was = f" (was {parameter_text(setting.was)})" if isinstance(setting, ParameterChange) else ""
    return f"{setting.name}={parameter_text(setting.value)}{was}"


def _looks(looks: Sequence[LinkEndInspection], things: list[Mention], thing: str | None) -> str:
    """Looks at link ends, all of them or those that the thing has to do with: what stands out at a few, or
    the first names of many."""
    pairs = list(zip(things, looks, strict=True))
    concerned = [(item, look) for item, look in pairs if thing is not None and _concerns(item, thing)]
    told = concerned or pairs
    if len(told) <= READINGS_MAX:
        found = [(item.text, reading_text(look)) for item, look in told]
        text = "; ".join(f"{name} ({words})" if words else name for name, words in found)
    else:
        text = ",".join(item.text for item, _ in told[:NAMES_MAX])
    is_all = len(looks) <= READINGS_MAX and len(told) == len(looks)
    return text if is_all else f"({len(looks)} of them) {text}{'…' if len(told) > NAMES_MAX else ''}"


def _is_place(name: str, fields: Fields) -> bool:
    """Whether the field only says where a thing of another one is: the cube of a host."""
    things = fields.get(name, ())
    others = [other for key, value in fields.items() if key != name for other in value]
    inside = tuple(f"{part}/" for thing in things for part in thing.names)
    return bool(inside) and any(other.text.startswith(inside) for other in others)


def _listed(things: list[Mention], thing: str | None) -> str:
    if len(things) <= LIST_ITEMS_MAX:
        return ",".join(item.text for item in things)
    concerned = [item.text for item in things if thing is not None and _concerns(item, thing)]
    if not concerned or len(concerned) > LIST_ITEMS_MAX:
        return f"({len(things)} of them)"
    return f"{','.join(concerned)} (of {len(things)})"


def _concerns(item: Mention, thing: str) -> bool:
    """Whether an item is the thing, in it, or the face that it is on."""
    return any(f"{name}/".startswith(f"{thing}/") or thing.startswith(f"{name}/") for name in item.names)
