"""Status documents as the gateway reads them: whole kinds, or single ones."""

import re
from functools import lru_cache
from typing import TypeVar, cast

from pydantic import ValidationError

from schemas.body import Model
from schemas.documents.pods import OcsDocument
from services.gateway.ports import TwinPorts
from services.gateway.text.validation_errors import invalid_sentence
from shared.basics.errors import OperationFailed

DocumentT = TypeVar("DocumentT", bound=Model)
CACHED_DOCUMENTS_MAX = 2_048
"""Documents kept as they were read: of a pod few change from one question to the next."""


def read_all(twin: TwinPorts, fabric: str, kind: str, model: type[DocumentT]) -> list[DocumentT]:
    """Every document of a kind, in natural order of names."""
    rows = twin.documents.all(fabric, kind)
    return [parse_document(model, name, rows[name]) for name in sorted(rows, key=natural_sort_key)]


def read_one(twin: TwinPorts, fabric: str, kind: str, name: str, model: type[DocumentT]) -> DocumentT | None:
    """One document, or None if there is none of this name."""
    text = twin.documents.one(fabric, kind, name)
    return None if text is None else parse_document(model, name, text)


def parse_document(model: type[DocumentT], name: str, text: bytes) -> DocumentT:
    """A document from its JSON; OperationFailed if another release wrote it otherwise."""
    try:
        return cast(DocumentT, _parsed(model, text))
    except ValidationError as error:
        sentence = invalid_sentence(error.errors())
        raise OperationFailed(f"{name}: the store's document of it cannot be read: {sentence}") from None


@lru_cache(maxsize=CACHED_DOCUMENTS_MAX)
def _parsed(model: type[Model], text: bytes) -> Model:
    """Models are frozen: all may have the same."""
    return model.model_validate_json(text)


def dead_port_text(twin: TwinPorts, fabric: str, port: str) -> str | None:
    """What is said of a port of an OCS whose fibre was moved to a spare; None of one that may work."""
    ocs, _, label = port.rpartition("/")
    document = read_one(twin, fabric, "ocs", ocs, OcsDocument)
    if document is None or label not in document.ports_dead:
        return None
    at = next((patch.spare for patch in document.patches if patch.port == label), None)
    return "is dead for good" if at is None else f"is dead for good, its fibre at {at}"


def natural_sort_key(name: str) -> list[tuple[int, str]]:
    """Sort key under which `ocs-2` comes before `ocs-10`: numbers by their length, then digit by digit, so
    that they may be of any length."""
    parts = enumerate(re.split(r"0*([0-9]+)", name))  # every second one is a number
    return [(len(part), part) if n % 2 else (-1, part) for n, part in parts]
