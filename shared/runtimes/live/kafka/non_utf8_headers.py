"""Reads records whose header names are not UTF-8.

Kafka accepts any bytes as a name, but both of its clients raise on them at every fetch. One such record would
stop all reading of its partition. Here such names are decoded with the replacement character, which no name
of ours contains.
"""

from typing import Any

from aiokafka.consumer import fetcher
from aiokafka.record.default_records import _DefaultRecordBatchPy
from aiokafka.record.memory_records import MemoryRecords, _MemoryRecordsPy
from kafka.record import memory_records
from kafka.record.default_records import DefaultRecordBatch


def accept_non_utf8_headers() -> None:
    """Patch the clients of this process; every reader calls this first."""
    memory_records.DefaultRecordBatch = _BlockingBatch
    fetcher.MemoryRecords = _records


class _AnyText(bytearray):
    """Bytes of which every slice can be decoded."""

    def __getitem__(self, place: Any) -> Any:
        item = super().__getitem__(place)
        return _AnyText(item) if isinstance(place, slice) else item

    def decode(self, *_: object) -> str:  # the clients pass only the encoding
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
    """The Python implementation, because batches of the compiled one cannot be patched."""

    def next_batch(self) -> Any:
        data = self._next_slice
        if data is None or data[self.MAGIC_OFFSET] < 2:
            return super().next_batch()
        self._cache_next()
        return _AsyncioBatch(data)


def _records(data: bytes) -> Any:
    """Fetched data; scanned once for such names, which is fast in the compiled implementation."""
    records = MemoryRecords(data)
    try:
        while (batch := records.next_batch()) is not None:
            for _ in batch:
                pass
    except UnicodeDecodeError:
        return _AsyncioRecords(data)
    except Exception:  # noqa: BLE001 -- the reader gets the same error, and handles it
        return MemoryRecords(data)
    return MemoryRecords(data)
