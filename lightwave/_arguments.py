"""Type checks of the arguments of public functions, before any work starts."""

import functools
import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from types import UnionType
from typing import Any, Literal, ParamSpec, TypeVar, Union, get_args, get_origin

import numpy as np

from ops.report.safe_text import shortened
from shared.basics.errors import InvalidInput

Parameters = ParamSpec("Parameters")
Returned = TypeVar("Returned")
TYPE_WORDS = {
    str: "text",
    bool: "True or False",
    int: "a whole number",
    float: "a number",
    type(None): "None",
}


def check_argument_types(function: Callable[Parameters, Returned]) -> Callable[Parameters, Returned]:
    """Decorate a function to check its arguments: InvalidInput if the type is not the annotated one. Numbers
    of NumPy are converted to those of Python. Missing or unknown arguments raise Python's own TypeError."""
    signature = inspect.signature(function)

    @functools.wraps(function)
    def checked(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Returned:
        given = signature.bind(*args, **kwargs)
        for name, value in given.arguments.items():
            parameter = signature.parameters[name]
            if parameter.kind is parameter.VAR_KEYWORD or parameter.annotation is parameter.empty:
                continue
            given.arguments[name] = _checked_argument(name, value, parameter.annotation)
        return function(*given.args, **given.kwargs)

    return checked


def _checked_argument(name: str, value: object, kind: Any) -> object:
    found = _plain(value)
    if not _matches_type(found, kind):
        raise InvalidInput(f"{name} {shortened(repr(value))}: must be {_type_text(kind)}")
    for one in found if isinstance(found, list) else [found]:
        if isinstance(one, str | os.PathLike) and not _is_encodable(os.fspath(one)):
            raise InvalidInput(
                f"{name} {shortened(repr(value))}: must be text without NUL and without broken characters"
            )
    return found


def _is_encodable(text: str) -> bool:
    """Whether the text can be a file name or part of an address: no NUL and no lone surrogates, except those
    that Python uses for undecodable bytes of file names."""
    try:
        return b"\0" not in text.encode(errors="surrogateescape")
    except UnicodeEncodeError:
        return False


def _plain(value: object) -> object:
    """Convert numbers of NumPy to those of Python, also in lists and mappings, and sets to lists."""
    if isinstance(value, np.ndarray | set | frozenset):
        value = list(value) if isinstance(value, set | frozenset) else value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    if type(value) is list or type(value) is tuple:
        return [one.item() if isinstance(one, np.generic) else one for one in value]
    if type(value) is dict:
        return {name: one.item() if isinstance(one, np.generic) else one for name, one in value.items()}
    return value


def _matches_type(value: object, kind: Any) -> bool:
    """Whether a value matches an annotation. Unknown annotations match every value."""
    origin, inner = get_origin(kind), get_args(kind)
    if kind is Any:
        return True
    if origin in (Union, UnionType):
        return any(_matches_type(value, one) for one in inner)
    if origin is Literal:
        return any(type(value) is type(one) and value == one for one in inner)
    if origin is Sequence and inner == (str,) and isinstance(value, str):
        return False  # a string is not a list of letters
    if origin in (Sequence, tuple):
        return isinstance(value, Sequence) and all(_matches_type(one, inner[0]) for one in value)
    if origin is Mapping:
        return isinstance(value, Mapping) and all(
            isinstance(name, str) and _matches_type(one, inner[1]) for name, one in value.items()
        )
    if origin is Callable:
        return callable(value)
    if kind is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if kind is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return not isinstance(kind, type) or isinstance(value, kind)


def _type_text(kind: Any) -> str:
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return " or ".join(dict.fromkeys(_type_text(one) for one in inner))
    if origin is Literal:
        return " or ".join(map(repr, inner))
    if origin in (Sequence, tuple):
        return f"a list, each {_type_text(inner[0])}"
    if origin is Mapping:
        return "a mapping with text as names" + (
            "" if inner[1] in (Any, object) else f", each {_type_text(inner[1])}"
        )
    if origin is Callable:
        return "a function"
    return TYPE_WORDS.get(kind) or ("a path" if issubclass(kind, os.PathLike) else str(kind.__name__))
