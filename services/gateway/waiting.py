"""Why slices wait: their places in the queue, and for whom idle cubes are kept."""

from collections.abc import Iterable
from dataclasses import dataclass

from schemas.config import AnyPodConfig
from schemas.documents import CubeDocument, CubeUseDocument, SliceDocument
from schemas.names import number_of
from services.gateway.documents import read_all
from services.gateway.fabrics import config_of
from services.gateway.ports import TwinPorts
from shared.basics.units import US_PER_HOUR
from shared.models.superpod.backfill import keeping
from shared.models.superpod.shapes import is_mesh


@dataclass(frozen=True, slots=True)
class Wait:
    """Why one slice waits. `position` counts from 1; `kept_until_us` is when others may pass the first again,
    None where cubes are not kept, or without an end."""

    position: int
    reason: str
    kept_until_us: int | None


def waits_of(
    twin: TwinPorts, fabric: str, documents: Iterable[SliceDocument], now_us: int
) -> dict[str, Wait]:
    """Why each of a fabric's slices that wait does; `documents` are those of all its slices."""
    queue = sorted((d for d in documents if d.state == "queued"), key=_place)
    if not queue:
        return {}
    head, idle = queue[0], _idle(twin, fabric)
    config = config_of(twin, fabric)
    if not isinstance(config, AnyPodConfig):
        return {}
    patience_us = round(config.scheduler.backfill_patience_h * US_PER_HOUR)
    kept, until_us = keeping(head.requested_us, patience_us, now_us)
    return {
        document.name: Wait(
            position,
            f"{position} of {len(queue)} in the queue; {document.reason}; "
            + _obstacle(document, head, idle, kept=kept),
            until_us if kept else None,
        )
        for position, document in enumerate(queue, 1)
    }


def _place(document: SliceDocument) -> tuple[int, int]:
    """As the scheduler has it: the highest priority first, then the oldest."""
    return -document.priority, number_of(document.name)


def _obstacle(document: SliceDocument, head: SliceDocument, idle: int, *, kept: bool) -> str:
    cubes = {0: "no cube is idle", 1: "1 cube is idle"}.get(idle, f"{idle} cubes are idle")
    if not kept or (document is head and is_mesh(document.shape)):
        return cubes
    who = "it" if document is head else head.name
    return f"{cubes} and kept for {who}" if idle else f"{cubes}, and what comes free is kept for {who}"


def _idle(twin: TwinPorts, fabric: str) -> int:
    """Healthy cubes that nobody uses and that are not drained."""
    used = {use.name for use in read_all(twin, fabric, "cube-uses", CubeUseDocument) if use.chips_used}
    cubes = read_all(twin, fabric, "cubes", CubeDocument)
    return sum(c.health == "healthy" and not c.drained and c.name not in used for c in cubes)
