"""The scheduler, driven by tests, with a model of the hardware around it that checks every command.

The model derives its own state, chip by chip and port by port, only from the scheduler's messages. It shares
no code with the scheduler except the joins of a shape.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import Literal, get_args

from pydantic import BaseModel

from schemas.body import Body
from schemas.config.pods import PodConfig, PodOcsConfig, SuperpodConfig
from schemas.config.scheduler import SchedulerConfig
from schemas.config.workload import TraceRow
from schemas.documents.pods import CubeUseDocument, SchedulerSummary, SliceDocument
from schemas.envelope import Envelope, enclose
from schemas.messages.cubes import CubeDrained, CubeHealthy, CubeUndrained, CubeUnhealthy
from schemas.messages.jobs import JobCheckpointed, JobFailed, JobTerms
from schemas.messages.ocs import CircuitsConnected, OcsDown, OcsUp
from schemas.messages.scheduler import (
    ConnectCircuits,
    CubeSwapped,
    DisconnectCircuits,
    LeaveCircuits,
    SliceAdmitted,
    SliceBackedOff,
    SliceCompleted,
    SliceDegraded,
    SliceEvicted,
    SliceNoticed,
    SliceOverran,
    SlicePreflight,
    SliceRecovering,
    SliceRefused,
    SliceRequeued,
    SliceRestored,
    SliceStarted,
    StartsPaused,
    StartsResumed,
)
from schemas.messages.sequencer import FabricCommissioned, Tick
from schemas.messages.transceivers import LinksChanged, LinksTrained
from schemas.messages.workload import SliceReleased, SliceRequested
from schemas.names import Join, Shape, Tier
from schemas.recovery_policy import Choice, RecoveryPolicy
from services.scheduler.cycle import cycle
from services.scheduler.placement.circuit_commands import leftover_circuits
from services.scheduler.service import SERVICE
from services.scheduler.state import (
    SchedulerState,
    ended_cubes_of,
    faults_of,
    jobs_of,
    noticed_slices,
    occupancy_of,
    queue_of,
    slices_in,
)
from services.scheduler.structures.occupancy import Corner
from services.scheduler.structures.slice_record import (
    CubeClaim,
    LeaveNotice,
    Move,
    Slice,
    SlicePhase,
    as_waiting,
    condition_of,
)
from shared.engine.dispatch import ServiceInstance, deliver
from shared.engine.service import DocumentKey, Output
from shared.engine.state_codec import decode_state, encode_state
from shared.models.superpod.shapes import slice_joins

FABRIC = "pod-0"
SWITCHING_US = 10_000
DEFAULT_POLICY = SchedulerConfig(decision_s=0, preflight_s=0)

Ended = SliceRefused | SliceEvicted | SliceCompleted
Said = (
    SliceAdmitted
    | ConnectCircuits
    | DisconnectCircuits
    | LeaveCircuits
    | SliceStarted
    | SliceDegraded
    | SliceRestored
    | SliceRecovering
    | CubeSwapped
    | SliceNoticed
    | SlicePreflight
    | SliceRequeued
    | SliceBackedOff
    | SliceOverran
    | StartsPaused
    | StartsResumed
    | Ended
)
"""All messages that a scheduler emits; all but `StartsPaused` are about one slice."""

Chip = tuple[int, int, int, int]
"""(cube, x, y, z), the position inside the cube."""

BadState = Literal["down", "degraded"]
LINK_STATES: tuple[BadState | None, ...] = (None, "degraded", "down")


def ends_of(joins: Iterable[Join]) -> Iterator[int]:
    """Yield the link ends of joins by their numbering: 96 × cube + 16 × face + index, faces +x −x +y −y +z
    −z."""
    for dimension, a, b in joins:
        for index in range(16):
            yield 96 * a + 32 * dimension + index
            yield 96 * b + 32 * dimension + 16 + index


def ocs_of(end: int) -> int:
    """Return the OCS that a link end's fibres lead to."""
    return 16 * (end % 96 // 32) + end % 16


def body_of(message: Envelope) -> Said:
    assert isinstance(message.body, Said)
    return message.body


class World:
    """One scheduler and the hardware that it commands. `ended` maps a slice to the message that ended it.

    With `stored`, the state is encoded and decoded after every message, as if it were stored and loaded.
    """

    def __init__(
        self,
        cubes: int = 8,
        policy: SchedulerConfig = DEFAULT_POLICY,
        trace: tuple[TraceRow, ...] | None = None,
        stored: bool = False,
    ) -> None:
        self.stored = stored
        self.held = ServiceInstance(SERVICE, FABRIC)
        self.now_us = 0
        self.seq = 0
        self.requested = 0
        self.shapes: dict[str, tuple[Shape, bool]] = {}
        self.unhealthy: set[int] = set()
        self.drained: set[int] = set()
        self.held_cubes: dict[str, tuple[int, ...]] = {}
        self.corners: dict[str, Corner | None] = {}
        self.north: dict[tuple[int, int], tuple[str, int, int]] = {}
        self.south: dict[tuple[int, int], tuple[str, int, int]] = {}
        self.commands: list[tuple[str, tuple[Join, ...]]] = []
        self.made: set[Join] = set()
        self.bad: dict[int, BadState] = {}
        self.started: set[str] = set()
        self.ended: dict[str, Ended] = {}
        self.noticed: dict[str, int] = {}
        self.checkpointed: set[str] = set()
        self.hit: dict[str, Choice | None] = {}
        self.ocs_out: set[int] = set()
        self.unchecked: set[str] = set()
        self.preflights: dict[str, int] = {}
        self.policies: dict[str, RecoveryPolicy | None] = {}
        self.tiers: dict[str, Tier] = {}
        self.documents: dict[DocumentKey, BaseModel] = {}
        config = SuperpodConfig(
            pod=PodConfig(cubes=cubes), scheduler=policy, trace=trace, ocs=PodOcsConfig(switching_time_ms=10)
        )
        self.feed(FabricCommissioned(site="pod-0", config=config))
        self.documents = self._all_documents()  # as a runtime does with a new state

    @property
    def state(self) -> SchedulerState:
        assert isinstance(self.held.state, SchedulerState)
        return self.held.state

    @property
    def claims(self) -> dict[int, CubeClaim]:
        """Waiting slice → its claim on cubes."""
        return {number: row.claim for number, row in self.state.slices.items() if row.claim is not None}

    @property
    def notices(self) -> dict[int, LeaveNotice]:
        """Slice that must leave its cubes → its notice."""
        return {number: row.notice for number, row in self.state.slices.items() if row.notice is not None}

    @property
    def moves(self) -> dict[int, Move]:
        """Slice that moves to a reserved spare → its move."""
        return {number: notice.move for number, notice in self.notices.items() if notice.move is not None}

    @property
    def idle(self) -> list[int]:
        """The idle cubes that the scheduler keeps besides its slices; it must not have lost them."""
        assert self.state.occupancy is not None
        return self.state.occupancy.idle

    def feed(self, body: Body, after_us: int = 0) -> list[Said]:
        """Deliver one message `after_us` later; return the emitted bodies."""
        return [body_of(message) for message in self.envelopes(body, after_us)]

    def envelopes(self, body: Body, after_us: int = 0) -> list[Envelope]:
        self.now_us += after_us
        self.seq += 1
        source = f"{body.writer}@{FABRIC}"
        emitted = deliver(
            self.held,
            enclose(body, fabric=FABRIC, at_us=self.now_us, cause=None, source=source, seq=self.seq),
        )
        for message in emitted:
            self._account(body_of(message))
        # A slice that has received all missing cubes continues without a message until its circuits are made.
        continuing = [name for name in self.hit if self._row(name).state != "recovering"]
        for name in continuing:
            del self.hit[name]
        self._render()
        if self.stored:
            self.held.state = decode_state(SERVICE.state, encode_state(self.state))
        return emitted

    def _row(self, name: str) -> Slice:
        return self.state.slices[int(name.rpartition("-")[2])]

    def _account(self, body: Said) -> None:
        match body:
            case SliceAdmitted():
                self._on_admitted(body)
            case CubeSwapped():
                self._on_swapped(body)
            case ConnectCircuits():
                self._on_connect(body)
            case DisconnectCircuits():
                self._on_disconnect(body)
            case LeaveCircuits():
                self._on_leave(body)
            case SliceStarted():
                self._on_started(body)
            case SliceNoticed():
                self._on_noticed(body)
            case SliceRecovering():
                self._on_recovering(body)
            case SlicePreflight():
                self.preflights[body.slice] = body.until_us
            case SliceDegraded() | SliceRestored():
                self._check_checked(body.slice)
                self.hit.pop(body.slice, None)
            case SliceRequeued():
                self._on_requeued(body)
            case SliceRefused() | SliceEvicted() | SliceCompleted():
                self._on_ended(body)

    def _on_admitted(self, body: SliceAdmitted) -> None:
        assert body.slice not in self.held_cubes
        self._give(body.slice, body.cubes, body.corner)
        self.unchecked.add(body.slice)
        self.held_cubes[body.slice] = body.cubes
        self.corners[body.slice] = body.corner

    def _on_swapped(self, body: CubeSwapped) -> None:
        if body.reason == "compacted":
            assert body.corner is not None
        elif body.reason == "drained":
            assert body.left in self.drained
        else:
            assert body.left in self.unhealthy or any(end // 96 == body.left for end in self.bad)
        if self.hit.get(body.slice) != "spare":
            self.unchecked.add(body.slice)
        cubes = self.held_cubes[body.slice]
        assert body.left in cubes
        self.held_cubes[body.slice] = ()
        self._give(body.slice, (body.spare,), body.corner)
        self.held_cubes[body.slice] = tuple(body.spare if c == body.left else c for c in cubes)
        self.corners[body.slice] = body.corner

    def _give(self, name: str, cubes: tuple[int, ...], corner: Corner | None) -> None:
        """Check that all given cubes are healthy, undrained and free."""
        for cube in cubes:
            assert cube not in self.unhealthy
            assert cube not in self.drained
        wanted = set(self.chips(self.shapes[name][0], cubes, corner))
        assert not wanted & self.chips_in_use()

    def _on_connect(self, body: ConnectCircuits) -> None:
        """Each port must be free, or have the same circuit as a stale one."""
        for dimension, a, b in body.joins:
            for ports, cube in ((self.north, a), (self.south, b)):
                assert ports.get((dimension, cube), ("", a, b)) == ("", a, b)
            self.north[dimension, a] = self.south[dimension, b] = (body.slice, a, b)
        self.commands.append((body.slice, body.joins))

    def _on_leave(self, body: LeaveCircuits) -> None:
        """The circuits must be the slice's own and made; they become stale."""
        for dimension, a, b in body.joins:
            assert self.north[dimension, a] == (body.slice, a, b)
            assert (dimension, a, b) in self.made
            self.north[dimension, a] = self.south[dimension, b] = ("", a, b)
        for end in ends_of(body.joins):
            self.bad.pop(end, None)

    def _on_disconnect(self, body: DisconnectCircuits) -> None:
        for dimension, a, b in body.joins:
            assert self.north.pop((dimension, a)) in ((body.slice, a, b), ("", a, b))
            assert self.south.pop((dimension, b)) in ((body.slice, a, b), ("", a, b))
        gone = set(body.joins)
        self.made -= gone
        for end in ends_of(body.joins):
            self.bad.pop(end, None)
        self.commands = [
            (name, tuple(j for j in joins if name != body.slice or j not in gone))
            for name, joins in self.commands
        ]

    def _on_started(self, body: SliceStarted) -> None:
        assert body.slice in self.held_cubes
        assert body.slice not in self.started
        assert not any(name == body.slice and joins for name, joins in self.commands)
        self._check_checked(body.slice)
        self.started.add(body.slice)
        self.hit.pop(body.slice, None)

    def _check_checked(self, name: str) -> None:
        """Check that no slice runs on unchecked links, except meshes, which use none."""
        if self.preflights.pop(name, self.now_us + 1) <= self.now_us:
            self.unchecked.discard(name)
        assert name not in self.unchecked or self.corners[name] or not self.state.config.preflight_s

    def _on_noticed(self, body: SliceNoticed) -> None:
        """Check that no slice is notified twice or without cubes, and that each has its grace period."""
        assert body.slice in self.held_cubes
        assert body.slice not in self.noticed
        assert body.until_us == self.now_us + self.state.config.grace_s * 1_000_000
        if body.why == "drained":
            assert self.drained & set(self.held_cubes[body.slice])
            return
        if body.why == "compacted":
            assert self.corners[body.slice] is not None
            return
        assert self.tiers[body.slice] != "production"
        self.noticed[body.slice] = body.until_us

    def _on_recovering(self, body: SliceRecovering) -> None:
        """Check that the choice is the cheapest, and that only changed choices are reported."""
        assert body.slice in self.held_cubes
        assert body.choice is None or body.choice != self.hit.get(body.slice)
        self.hit[body.slice] = body.choice
        if self.preflights.pop(body.slice, self.now_us + 1) <= self.now_us:
            self.unchecked.discard(body.slice)
        if body.choice == "wait":
            self.unchecked.add(body.slice)
        policy = self.policies[body.slice]
        if policy is not None and body.choice != "evict":
            assert body.choice is None or body.choice in policy.choices
        if body.costs_chip_us is not None:
            costs = {choice: cost for choice, cost in body.costs_chip_us if cost is not None}
            assert body.choice is not None
            assert costs[body.choice] == min(costs.values())

    def _on_requeued(self, body: SliceRequeued) -> None:
        """Check that running slices are requeued only after a notice, and not before the grace period ends
        unless they have checkpointed. A slice that was hit may leave at any time."""
        is_hit = self.hit.get(body.slice) == "evict"
        assert is_hit or self.noticed[body.slice] <= self.now_us or body.slice in self.checkpointed
        self.noticed.pop(body.slice, None)
        self.hit.pop(body.slice, None)
        del self.held_cubes[body.slice]
        self.started.discard(body.slice)

    def _on_ended(self, body: Ended) -> None:
        assert body.slice not in self.ended
        self.ended[body.slice] = body
        self.hit.pop(body.slice, None)
        self.noticed.pop(body.slice, None)
        self.held_cubes.pop(body.slice, None)

    def _render(self) -> None:
        """Update the documents that the scheduler marks as changed, as a runtime does."""
        for key in sorted(self.state.changed_documents):
            document = SERVICE.document(self.state, key)
            if document is None:
                self.documents.pop(key, None)
            else:
                self.documents[key] = document
        self.state.changed_documents.clear()

    @staticmethod
    def chips(shape: Shape, cubes: tuple[int, ...], corner: Corner | None) -> Iterator[Chip]:
        sides = shape if corner is not None else (4, 4, 4)
        x, y, z = corner or (0, 0, 0)
        for cube in cubes:
            for i, j, k in product(*(range(side) for side in sides)):
                yield cube, x + i, y + j, z + k

    def chips_in_use(self) -> set[Chip]:
        in_use = [
            chip
            for name, cubes in self.held_cubes.items()
            for chip in self.chips(self.shapes[name][0], cubes, self.corners[name])
        ]
        assert len(in_use) == len(set(in_use))
        return set(in_use)

    # Messages of the other services.

    def request(
        self,
        shape: Shape,
        twisted: bool = False,
        priority: int = 0,
        after_us: int = 0,
        *,
        owner: str = "team",
        tier: Tier = "research",
        estimate_us: int | None = None,
        job: JobTerms | None = None,
        recovery: RecoveryPolicy | None = None,
    ) -> tuple[str, list[Said]]:
        """Request a slice; return (name, emitted bodies)."""
        name = f"{FABRIC}/slice-{self.requested}"
        self.requested += 1
        self.shapes[name] = (shape, twisted)
        self.tiers[name] = tier
        self.policies[name] = recovery
        body = SliceRequested(
            slice=name,
            owner=owner,
            tier=tier,
            shape=shape,
            twisted=twisted,
            priority=priority,
            duration_us=None,
            job=job,
            estimate_us=estimate_us,
            requested_by="operator",
            recovery=recovery,
        )
        return name, self.feed(body, after_us)

    def checkpoint(self, name: str, after_us: int = 0) -> list[Said]:
        """The job of a notified slice has saved a checkpoint."""
        self.checkpointed.add(name)
        emitted = self.feed(JobCheckpointed(slice=name), after_us)
        self.checkpointed.discard(name)
        return emitted

    def release(self, name: str, after_us: int = 0) -> list[Said]:
        return self.feed(SliceReleased(slice=name, reason="operator"), after_us)

    def fail(self, cube: int, after_us: int = 0) -> list[Said]:
        self.unhealthy.add(cube)
        return self.feed(CubeUnhealthy(cube=cube, reasons=("host-3",)), after_us)

    def complain(self, name: str, cube: int, after_us: int = 0) -> list[Said]:
        """The job of a slice fails because of one of its cubes, before monitoring detects it."""
        self.unhealthy.add(cube)
        part = f"{FABRIC}/cube-{cube}/host-3"
        return self.feed(JobFailed(slice=name, part=part, seen_as="error"), after_us)

    def heal(self, cube: int, after_us: int = 0) -> list[Said]:
        self.unhealthy.discard(cube)
        return self.feed(CubeHealthy(cube=cube), after_us)

    def drain(self, cube: int, after_us: int = 0) -> list[Said]:
        self.drained.add(cube)
        return self.feed(CubeDrained(cube=cube), after_us)

    def undrain(self, cube: int, after_us: int = 0) -> list[Said]:
        self.drained.discard(cube)
        return self.feed(CubeUndrained(cube=cube), after_us)

    def complain_of(self, number: int) -> list[Said]:
        """A job fails on one of its cubes, chosen by a number; monitoring detects it a little later."""
        names = sorted(self.held_cubes)
        if not names:
            return []
        name = names[number % len(names)]
        cube = self.held_cubes[name][number % len(self.held_cubes[name])]
        return self.complain(name, cube) + self.fail(cube, 1_000)

    def lose_ocs(self, number: int) -> list[Said]:
        """One of three OCSes fails, and with it the same link of every cube."""
        ocs = 16 * (number % 3) + 5
        if ocs in self.ocs_out:
            return []
        self.ocs_out.add(ocs)
        emitted = self.feed(OcsDown(ocs=ocs))
        ends = [
            end for end in sorted(ends_of(self.made)) if ocs_of(end) == ocs and self.bad.get(end) != "down"
        ]
        return emitted + (self.change_links(down=ends) if ends else [])

    def return_ocs(self, number: int) -> list[Said]:
        ocs = 16 * (number % 3) + 5
        if ocs not in self.ocs_out:
            return []
        self.ocs_out.remove(ocs)
        emitted = self.feed(OcsUp(ocs=ocs))
        ends = [end for end in sorted(ends_of(self.made)) if ocs_of(end) == ocs]
        return emitted + (self.change_links(up=ends) if ends else [])

    def train(
        self, down: tuple[int, ...] = (), degraded: tuple[int, ...] = (), most: int | None = None
    ) -> list[Said]:
        """The mirrors settle for the oldest commands: circuits are made, and links are trained."""
        emitted: list[Said] = []
        commands, self.commands = self.commands[:most], self.commands[len(self.commands[:most]) :]
        for name, joins in commands:
            if joins:
                connected = CircuitsConnected(slice=name, joins=joins, missing_ocs=(), missing_ports=())
                emitted += self.feed(connected, SWITCHING_US)
                self.made.update(joins)
                dark = {end for end in ends_of(joins) if ocs_of(end) in self.ocs_out} - set(degraded)
                lost = tuple(sorted(dark | set(down)))
                self._mark_bad(lost, degraded)
                up = 32 * len(joins) - len(lost) - len(degraded)
                emitted += self.feed(LinksTrained(slice=name, up=up, degraded=degraded, down=lost))
        return emitted

    def change_links(
        self, up: Sequence[int] = (), degraded: Sequence[int] = (), down: Sequence[int] = ()
    ) -> list[Said]:
        for end in up:
            self.bad.pop(end, None)
        self._mark_bad(down, degraded)
        return self.feed(LinksChanged(up=tuple(up), degraded=tuple(degraded), down=tuple(down)))

    def _mark_bad(self, down: Sequence[int], degraded: Sequence[int]) -> None:
        """Record bad link ends, except those of stale circuits, which concern no slice."""
        left = {(key[0], a, b) for key, (name, a, b) in self.north.items() if not name}
        unowned = set(ends_of(left))
        for end in set(down) - unowned:
            self.bad[end] = "down"
        for end in set(degraded) - unowned:
            self.bad[end] = "degraded"

    def change_some_links(self, number: int) -> list[Said]:
        """Change the state of a few connected link ends, chosen by a number."""
        ends = sorted(ends_of(self.made))
        chosen = {ends[(number * 7919 + 31 * k) % len(ends)]: k for k in range(1 + number % 4) if ends}
        new = {end: LINK_STATES[(number + k) % 3] for end, k in chosen.items()}
        changed = {end: state for end, state in new.items() if state != self.bad.get(end)}
        by_state = [[end for end in changed if changed[end] == state] for state in LINK_STATES]
        return self.change_links(*by_state) if changed else []

    def start(
        self,
        shape: Shape,
        *,
        owner: str = "team",
        tier: Tier = "research",
        estimate_us: int | None = None,
        job: JobTerms | None = None,
        recovery: RecoveryPolicy | None = None,
    ) -> str:
        """Request a slice that fits, and let it start; return its name."""
        name, _ = self.request(
            shape, owner=owner, tier=tier, estimate_us=estimate_us, job=job, recovery=recovery
        )
        self.train()
        if self.status(name).state == "preflight":
            self.tick()
        assert name in self.started
        return name

    def tick(self) -> list[Said]:
        """Advance to the scheduler's due time and deliver its Tick."""
        due_us = self.held.due_us
        assert due_us is not None
        self.now_us = max(self.now_us, due_us)
        return self.feed(Tick(service="scheduler", due_us=due_us, count=self.held.ticks + 1))

    def cycle_again(self) -> list[Output]:
        """Return the output of another scheduling cycle."""
        emitted = cycle(self.state)
        self._render()
        return emitted

    # Views for people.

    def status(self, name: str) -> SliceDocument:
        document = self.documents["slices", name]
        assert isinstance(document, SliceDocument)
        return document

    def cube_use(self, name: str) -> CubeUseDocument:
        document = self.documents["cube-uses", name]
        assert isinstance(document, CubeUseDocument)
        return document

    def summary(self) -> SchedulerSummary:
        document = self.documents["summaries", f"{FABRIC}/scheduler"]
        assert isinstance(document, SchedulerSummary)
        return document

    # Checks after every message.

    def check(self) -> None:
        state = self.state
        rows = {f"{FABRIC}/slice-{number}": row for number, row in state.slices.items()}
        placed = {name: row.cubes for name, row in rows.items() if row.cubes}
        assert placed == self.held_cubes
        waiting = {name for name, row in rows.items() if row.state == "queued"}
        assert waiting == rows.keys() - placed.keys()
        assert not rows.keys() & self.ended.keys()
        assert len(rows) + len(self.ended) == self.requested
        assert (state.queued, state.running) == (len(waiting), len(placed))
        assert state.running + state.queued + state.completed + state.evicted + state.refused == (
            self.requested
        )
        assert all(state.slices[number].cubes for number in self.notices)
        preempted = {number for number, notice in self.notices.items() if notice.why == "preempted"}
        assert preempted == {int(name.rpartition("-")[2]) for name in self.noticed}
        assert self.notices.keys() == preempted | self.moves.keys()
        assert state.chips_allocated == len(self.chips_in_use())
        self._check_circuits(rows)
        self._check_standing(rows)
        self._check_claims(rows)
        self._check_derived()
        self._check_documents()

    def _check_circuits(self, rows: dict[str, Slice]) -> None:
        expected = {
            (d, a): (name, a, b)
            for name, row in rows.items()
            if row.cubes
            for d, a, b in slice_joins(*self.shapes[name], self.held_cubes[name])
        }
        theirs = {key: circuit for key, circuit in self.north.items() if circuit[0]}
        assert theirs == expected
        assert self.south == {(key[0], b): (name, a, b) for key, (name, a, b) in self.north.items()}
        left = {(key[0], a, b) for key, (name, a, b) in self.north.items() if not name}
        assert left == set(leftover_circuits(self.state))
        # Slices are air-gapped: no remaining circuit leads from one to another.
        users = {cube: name for name, cubes in self.held_cubes.items() for cube in cubes}
        assert all(a == b or not (a in users or b in users) for _, a, b in left)

    def _check_standing(self, rows: dict[str, Slice]) -> None:
        programming = {name for name, joins in self.commands if joins}
        for name, row in rows.items():
            on_failed = any(cube in self.unhealthy for cube in row.cubes)
            assert row.state == "recovering" or not on_failed
            if row.state == "recovering":
                assert on_failed or row.links_down
                assert self.hit.get(name) in (None, "wait")
            elif row.cubes:
                assert (row.state == "programming") == (name in programming)
                assert row.state in ("programming", "preflight", "running", "degraded")
                if row.state in ("running", "degraded"):
                    assert (row.state == "degraded") == bool(row.links_down or row.links_degraded)
            assert (row.started_us is not None) == (name in self.started)
            bad = [state for end, state in self.bad.items() if row.corner is None and end // 96 in row.cubes]
            assert (row.links_down, row.links_degraded) == (bad.count("down"), bad.count("degraded"))
        assert self.state.bad_ends == self.bad

    def _check_claims(self, rows: dict[str, Slice]) -> None:
        """Check that only waiting slices have claims, that no cube is claimed twice, and that its current
        users have a notice."""
        kept: set[Chip] = set()
        for number, claim in self.claims.items():
            name = f"{FABRIC}/slice-{number}"
            assert rows[name].state == "queued"
            chips = set(self.chips(self.shapes[name][0], claim.cubes, claim.corner))
            assert not chips & kept
            kept |= chips
            users = {
                other
                for other, cubes in self.held_cubes.items()
                if chips & set(self.chips(self.shapes[other][0], cubes, self.corners[other]))
            }
            # Where cubes are held back, a slice may leave cubes other than the claimed ones.
            assert users or set(claim.victims) & self.notices.keys()
            assert users <= {f"{FABRIC}/slice-{number}" for number in self.notices}

    def _check_derived(self) -> None:
        """Check that the tables kept for speed equal those computed from the slices."""
        kept = self.state
        fresh = replace(kept, occupancy=None, queue=None, waits=None, by_phase=None, jobs=None)
        fresh = replace(fresh, link_faults=None, noticed=None, ended_cubes=None)
        for phase in get_args(SlicePhase):
            assert slices_in(kept, phase) == slices_in(fresh, phase)
        assert jobs_of(kept) == jobs_of(fresh)
        assert noticed_slices(kept) == noticed_slices(fresh)
        for row in kept.ended.values():
            cubes = [ended_cubes_of(state, row.shape, row.twisted) for state in (kept, fresh)]
            assert [*cubes[0]] == [*cubes[1]]
        assert all(as_waiting(row) is row for row in kept.slices.values() if not row.cubes)
        assert all(condition_of(row) == row.phase for row in kept.slices.values() if row.cubes)
        for name in ("holders", "used", "kept", "meshes", "allowed", "idle", "partly"):
            if kept.occupancy is not None:
                assert getattr(kept.occupancy, name) == getattr(occupancy_of(fresh), name)
        for row in kept.slices.values():
            assert faults_of(kept, row) == faults_of(fresh, row)
        if kept.queue is not None:
            assert kept.queue.lines == queue_of(fresh).lines

    def _check_documents(self) -> None:
        """Check that incrementally rendered documents equal all documents rendered again."""
        assert self.documents == self._all_documents()

    def _all_documents(self) -> dict[DocumentKey, BaseModel]:
        documents: dict[DocumentKey, BaseModel] = {}
        fresh = replace(self.state, occupancy=None, queue=None, waits=None, link_faults=None)
        for key in SERVICE.document_keys(fresh):
            document = SERVICE.document(fresh, key)
            assert document is not None
            documents[key] = document
        return documents
