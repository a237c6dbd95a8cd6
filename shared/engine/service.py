"""The definition of a service: a table of message type → rule, a `due`, and its status documents. There is
nothing to inherit."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, NamedTuple, TypeVar

from pydantic import BaseModel

from schemas.body import Body
from schemas.envelope import Envelope
from schemas.site_readings import SiteQuery, SiteReading
from shared.basics.telemetry_frames import next_frame_due_us
from shared.engine.state import StateT


class CausedBy(NamedTuple):
    """A body whose cause is an earlier message than the handled one. Use it when a Tick completes an
    operation that another message started, so that `why` finds that message."""

    cause: str
    body: Body


Output = Body | CausedBy
BodyT = TypeVar("BodyT", bound=Body)
Rule = Callable[[StateT, BodyT, Envelope], Iterable[Output]]
"""Handles one message, given as its body and its envelope. It may change the state in place, and returns the
messages to append to the log. It reads nothing else."""

After = Callable[[StateT, Envelope], None]
"""Runs after a rule, with the resulting state and the handled message. It updates values that depend on the
whole state, such as counters, and emits nothing."""

Scope = Literal["own", "addressed", "site-wide"]
"""The messages that a rule reads: `own` those of its fabric, `addressed` also those of other fabrics of the
site whose body names this fabric, `site-wide` all of the site's."""


@dataclass(frozen=True, slots=True)
class RuleRow(Generic[StateT]):
    """One row of a service's table, made by `on`: which rule handles which body, and whether the service's
    `after` runs after the rule."""

    body: type[Body]
    rule: Rule[StateT, Any]
    scope: Scope = "own"
    runs_after: bool = True


def on(
    body: type[BodyT], rule: Rule[StateT, BodyT], *, scope: Scope = "own", runs_after: bool = True
) -> RuleRow[StateT]:
    """Return the row for a body type. The type checker verifies that the rule takes the type for which it is
    registered.

    With `runs_after=False` the service's `after` does not run after this rule: for rules that cannot change
    anything that `after` reads.
    """
    return RuleRow(body, rule, scope, runs_after)


StoredFields = Mapping[str, bytes]
"""The fields of a state as a store keeps them."""


@dataclass(frozen=True, slots=True)
class Migration:
    """Converts the stored fields of a service from the layout `before` to the layout `after`. Layouts are
    digests (`state_layout`). A test tries each migration on a state kept as its old version stored it."""

    before: str
    after: str
    migrate: Callable[[StoredFields], StoredFields]


SiteReader = Callable[[Any, Sequence[SiteQuery]], tuple[SiteReading, ...]]
"""Answers queries about a quiet site (`shared.engine.site.Site`), in their order. It changes nothing."""

DocumentKey = tuple[str, str]
"""(kind, name), such as ("ocs", "pod-0/ocs-17")."""


@dataclass(frozen=True)
class Service(Generic[StateT]):
    """One service of the twin, for any number of fabrics.

    `commission` creates the state of a new fabric from its configuration (of a kind that has this service),
    at the time of its commissioning (simulated microseconds): counters and waits start then. `rules` has one
    row per body type; the rule of `Tick` runs when `due` has come. `after`, if there is one, runs after the
    rule of every row except those with `runs_after=False`, and before `due`.

    `document` renders one status document of the state, or None if its object no longer exists;
    `document_keys` lists all of them.

    `telemetry` renders the frame (Arrow IPC stream) for a Tick, or None. The Tick is one of this service, or
    of the services in `frames_at`; with these, the service needs no Ticks of its own on the log. Frames are
    due at whole multiples of `frame_interval_s`, in seconds; without it, at every such Tick. Frames are
    stored under the fabric's name or, if that is taken, under the name and `frames_of`.

    `queries` lists what the service must know of its whole site at its next Tick; `read_site` answers them
    from the states of a site at that quiet time, and the answers are part of the Tick. Both are None for a
    service that reads only messages.

    `migrations` convert every layout in which earlier versions stored the state to the current one. If
    earlier versions did not have the service at all, `begin` creates its state in a twin that is upgraded,
    from the fabric, its seed, and its time then (simulated microseconds).
    """

    name: str
    state: type[StateT]
    commission: Callable[[str, Any, int], StateT]
    rules: tuple[RuleRow[StateT], ...]
    due: Callable[[StateT], int | None]
    document_keys: Callable[[StateT], Iterable[DocumentKey]]
    document: Callable[[StateT, DocumentKey], BaseModel | None]
    after: After[StateT] | None = None
    telemetry: Callable[[StateT, Envelope], bytes | None] | None = None
    frame_interval_s: Callable[[StateT], int] | None = None
    frames_on_ticks_of: tuple[str, ...] = ()
    frames_suffix: str = ""
    queries: Callable[[StateT], tuple[SiteQuery, ...]] | None = None
    read_site: SiteReader | None = None
    migrations: tuple[Migration, ...] = ()
    begin: Callable[[str, int, int], StateT] | None = None

    def emits_frames_at(self, ticked: str) -> bool:
        """Whether a Tick of the service with this name may require a frame of this one."""
        return self.telemetry is not None and ticked in (self.frames_on_ticks_of or (self.name,))

    def next_frame_us(self, state: StateT, after_us: int) -> int | None:
        """Return the time of the first frame that is due after a time; None if that is not known."""
        return (
            None
            if self.frame_interval_s is None
            else next_frame_due_us(self.frame_interval_s(state), after_us)
        )

    def frames_name(self, fabric: str) -> str:
        """Return the name under which its frames of a fabric are stored."""
        return f"{fabric}/{self.frames_suffix}" if self.frames_suffix else fabric


AnyService = Service[Any]
