"""A local copy of the log for a gateway or a historian, which reads it as fast as the embedded twin.

A thread reads Kafka and drops what every reader drops (void, unreadable and repeated records). It appends the
rest to one file per site, in the lab's format: the same messages that the lab writes. The copy can be removed
at any time; it is rebuilt.
"""

import contextlib
import json
import logging
import re
import shutil
import threading
import time
from collections import defaultdict
from pathlib import Path
from typing import IO, Any

from kafka import KafkaConsumer, TopicPartition
from kafka.errors import KafkaError

from schemas.config.pods import FabricConfig
from schemas.envelope import Envelope
from schemas.messages.sequencer import FabricCommissioned
from schemas.names import FABRIC_PATTERN
from schemas.registry import Unreadable
from shared.basics.errors import LightwaveError, OperationFailed
from shared.runtimes.live.kafka.clients import make_client
from shared.runtimes.live.kafka.kafka_errors import LogUnreachable, kafka_unreachable, log_start_removed
from shared.runtimes.live.kafka.layout import Endpoints
from shared.runtimes.live.kafka.non_utf8_headers import accept_non_utf8_headers
from shared.runtimes.live.kafka.records import Record, open_record, record_of
from shared.runtimes.live.twin_record import TwinRecord
from shared.storage.files.atomic_files import write_private_text
from shared.storage.files.file_errors import file_error
from shared.storage.files.folder_lock import FolderLocked, lock_folder
from shared.storage.files.own_files import read_own
from shared.storage.files.own_folders import make_own_folders
from shared.storage.log.frame_files import TelemetryFolder
from shared.storage.log.indexed_log import IndexedLogs
from shared.storage.log.log_bytes import SITE_LOG_SUFFIX
from shared.storage.log.log_reader import commissioned_with
from shared.storage.log.offset_file import OffsetFiles

SAVE_EVERY_S = 1.0
POLL_MS = 200
RETRY_S = 0.5
FRAMES_REREAD = 32
"""Telemetry frames of a partition that are read again at the start."""
_TIME = re.compile(r"[0-9]{1,16}")
_FRAMES_NAME = re.compile(rf"{FABRIC_PATTERN}(/[a-z]{{1,16}})?")
"""A fabric, or one service of it."""

log = logging.getLogger("lightwave.live")


