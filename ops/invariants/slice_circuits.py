"""Slices are complete and air-gapped.

Between two root messages a slice has all the cubes and joins that it needs, or none, and no circuit connects
it to another slice.
"""

from collections.abc import Iterator

from schemas.envelope import Envelope
from schemas.messages.scheduler import (
    ConnectCircuits,
    CubeSwapped,
    DisconnectCircuits,
    LeaveCircuits,
    SliceAdmitted,
    SliceCompleted,
    SliceEvicted,
    SliceRequeued,
)
from schemas.messages.sequencer import FabricCommissioned
from schemas.names import Join, Shape
from shared.models.superpod.shapes import cubes_of, slice_joins

END_MESSAGES = (SliceCompleted, SliceEvicted, SliceRequeued)


class SliceCircuitsChecker:
    """Follows the cubes and commanded joins of each slice.

    At each root message, checks the slices that changed since the last one: a whole cascade is one step."""

    def __init__(self) -> None:
        self._has_circuits = False
        self._shapes: dict[str, tuple[Shape, bool]] = {}
        self._cubes: dict[str, tuple[int, ...]] = {}
        self._joins: dict[str, set[Join]] = {}
        self._left_joins: set[Join] = set()
        """Joins that stay connected although no slice has them."""
        self._changed: set[str] = set()

    def see(self, message: Envelope) -> Iterator[str]:
        body = message.body
        if message.cause is None and self._changed:
            for name in sorted(self._changed):
                yield from self._check(name)
            self._changed.clear()
        if isinstance(body, FabricCommissioned):
            self._has_circuits = body.config.pod_ocs is not None
        elif isinstance(body, SliceAdmitted):
            self._shapes[body.slice] = body.shape, body.twisted
            self._cubes[body.slice] = body.cubes
        elif isinstance(body, CubeSwapped):
            cubes = self._cubes.get(body.slice, ())
            self._cubes[body.slice] = tuple([body.spare if cube == body.left else cube for cube in cubes])
        elif isinstance(body, ConnectCircuits):
            self._left_joins.difference_update(body.joins)
            self._joins.setdefault(body.slice, set()).update(body.joins)
        elif isinstance(body, DisconnectCircuits):
            self._left_joins.difference_update(body.joins)
            self._joins.get(body.slice, set()).difference_update(body.joins)
        elif isinstance(body, LeaveCircuits):
            self._joins.get(body.slice, set()).difference_update(body.joins)
            self._left_joins.update(body.joins)
        elif isinstance(body, END_MESSAGES):
            self._cubes.pop(body.slice, None)
        else:
            return
        if not isinstance(body, FabricCommissioned):
            self._changed.add(body.slice)

    def _check(self, name: str) -> Iterator[str]:
        cubes, joins = self._cubes.get(name, ()), self._joins.get(name, set())
        if not cubes:
            if joins:
                yield f"{name} has no cubes, but still {len(joins)} joins"
            self._joins.pop(name, None)
            self._shapes.pop(name, None)
            return
        shape, twisted = self._shapes[name]
        if len(set(cubes)) != cubes_of(shape):
            yield f"{name} has cubes {cubes}, but its shape needs {cubes_of(shape)}"
        elif self._has_circuits and joins != set(slice_joins(shape, twisted, cubes)):
            yield f"{name} has joins {sorted(joins)}, which do not match its shape on cubes {cubes}"
        theirs = set(cubes)
        leading = [
            join for join in self._left_joins if join[1] != join[2] and not theirs.isdisjoint(join[1:])
        ]
        for join in sorted(leading):
            yield f"join {join} is stale and connects to a cube of {name}"
