"""Damages a local broker's files in a way that Kafka never does: it cuts off the end of a partition's log."""

import struct
from pathlib import Path

BATCH_HEAD = struct.Struct(">qi")
"""Head of a batch of records: the offset of its first record, and the number of bytes that follow."""
LOG_OVERHEAD = BATCH_HEAD.size


def batches(segment: Path) -> list[tuple[int, int]]:
    """Return (first offset, position in the file) of every batch of a segment."""
    data = segment.read_bytes()
    heads, place = [], 0
    while place + LOG_OVERHEAD <= len(data):
        offset, size = BATCH_HEAD.unpack_from(data, place)
        if size <= 0:
            break
        heads.append((offset, place))
        place += LOG_OVERHEAD + size
    return heads


def lose_tail(folder: Path, topic: str, partition: int, lost: int) -> int:
    """Cut at least `lost` records off the end of a partition's log; return its new end. The broker must be
    stopped."""
    place = folder / "data" / f"{topic}-{partition}"
    segment = max(place.glob("*.log"))
    heads = batches(segment)
    last_offset = heads[-1][0]
    offset, at = next((o, at) for o, at in reversed(heads) if o <= last_offset - lost)
    with segment.open("r+b") as file:
        file.truncate(at)
    for rebuilt in (*place.glob("*.index"), *place.glob("*.timeindex"), *place.glob("*.snapshot")):
        rebuilt.unlink()
    return offset
