"""Names of headers that are no UTF-8.

Kafka takes any bytes for a name, and both of its clients here raise on them, at every fetch again, so that
one such record would end all reading of its partition. Where that happens, such names are read with the sign
for unreadable letters in them; no name of ours has it.
"""

from typing import Any

from aiokafka.consumer import fetcher
from aiokafka.record.default_records import _DefaultRecordBatchPy
from aiokafka.record.memory_records import MemoryRecords, _MemoryRecordsPy
from kafka.record import memory_records
from kafka.record.default_records import DefaultRecordBatch


def accept_non_utf8_headers() -> None:
    """Let the clients of this process read such records; every reader calls it before it begins."""
    memory_records.DefaultRecordBatch = _BlockingBatch
    fetcher.MemoryRecords = _records


class _AnyText(bytearray):
    """Bytes of which every part can be decoded."""

    def __getitem__(self, place: Any) -> Any:
        found = super().__getitem__(place)
        return _AnyText(found) if isinstance(place, slice) else found

    def decode(self, *_: object) -> str:  # the clients name the encoding only
        return super().decode("utf-8", "replace")


class _BlockingBatch(DefaultRecordBatch):  # type: ignore[misc]  # kafka-python ships no types
    _buffer: bytearray

    def _read_msg(self) -> Any:
        try:
            return super()._read_msg()
        except UnicodeDecodeError:
            self._buffer = _AnyText(self._buffer)
            return super()._read_msg()


class _AsyncioBatch(_DefaultRecordBatchPy):  # type: ignore[misc]  # aiokafka ships no types
    _buffer: bytearray

    def _maybe_uncompress(self) -> None:
        super()._maybe_uncompress()
        self._buffer = _AnyText(self._buffer)


class _AsyncioRecords(_MemoryRecordsPy):  # type: ignore[misc]  # aiokafka ships no types
    """In Python, for the batches of what is compiled cannot be changed."""

    def next_batch(self) -> Any:
        found = self._next_slice
        if found is None or found[self.MAGIC_OFFSET] < 2:
            return super().next_batch()
        self._cache_next()
        return _AsyncioBatch(found)


def _records(data: bytes) -> Any:
    """What was fetched, looked through once: what is compiled is fast enough for that."""
    found = MemoryRecords(data)
    try:
        while (batch := found.next_batch()) is not None:
            for _ in batch:
                pass
    except UnicodeDecodeError:
        return _AsyncioRecords(data)
    except Exception:  # noqa: BLE001 -- whoever reads it meets that again, and knows what to do
        return MemoryRecords(data)
    return MemoryRecords(data)
