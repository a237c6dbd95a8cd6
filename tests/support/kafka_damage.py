"""Damage to a local broker's files that Kafka itself would never do: the end of a partition's log is lost."""

import struct
from pathlib import Path

BATCH_HEAD = struct.Struct(">qi")
"""Of a batch of records: the offset of its first, and how many bytes follow."""
LOG_OVERHEAD = BATCH_HEAD.size


def batches(segment: Path) -> list[tuple[int, int]]:
    """(first offset, place in the file) of every batch of a segment."""
    data = segment.read_bytes()
    found, place = [], 0
    while place + LOG_OVERHEAD <= len(data):
        offset, size = BATCH_HEAD.unpack_from(data, place)
        if size <= 0:
            break
        found.append((offset, place))
        place += LOG_OVERHEAD + size
    return found


def lose_tail(folder: Path, topic: str, partition: int, lost: int) -> int:
    """Cut at least `lost` records off the log of a partition whose broker does not run; its new end."""
    place = folder / "data" / f"{topic}-{partition}"
    segment = max(place.glob("*.log"))
    found = batches(segment)
    last_offset = found[-1][0]
    offset, at = next((o, at) for o, at in reversed(found) if o <= last_offset - lost)
    with segment.open("r+b") as file:
        file.truncate(at)
    for made_again in (*place.glob("*.index"), *place.glob("*.timeindex"), *place.glob("*.snapshot")):
        made_again.unlink()
    return offset