class LogMirror:
    """`logs` is the copy. A folder serves one twin and one process at a time; OperationFailed while another
    process uses it. `frames` selects whether telemetry is copied, too."""

    def __init__(
        self,
        folder: Path,
        endpoints: Endpoints,
        twin: TwinRecord,
        *,
        frames: bool = True,
        with_offsets: bool = False,
    ) -> None:
        self._folder = _subfolder(folder, twin.twin)
        self._lock_file = _lock_copy(folder)
        self._endpoints = endpoints
        self._twin = twin
        self._offsets_file = self._folder / "offsets.json"
        self._remove_others(folder)
        self.logs = IndexedLogs(self._folder / "log")
        self.telemetry = TelemetryFolder(self._folder / "telemetry")
        self.offsets = OffsetFiles(self._folder / "log") if with_offsets else None
        """The Kafka offset of each message, if `with_offsets` is set."""
        self._frames = frames
        self.problem: str | None = "the copy of the log has not started yet"
        """Why the copy may be behind, or None."""
        self.lost = False
        """Kafka has less than the copy: the process must restart to rebuild it."""
        self.messages = 0
        self._sites: dict[str, str] = {}
        """Fabric → the site whose log it shares, for every fabric whose commissioning is in the copy."""
        self._configs: dict[str, FabricConfig] = {}
        self._offsets = self._resume()
        self._ends: dict[int, int] = {}
        self._first_ends: dict[int, int] = {}
        """The ends of the log when this process first saw them."""
        self._assigned: list[TopicPartition] = []
        self._truncated_partitions: list[str] = []
        """A sentence for each partition from which Kafka has removed records that the copy lacks."""
        self._saved_s = 0.0
        self._logged_problem: str | None = None
        """The last logged problem, until the copy is current again."""
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="mirror", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join(timeout=5)
        self.logs.close()
        if self.offsets is not None:
            self.offsets.close()
        self._lock_file.close()

    def config(self, fabric: str) -> FabricConfig:
        """The configuration with which a fabric was commissioned; KeyError if the copy does not have it."""
        if fabric not in self._configs:
            self._configs[fabric] = commissioned_with(self.logs, self._sites[fabric], fabric)
        return self._configs[fabric]

    def site(self, fabric: str) -> str:
        """The site whose log a fabric shares; KeyError if its commissioning is not in the copy."""
        return self._sites[fabric]

    def fabrics(self) -> list[str]:
        """The fabrics whose commissioning is in the copy."""
        return list(self._sites)

    def lag_records(self) -> int:
        """Records on Kafka, as of the last check, that the copy has not read."""
        return sum(max(0, end - self._offsets.get(partition, 0)) for partition, end in self._ends.items())

    def missing_records(self) -> str | None:
        """Why queries would not see the whole log, in one sentence; None once the copy has everything that
        existed when this process started. After that, Kafka may be down: nothing is added meanwhile."""
        if self._truncated_partitions:
            return self._truncated_partitions[0]
        if not self._first_ends:
            return self.problem or "the copy of the log has not been compared with Kafka yet"
        missing = sum(max(0, end - self._offsets.get(place, 0)) for place, end in self._first_ends.items())
        return f"the copy of the log still lacks {missing} records" if missing else None

    def copied_offset(self, partition: int) -> int:
        """The offset up to which the copy has this partition of the log."""
        return self._offsets.get(partition, 0)

    # --- the thread -----------------------------------------------------------------------------------------

    def _run(self) -> None:
        while not self._stop.is_set() and not self.lost:
            try:
                with contextlib.closing(self._consumer()) as consumer:
                    self._assign(consumer)
                    self._follow(consumer)
            except (KafkaError, OSError) as error:
                self._fail(kafka_unreachable(self._endpoints.kafka, error))
            except Exception as error:  # noqa: BLE001 -- any error: show that the copy is behind
                self._fail(error)

    def _fail(self, error: Exception) -> None:
        """Show a problem while it lasts, log it once, and pause before the retry."""
        is_kafka = isinstance(error, LogUnreachable)
        problem = str(error) if is_kafka else f"the copy of the log: {error}"
        if problem != self._logged_problem:
            log.error("%s", problem, exc_info=None if isinstance(error, LightwaveError) else error)
        self.problem = self._logged_problem = problem
        self._stop.wait(RETRY_S)

    def _consumer(self) -> KafkaConsumer:
        accept_non_utf8_headers()
        return make_client(
            KafkaConsumer,
            self._endpoints.kafka,
            enable_auto_commit=False,
            auto_offset_reset="none",
            max_poll_records=2_000,
            fetch_max_wait_ms=POLL_MS,
            bootstrap_timeout_ms=4_000,
        )

    def _assign(self, consumer: KafkaConsumer) -> None:
        """Continue each partition where its copy ends. Leave out partitions from which Kafka has removed the
        next records."""
        topics = self._endpoints.topics
        logs = [TopicPartition(topics.log, n) for n in range(self._twin.partitions)]
        frames = [TopicPartition(topics.telemetry, n) for n in range(self._twin.partitions) if self._frames]
        begins = consumer.beginning_offsets([*logs, *frames])
        starts = {place: self._offsets.get(place.partition, 0) for place in logs}
        self._truncated_partitions = [
            log_start_removed(place.topic, place.partition, begins[place])
            for place in logs
            if starts[place] < begins[place]
        ]
        self._assigned = [place for place in logs if starts[place] >= begins[place]]
        consumer.assign([*self._assigned, *frames])
        for place in self._assigned:
            consumer.seek(place, starts[place])
        for place, end in consumer.end_offsets(frames).items():
            consumer.seek(place, max(begins[place], end - FRAMES_REREAD))

    def _follow(self, consumer: KafkaConsumer) -> None:
        checked_s = 0.0
        while not self._stop.is_set():
            if time.monotonic() - checked_s > SAVE_EVERY_S:
                checked_s = time.monotonic()
                self._check_ends(consumer)
                if self.lost:
                    return
            rows = consumer.poll(timeout_ms=POLL_MS)
            for place, batch in rows.items():
                if place.topic == self._endpoints.topics.log:
                    self._append(place.partition, batch)
                else:
                    self._store_frames(batch)
            for place in self._assigned:  # may be beyond the last record, if offsets have no record
                self._offsets[place.partition] = consumer.position(place)
            if time.monotonic() - self._saved_s > SAVE_EVERY_S:
                self._save()

    def _check_ends(self, consumer: KafkaConsumer) -> None:
        places = [TopicPartition(self._endpoints.topics.log, n) for n in range(self._twin.partitions)]
        self._ends = {place.partition: end for place, end in consumer.end_offsets(places).items()}
        self._first_ends = self._first_ends or self._ends
        self.problem = next(iter(self._truncated_partitions), None)
        for partition, end in self._ends.items():
            if end < self._offsets.get(partition, 0):
                self.lost = True
                self.problem = (
                    f"partition {partition}: Kafka has {end} messages, but the copy has read "
                    f"{self._offsets[partition]}: the log lost its end"
                )
                shutil.rmtree(self._folder, ignore_errors=True)
                return

    def _append(self, partition: int, rows: list[Any]) -> None:
        by_site: dict[str, list[tuple[Envelope, Record]]] = defaultdict(list)
        last: dict[tuple[str, str], int] = {}
        for row in rows:
            record = record_of(partition, row.offset, row.value, row.headers)
            try:
                message = open_record(record, self._twin.twin)
            except Unreadable:
                continue
            if message is None:
                continue
            if isinstance(message.body, FabricCommissioned):
                self._sites.setdefault(message.fabric, message.body.site)
            site = self._sites.get(message.fabric)
            if site is None:
                continue
            source = (site, message.source)
            if source not in last:
                last[source] = self.logs.open(site).last_seq(message.source)
            if message.seq > last[source]:
                last[source] = message.seq
                by_site[site].append((message, record))
        for site, pairs in by_site.items():
            copied = self.logs.open(site)
            if self.offsets is not None:
                self.offsets.of(site).put(copied.end, [record.offset for _, record in pairs])
            copied.append([message for message, _ in pairs], [record.value for _, record in pairs])
            self.messages += len(pairs)

    def _store_frames(self, rows: list[Any]) -> None:
        for row in rows:
            record = record_of(0, row.offset, row.value, row.headers)
            name = (row.key or b"").decode("utf-8", "replace")
            at_us = record.header("at_us") or ""
            # Both become file names: ignore records with other text in them.
            if record.value and _FRAMES_NAME.fullmatch(name) and _TIME.fullmatch(at_us):
                self.telemetry.put(name, int(at_us), record.value)

    # --- on the disk ----------------------------------------------------------------------------------------

    def _remove_others(self, folder: Path) -> None:
        """Remove copies of other twins: one folder serves one twin at a time."""
        if folder.exists():
            for other in folder.iterdir():
                if other != self._folder and (other / "offsets.json").exists():
                    shutil.rmtree(other, ignore_errors=True)

    def _resume(self) -> dict[int, int]:
        """The offsets to continue from. Discards a copy that has less than was recorded of it."""
        try:
            saved = json.loads(read_own(self._offsets_file))
            offsets = {int(partition): int(offset) for partition, offset in saved["offsets"].items()}
            is_complete = all(self._is_complete(site, end) for site, end in saved["ends"].items())
            self._sites = {str(fabric): str(site) for fabric, site in saved["fabrics"].items()}
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            offsets, is_complete = {}, True
            self._sites = {}
        if not is_complete:
            self.logs.close()
            if self.offsets is not None:
                self.offsets.close()
            shutil.rmtree(self._folder / "log", ignore_errors=True)
            self.logs = IndexedLogs(self._folder / "log")
            offsets = {}
            self._sites = {}
        for path in sorted((self._folder / "log").glob(f"*{SITE_LOG_SUFFIX}")):
            self.logs.open(path.stem)
        return offsets

    def _is_complete(self, site: str, end: int) -> bool:
        """Whether the copy of a site's log is as long as recorded, and has the offset of each message."""
        copied = self.logs.open(site).end
        return copied >= end and (self.offsets is None or self.offsets.of(site).count >= copied)

    def _save(self) -> None:
        """Save the offsets. They are never ahead of the copy; records that are read again are dropped as
        repeats."""
        self._saved_s = time.monotonic()
        saved = {
            "offsets": self._offsets,
            "ends": {site: self.logs.end(site) for site in self.logs.sites()},
            "fabrics": self._sites,
        }
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            write_private_text(self._offsets_file, json.dumps(saved))
        except OSError as error:
            raise file_error(self._offsets_file, error, "file") from None
        self._logged_problem = None


def _subfolder(folder: Path, name: str) -> Path:
    """The subfolder of this name; OperationFailed if it were elsewhere, because it may be removed."""
    path = folder / name
    if path.resolve().parent != folder.resolve() or not name:
        raise OperationFailed(f"twin {name!r}: must be the name of a folder in {folder}")
    return path


def _lock_copy(folder: Path) -> IO[bytes]:
    try:
        make_own_folders(folder)
        return lock_folder(folder)
    except FolderLocked:
        raise OperationFailed(
            f"{folder}: another process uses this folder; set LIGHTWAVE_DATA to a different one"
        ) from None
    except OSError as error:
        raise OperationFailed(f"{folder}: {error.strerror or error}") from None
