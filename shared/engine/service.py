"""What a service is: a table of message type → rule, a `due`, and its status documents. There is nothing to
inherit.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Generic

from pydantic import BaseModel

from schemas.body import Body
from schemas.envelope import Envelope
from schemas.sequencer import FabricCommissioned
from shared.engine.state import StateT


@dataclass(frozen=True, slots=True)
class CausedBy:
    """A body whose cause is an earlier message than the one being handled: what a Tick completes was begun by
    something else, and `why` should lead there."""

    cause: str
    body: Body


Output = Body | CausedBy
Rule = Callable[[StateT, Envelope], Iterable[Output]]
"""Handles one message: may change the state in place, returns what to append to the log. Reads nothing else.
"""

DocumentKey = tuple[str, str]
"""(kind, name), such as ("ocs", "pod-0/ocs-17")."""


@dataclass(frozen=True)
class Service(Generic[StateT]):
    """One service of the twin, for any number of fabrics.

    `rules` maps a body type to its rule; the rule under `Tick` runs when `due` has come. `document` renders
    one status document of the state, or None if there is no such thing any more; `document_keys` lists all of
    them.
    `telemetry` renders the frame (Arrow IPC stream) that a Tick of this service calls for, or None.
    """

    name: str
    state: type[StateT]
    commission: Callable[[str, FabricCommissioned], StateT]
    rules: Mapping[type[Body], Rule[StateT]]
    due: Callable[[StateT], int | None]
    document_keys: Callable[[StateT], Iterable[DocumentKey]]
    document: Callable[[StateT, DocumentKey], BaseModel | None]
    telemetry: Callable[[StateT, Envelope], bytes | None] | None = None


AnyService = Service[Any]
