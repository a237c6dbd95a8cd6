"""Messages as people read them: as they stand on the log, with the names of what they are about, and in one
short line."""

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from schemas.api import LogMessage
from schemas.asked import IDENTITY
from schemas.body import Model
from schemas.envelope import Envelope
from schemas.parameter import Change, Setting, as_set
from schemas.registry import encode
from schemas.transceivers import EndLook
from services.gateway.fabrics import plant
from services.gateway.looks import looked_at
from services.gateway.ports import TwinPorts
from shared.basics.brief import LISTED_MAX, in_line, said
from shared.models.naming import Fields, Named, about, named_fields

UNSAID = frozenset({"config", "key"})
"""What nobody reads in a line: it is long, or drawn at random."""
LOOKS_MAX = 2
"""Looks at link ends that are said in words; of more, the first names."""
NAMES_MAX = 3


def told(twin: TwinPorts, message: Envelope, thing: str | None = None) -> LogMessage:
    """The message as the API gives it; it is not checked again. `text` keeps to one thing where it would
    only count many."""
    names, text = _read(twin, message, thing)
    return LogMessage.model_construct(**dict(message), about=tuple(names), text=text)


def told_row(twin: TwinPorts, message: Envelope, thing: str | None = None) -> bytes:
    """The same as JSON: a making of ten thousand models would take longer than the reading of them."""
    names, text = _read(twin, message, thing)
    return b'%b,"about":%b,"text":%b}' % (encode(message)[:-1], orjson.dumps(names), orjson.dumps(text))


def _read(twin: TwinPorts, message: Envelope, thing: str | None) -> tuple[list[str], str]:
    body = message.body.__dict__
    fields = named_fields(type(message.body), body, plant(twin, message.fabric), message.fabric)
    return about(fields), line(body, fields, thing)


def line(body: Mapping[str, Any], fields: Fields, thing: str | None = None) -> str:
    """What a body says in one short line: what is there, in its order, by name; who asked and why comes last,
    and the ends behind the evidence. Of a list that is too long to be said only what the thing has to do
    with."""
    words = []
    last = (*IDENTITY, "ends") if "evidence" in body else IDENTITY
    for name, value in sorted(body.items(), key=lambda item: item[0] in last):
        if value is None or value == () or name in UNSAID or _is_place(name, fields):
            continue
        things = fields.get(name)
        if things and isinstance(value, tuple) and isinstance(value[0], EndLook):
            words.append(f"{name}={_looks(value, things, thing)}")
            continue
        if isinstance(value, tuple) and isinstance(value[0], Setting):
            words.append(", ".join(map(_setting, value)))
            continue
        plain = value.model_dump() if isinstance(value, Model) else value
        words.append(f"{name}={_listed(things, thing)}" if things else said(name, plain))
    return in_line(words)


def _setting(setting: Setting) -> str:
    """A parameter as `lightwave set` takes it, and what it was before it was changed."""
    was = f" (was {as_set(setting.was)})" if isinstance(setting, Change) else ""
    return f"{setting.name}={as_set(setting.value)}{was}"


def _looks(looks: Sequence[EndLook], things: list[Named], thing: str | None) -> str:
    """Looks at link ends, all of them or those that the thing has to do with: what stands out at a few, or
    the first names of many."""
    pairs = list(zip(things, looks, strict=True))
    concerned = [(item, look) for item, look in pairs if thing is not None and _concerns(item, thing)]
    told = concerned or pairs
    if len(told) <= LOOKS_MAX:
        found = [(item.text, looked_at(look)) for item, look in told]
        text = "; ".join(f"{name} ({words})" if words else name for name, words in found)
    else:
        text = ",".join(item.text for item, _ in told[:NAMES_MAX])
    is_all = len(looks) <= LOOKS_MAX and len(told) == len(looks)
    return text if is_all else f"({len(looks)} of them) {text}{'…' if len(told) > NAMES_MAX else ''}"


def _is_place(name: str, fields: Fields) -> bool:
    """Whether the field only says where a thing of another one is: the cube of a host."""
    things = fields.get(name, ())
    others = [other for key, value in fields.items() if key != name for other in value]
    inside = tuple(f"{part}/" for thing in things for part in thing.names)
    return bool(inside) and any(other.text.startswith(inside) for other in others)


def _listed(things: list[Named], thing: str | None) -> str:
    if len(things) <= LISTED_MAX:
        return ",".join(item.text for item in things)
    concerned = [item.text for item in things if thing is not None and _concerns(item, thing)]
    if not concerned or len(concerned) > LISTED_MAX:
        return f"({len(things)} of them)"
    return f"{','.join(concerned)} (of {len(things)})"


def _concerns(item: Named, thing: str) -> bool:
    """Whether an item is the thing, in it, or the face that it is on."""
    return any(f"{name}/".startswith(f"{thing}/") or thing.startswith(f"{name}/") for name in item.names)
