"""The layout in which a service's state is stored: a digest over its fields and their types."""

import hashlib
import types
from collections.abc import Callable, Iterable
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Any, get_args, get_origin, get_type_hints

from pydantic import BaseModel

from schemas.config.fabric_configs import CONFIGS
from schemas.config.pods import FabricConfig
from shared.engine.service import AnyService
from shared.engine.state import State, stored_fields

DIGEST_CHARS = 16


def state_layouts(services: Iterable[AnyService]) -> dict[str, str]:
    """Service → the layout of its states, which is the same in every kind of fabric."""
    found = {service.name: state_layout(service.state) for service in services}
    return dict(sorted(found.items()))


def state_layout(state: type[State]) -> str:
    """The layout of a state as it is stored: a digest over names and types of its fields, of the records in
    them, and so on."""
    return _state_layout(state, tuple(CONFIGS.values()))


def _layout_by_hints(state: type[State], _configs: tuple[type[FabricConfig], ...]) -> str:
    # The configurations are part of the key of the cache: a state can hold a configuration of any kind.
    hints = get_type_hints(state)
    layout = [(name, _layout_of_type(hints[name], ())) for name in stored_fields(state)]
    return hashlib.sha256(repr(layout).encode()).hexdigest()[:DIGEST_CHARS]


_state_layout: Callable[[Any, Any], str] = cache(_layout_by_hints)


def _layout_of_type(hint: Any, enclosing: tuple[Any, ...]) -> Any:
    """Describe a type in words and lists. A recursive type refers to itself by name."""
    if hint in enclosing:
        return hint.__name__
    within = (*enclosing, hint) if isinstance(hint, type) else enclosing
    if hint is FabricConfig:  # a configuration of any kind
        return [[kind, _layout_of_type(model, within)] for kind, model in CONFIGS.items()]
    if isinstance(hint, type) and is_dataclass(hint):
        hints = get_type_hints(hint)
        return [(one.name, _layout_of_type(hints[one.name], within)) for one in fields(hint)]
    if isinstance(hint, type) and issubclass(hint, BaseModel):
        return [(name, _layout_of_type(one.annotation, within)) for name, one in hint.model_fields.items()]
    if isinstance(hint, type) and issubclass(hint, Enum):
        return [one.value for one in hint]
    origin = get_origin(hint)
    if origin is None:
        is_plain = hint is None or isinstance(hint, str | int | float)  # of a Literal
        return repr(hint) if is_plain else getattr(hint, "__name__", type(hint).__name__)
    name = "|" if origin is types.UnionType else getattr(origin, "__name__", str(origin))
    return [name, *(_layout_of_type(one, within) for one in get_args(hint))]
