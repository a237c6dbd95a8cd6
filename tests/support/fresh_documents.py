"""Status documents rendered from the stored parts of states alone, as an audit and a restarted twin do."""

from copy import copy
from dataclasses import MISSING, Field, fields
from typing import Any, TypeVar

from shared.engine.dispatch import ServiceInstance
from shared.engine.service import DocumentKey
from shared.engine.state import State

StateT = TypeVar("StateT", bound=State)


def without_caches(state: StateT) -> StateT:
    """Return a shallow copy of a state whose transient fields have their defaults. Otherwise, a cache that a
    rule forgot to discard gives the same outdated document again."""
    fresh = copy(state)
    for one in fields(state):
        if one.metadata.get("transient"):
            setattr(fresh, one.name, _default(one))
    return fresh


def _default(one: Field[Any]) -> object:
    return one.default if one.default_factory is MISSING else one.default_factory()


def fresh_documents(instance: ServiceInstance) -> dict[DocumentKey, Any]:
    """Return all documents of a service; None for one whose object no longer exists."""
    assert instance.state is not None, f"{instance.source} was not commissioned"
    state = without_caches(instance.state)
    return {key: instance.service.document(state, key) for key in instance.service.document_keys(state)}
