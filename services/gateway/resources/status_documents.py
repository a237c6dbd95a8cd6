"""Reads status documents: all of a kind, or one."""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import TypeVar, cast

from pydantic import ValidationError

from schemas.body import Model
from schemas.documents.pods import OcsDocument
from services.gateway.runtime_ports import TwinPorts
from services.gateway.text.validation_errors import invalid_sentence
from shared.basics.errors import OperationFailed

DocumentT = TypeVar("DocumentT", bound=Model)
RowT = TypeVar("RowT")
CACHED_DOCUMENTS_MAX = 2_048
"""Maximum number of parsed documents in the cache: few documents of a pod change between requests."""


def read_all(twin: TwinPorts, fabric: str, kind: str, model: type[DocumentT]) -> list[DocumentT]:
    """Every document of a kind, in natural order of names."""
    rows = twin.documents.all(fabric, kind)
    return [parse_document(model, name, rows[name]) for name in sorted(rows, key=natural_sort_key)]


def read_rows(
    twin: TwinPorts,
    fabric: str,
    kind: str,
    model: type[DocumentT],
    make: Callable[..., RowT],
    arguments_of: Callable[[str], tuple[object, ...]] = lambda _name: (),
) -> list[RowT]:
    """One row of every document of a kind, in natural order of names: what `make` returns for the document
    and for the arguments of its name. A row is made again only if one of these has changed since the last
    listing."""
    texts = twin.documents.all(fabric, kind)
    place = (fabric, kind, make)
    before, rows = twin.kept_rows.get(place, {}), {}
    for name in sorted(texts, key=natural_sort_key):
        text, arguments = texts[name], arguments_of(name)
        kept = before.get(name)
        if kept is None or kept[0] != text or kept[1] != arguments:
            kept = (text, arguments, make(parse_document(model, name, text), *arguments))
        rows[name] = kept
    twin.kept_rows[place] = rows
    return [kept[2] for kept in rows.values()]


def read_one(twin: TwinPorts, fabric: str, kind: str, name: str, model: type[DocumentT]) -> DocumentT | None:
    """One document; None if there is none of this name."""
    text = twin.documents.one(fabric, kind, name)
    return None if text is None else parse_document(model, name, text)


def parse_document(model: type[DocumentT], name: str, text: bytes) -> DocumentT:
    """A document from its JSON; raise OperationFailed if another release wrote it in a different format."""
    try:
        return cast(DocumentT, _parsed(model, text))
    except ValidationError as error:
        sentence = invalid_sentence(error.errors())
        raise OperationFailed(f"{name}: its document in the store is invalid: {sentence}") from None


@lru_cache(maxsize=CACHED_DOCUMENTS_MAX)
def _parsed(model: type[Model], text: bytes) -> Model:
    """Models are immutable, so all callers can share the cached one."""
    return model.model_validate_json(text)


def dead_port_text(twin: TwinPorts, fabric: str, port: str) -> str | None:
    """Text for an OCS port whose fibre was moved to a spare port; None if the port is not dead."""
    ocs, _, label = port.rpartition("/")
    document = read_one(twin, fabric, "ocs", ocs, OcsDocument)
    if document is None or label not in document.ports_dead:
        return None
    spare = next((patch.spare for patch in document.patches if patch.port == label), None)
    return "is permanently dead" if spare is None else f"is permanently dead; its fibre is at {spare}"


@lru_cache(maxsize=20_000)
def natural_sort_key(name: str) -> list[tuple[int, str]]:
    """Sort key under which `ocs-2` comes before `ocs-10`: numbers sort by length, then by digits, so they can
    have any length."""
    parts = enumerate(re.split(r"0*([0-9]+)", name))  # every second one is a number
    return [(len(part), part) if n % 2 else (-1, part) for n, part in parts]
