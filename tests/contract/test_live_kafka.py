"""Requirements of the live twin on a real Kafka: topics, appending, reading, and the gateway's copy of the
log."""

import asyncio
import socket
import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest
from kafka import KafkaProducer, TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType, KafkaAdminClient

from ops.servers.local_servers import LocalKafka
from ops.sites.configuration import superpod_config
from schemas.config.pods import pod_config
from schemas.envelope import Envelope, enclose
from schemas.messages.cubes import CubeDrained
from schemas.messages.operator import DrainCube
from schemas.registry import encode
from shared.basics.errors import InvalidInput, LogDamaged, OperationFailed
from shared.runtimes.live.kafka import topic_admin
from shared.runtimes.live.kafka.appender import Entry, KafkaAppender
from shared.runtimes.live.kafka.brokers import Brokers
from shared.runtimes.live.kafka.dead_letter_topic import KafkaDeadLetters
from shared.runtimes.live.kafka.kafka_errors import LogUnreachable
from shared.runtimes.live.kafka.layout import Endpoints, Topics
from shared.runtimes.live.kafka.log_mirror import LogMirror
from shared.runtimes.live.kafka.partition_reader import read_partition
from shared.runtimes.live.kafka.records import Record, dead_letter_line, is_gap, output_headers
from shared.runtimes.live.kafka.topic_admin import (
    DAY_MS,
    VERSION_MIN,
    check_settings,
    create_topics,
    partition_count,
    topic_id,
)
from shared.runtimes.live.sequencer.partition_sequencer import root_entry
from shared.runtimes.live.twin_record import TwinRecord
from shared.runtimes.live.worker.offset_gaps import reread_gaps
from shared.runtimes.poll import poll_until
from tests.soak.log_facts import FOREIGN_HEADER
from tests.soak.malformed_records import BadName, MalformedRecord, send_badly_named, transaction
from tests.support.broker_version import broker_version
from tests.support.pods import OPERATOR, first_message

TWIN = "twin-a"
NOWHERE = Brokers("127.0.0.1:9")


@pytest.fixture
def endpoints(kafka: LocalKafka) -> Endpoints:
    """Return endpoints with topics for a single test."""
    endpoints = Endpoints(kafka.brokers, "redis://unused", Topics(f"t{uuid.uuid4().hex[:8]}"))
    create_topics(endpoints.kafka, endpoints.topics, 2, 1)
    return endpoints


def as_list(topics: Topics) -> list[str]:
    return [topics.log, topics.telemetry, topics.dead_letters]


def settings_of(brokers: Brokers, topic: str) -> dict[str, str]:
    """Return the settings of a topic."""
    admin = KafkaAdminClient(**brokers.arguments())
    try:
        configs = admin.describe_configs(
            [ConfigResource(ConfigResourceType.TOPIC, topic)], config_filter="all"
        )
    finally:
        admin.close()
    return {name: row["value"] for name, row in configs["topic"][topic].items()}


def await_end(endpoints: Endpoints, offset: int) -> None:
    """Wait until partition 0 has `offset` records. Kafka reports the end of a transaction before its end
    marker is on the log."""

    async def end() -> int:
        return await KafkaAppender(endpoints.kafka, endpoints.topics).end(0)

    assert poll_until(lambda: asyncio.run(end()) >= offset, 30)


def set_topic(endpoints: Endpoints, topic: str, values: dict[str, str]) -> None:
    """Change the settings of a topic, as an operator might do who does not know its purpose."""
    admin = KafkaAdminClient(**endpoints.kafka.arguments())
    try:
        admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, topic, configs=values)])
    finally:
        admin.close()


def remove_before(endpoints: Endpoints, partition: int, offset: int) -> None:
    """Let Kafka remove the beginning of the log, as it does after the retention time."""
    admin = KafkaAdminClient(**endpoints.kafka.arguments())
    try:
        admin.delete_records({TopicPartition(endpoints.topics.log, partition): offset})
    finally:
        admin.close()


def append(endpoints: Endpoints, partition: int, entries: list[Entry]) -> list[int]:
    async def run() -> list[int]:
        appender = KafkaAppender(endpoints.kafka, endpoints.topics)
        try:
            return await appender.append(partition, entries)
        finally:
            await appender.close()

    return asyncio.run(run())


def commissioning(fabric: str = "pod-0") -> Envelope:
    return first_message(superpod_config(["pod.cubes=8"]), fabric)


def drain_request(number: int) -> Envelope:
    body = DrainCube(cube="pod-0/cube-1")
    return enclose(body, fabric="pod-0", at_us=number, cause=None, source=OPERATOR, seq=number)


def drained(number: int) -> Envelope:
    body = CubeDrained(cube=1)
    cause = f"{OPERATOR}/{number}"
    return enclose(body, fabric="pod-0", at_us=number, cause=cause, source="cubes@pod-0", seq=number)


def as_output(message: Envelope, twin: str = "twin-a") -> Entry:
    return Entry(message.fabric, encode(message), output_headers(message.type, message.source, twin))


def as_root(message: Envelope, offset: int) -> Entry:
    return root_entry(message.fabric, message, TWIN, offset=offset, quiet=offset)


class TestTopics:
    def test_topics_are_created_once_and_recognized(self, endpoints: Endpoints) -> None:
        before = topic_id(endpoints.kafka, endpoints.topics.log)
        create_topics(endpoints.kafka, endpoints.topics, 2, 1)
        assert topic_id(endpoints.kafka, endpoints.topics.log) == before
        assert partition_count(endpoints.kafka, endpoints.topics.log) == 2
        assert partition_count(endpoints.kafka, endpoints.topics.dead_letters) == 1

    def test_a_deleted_and_recreated_topic_has_another_id(self, endpoints: Endpoints) -> None:
        before = topic_id(endpoints.kafka, endpoints.topics.log)
        admin = KafkaAdminClient(**endpoints.kafka.arguments())
        admin.delete_topics([endpoints.topics.log])
        admin.close()
        until_s = time.monotonic() + 20
        while time.monotonic() < until_s:
            try:
                create_topics(endpoints.kafka, endpoints.topics, 2, 1)
                break
            except OperationFailed:
                time.sleep(0.2)  # the deletion is still under way
        assert topic_id(endpoints.kafka, endpoints.topics.log) != before

    def test_a_missing_topic_is_an_error_in_one_sentence(self, endpoints: Endpoints) -> None:
        with pytest.raises(OperationFailed, match=r"topic none\.log: not on Kafka at .*lightwave live init"):
            topic_id(endpoints.kafka, "none.log")

    def test_an_unreachable_kafka_is_an_error_in_one_sentence(self) -> None:
        with pytest.raises(LogUnreachable, match=f"Kafka at {NOWHERE}: .*; check that it runs there"):
            topic_id(NOWHERE, "any.log")

    def test_attempts_to_reach_kafka_leave_no_threads_behind(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A worker's watch retries every few seconds while Kafka is unreachable."""
        monkeypatch.setattr(topic_admin, "ANSWER_S_MAX", 0.2)
        before = set(threading.enumerate())
        with socket.create_server(("127.0.0.1", 0)) as hanging:
            endpoints = (
                NOWHERE.bootstrap,
                f"127.0.0.1:{hanging.getsockname()[1]}",
                "nobody.invalid:9",
                "127.0.0.1:99999",
            )
            for bootstrap in endpoints:
                with pytest.raises(
                    LogUnreachable, match=f"Kafka at {bootstrap}: .*; check that it runs there"
                ):
                    topic_id(Brokers(bootstrap), "any.log")
        assert set(threading.enumerate()) <= before

    def test_one_broker_of_several_is_enough(self, endpoints: Endpoints) -> None:
        """Repeated, because the client chooses one of its brokers at random."""
        several = Brokers(f"{NOWHERE},{NOWHERE},{NOWHERE},{endpoints.kafka}")
        for _ in range(3):
            assert topic_id(several, endpoints.topics.log) == topic_id(endpoints.kafka, endpoints.topics.log)
            assert [len(batch) for batch in read_partition(several, endpoints.topics.log, 0)] == []

    def test_reading_a_missing_topic_does_not_create_it(self, endpoints: Endpoints) -> None:
        for _ in range(2):
            with pytest.raises(OperationFailed, match=r"none\.log: not on Kafka"):
                partition_count(endpoints.kafka, "none.log")

    def test_retention_of_each_topic(self, endpoints: Endpoints) -> None:
        kept = {name: settings_of(endpoints.kafka, name) for name in as_list(endpoints.topics)}
        assert {row["cleanup.policy"] for row in kept.values()} == {"delete"}
        assert {row["retention.bytes"] for row in kept.values()} == {"-1"}
        assert {row["compression.type"] for row in kept.values()} == {"uncompressed"}
        assert {row["min.insync.replicas"] for row in kept.values()} == {"1"}
        forever, week = "-1", str(7 * DAY_MS)
        assert [kept[name]["retention.ms"] for name in as_list(endpoints.topics)] == [forever, week, forever]

    def test_new_topics_have_no_problems(self, endpoints: Endpoints) -> None:
        append(endpoints, 0, [as_root(commissioning(), 0)])
        assert check_settings(endpoints.kafka, endpoints.topics) == []

    def test_each_setting_that_could_lose_messages_is_reported(self, endpoints: Endpoints) -> None:
        topics = endpoints.topics
        set_topic(endpoints, topics.log, {"retention.ms": "1000", "cleanup.policy": "compact,delete"})
        set_topic(endpoints, topics.telemetry, {"retention.ms": "1000", "max.message.bytes": "1000000"})
        set_topic(endpoints, topics.operations, {"retention.ms": "5"})
        set_topic(endpoints, topics.dead_letters, {"retention.bytes": "5", "max.message.bytes": "9000000"})
        problems = check_settings(endpoints.kafka, topics)
        assert [
            sentence.partition(":")[0] + sentence.partition(":")[2].partition(":")[0] for sentence in problems
        ] == [
            f"topic {topics.log} cleanup.policy is compact,delete, must be delete",
            f"topic {topics.log} retention.ms is 1000, must be -1",
            f"topic {topics.operations} retention.ms is 5, must be -1",
            f"topic {topics.telemetry} max.message.bytes is 1000000, must be 8000000",
            f"topic {topics.dead_letters} retention.bytes is 5, must be -1",
        ]
        command = f"--entity-name {topics.log} --add-config retention.ms=-1` sets it"
        assert problems[1].endswith(command)

    def test_a_log_without_its_beginning_is_an_error_in_one_sentence(self, endpoints: Endpoints) -> None:
        append(endpoints, 1, [as_output(drained(n)) for n in range(5)])
        remove_before(endpoints, 1, 3)
        (problem,) = check_settings(endpoints.kafka, endpoints.topics)
        assert problem.startswith(
            f"topic {endpoints.topics.log}: partition 1 starts at 3, not at 0: Kafka removed"
        )

    def test_settings_of_a_missing_topic_are_an_error_in_one_sentence(self, endpoints: Endpoints) -> None:
        with pytest.raises(OperationFailed, match=r"topic none\.log: not on Kafka at .*lightwave live init"):
            check_settings(endpoints.kafka, Topics("none"))

    def test_more_replicas_than_brokers_is_an_error_in_one_sentence(self, endpoints: Endpoints) -> None:
        with pytest.raises(
            InvalidInput, match=r"^--replication 3: Kafka at \S+ has fewer brokers; must be between 1 and 1$"
        ):
            create_topics(endpoints.kafka, Topics("copies"), 2, 3)

    def test_an_old_kafka_is_an_error_in_one_sentence_for_every_client(
        self, endpoints: Endpoints, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert broker_version(endpoints.kafka) >= VERSION_MIN
        monkeypatch.setattr(topic_admin, "VERSION_MIN", (99, 1))
        for call in (
            lambda: topic_id(endpoints.kafka, endpoints.topics.log),
            lambda: create_topics(endpoints.kafka, endpoints.topics, 2, 1),
        ):
            with pytest.raises(
                OperationFailed, match=r"version \d+\.\d+.*; must be 99\.1 or newer"
            ) as raised:
                call()
            assert not isinstance(raised.value, LogUnreachable)  # waiting would not help


class TestDeadLetters:
    def test_each_origin_is_read_once_and_foreign_records_are_skipped(self, endpoints: Endpoints) -> None:
        def bury(rows: list[bytes]) -> None:
            async def run() -> None:
                appender = KafkaAppender(endpoints.kafka, endpoints.topics)
                try:
                    await appender.dead_letter([Entry("0", row, {}) for row in rows])
                finally:
                    await appender.close()

            asyncio.run(run())

        def letter(offset: int) -> bytes:
            return dead_letter_line(Record(0, offset, b"\xff", {}), "cubes", "not JSON")

        letters = KafkaDeadLetters(endpoints)
        assert letters.read() == []
        bury([letter(4), b"not a letter", b"{}", letter(4), letter(7)])
        assert [letter_read.origin for letter_read in letters.read()] == ["0:4", "0:7"]
        bury([letter(7), letter(9)])
        rows = letters.read()
        assert [row.origin for row in rows] == ["0:4", "0:7", "0:9"]
        assert (rows[0].error, rows[0].line, rows[0].service) == ("not JSON", "\\xff", "cubes")


class TestAppending:
    def test_records_are_appended_in_order_and_read_back_unchanged(self, endpoints: Endpoints) -> None:
        entries = [as_root(commissioning(), 0), as_root(drain_request(1), 1), as_output(drained(1))]
        assert append(endpoints, 0, entries) == [0, 1, 2]
        assert append(endpoints, 0, [as_output(drained(2))]) == [3]
        (batch,) = read_partition(endpoints.kafka, endpoints.topics.log, 0)
        assert [(r.offset, r.value, dict(r.headers)) for r in batch][:3] == [
            (n, entry.value, entry.headers) for n, entry in enumerate(entries)
        ]
        assert [
            r.offset for rows in read_partition(endpoints.kafka, endpoints.topics.log, 0, 2) for r in rows
        ] == [
            2,
            3,
        ]
        assert list(read_partition(endpoints.kafka, endpoints.topics.log, 1)) == []

    def test_the_end_of_the_log_and_the_records_before_it(self, endpoints: Endpoints) -> None:
        append(endpoints, 0, [as_output(drained(n)) for n in range(1, 6)])

        async def read_end() -> tuple[int, list[int]]:
            appender = KafkaAppender(endpoints.kafka, endpoints.topics)
            offsets = [r.offset async for batch in appender.read(0, 2, 4) for r in batch]
            return await appender.end(0), offsets

        assert asyncio.run(read_end()) == (5, [2, 3])

    def test_an_unreachable_kafka_is_an_error_in_one_sentence(self) -> None:
        with pytest.raises(LogUnreachable, match=f"Kafka at {NOWHERE}"):
            append(Endpoints(NOWHERE, "", Topics("t")), 0, [as_output(drained(1))])


class TestForeignRecords:
    """Readers reach the end of the log whatever records are on it."""

    @pytest.fixture
    def log_with_markers(self, endpoints: Endpoints) -> list[int]:
        """Return the offsets of the records of a log with transaction markers at 2, 4 and its end. Kafka
        delivers markers to no reader."""
        append(endpoints, 0, [as_root(commissioning(), 0)])
        place = (endpoints.kafka, endpoints.topics.log, 0)
        asyncio.run(
            transaction(*place, [MalformedRecord(b"committed", headers=(("trace", None),))], "commit")
        )
        await_end(endpoints, 3)
        asyncio.run(transaction(*place, [MalformedRecord(b"aborted", None)], "abort"))
        await_end(endpoints, 5)
        append(endpoints, 0, [as_output(drained(1))])
        send_badly_named(*place, [MalformedRecord(b"x", headers=((BadName("type"), b"Tick"), ("a", b"1")))])
        asyncio.run(transaction(*place, [MalformedRecord(None, None)], "commit"))
        await_end(endpoints, 9)
        return [0, 1, 3, 5, 6, 7]

    def test_a_scan_returns_a_record_for_every_offset(
        self, endpoints: Endpoints, log_with_markers: list[int]
    ) -> None:
        rows = [r for rows in read_partition(endpoints.kafka, endpoints.topics.log, 0) for r in rows]
        assert [r.offset for r in rows] == [*range(9)]
        assert [r.offset for r in rows if not is_gap(r)] == log_with_markers
        assert [rows[n].value for n in log_with_markers[1:]] == [
            b"committed",
            b"aborted",
            rows[5].value,
            b"x",
            b"",
        ]
        assert dict(rows[6].headers) == {"\ufffd\ufffdtype": b"Tick", "a": b"1", FOREIGN_HEADER: b""}
        (tail,) = read_partition(endpoints.kafka, endpoints.topics.log, 0, 4, 5)
        assert [is_gap(r) for r in tail] == [True]

    def test_the_sequencer_reads_the_same_records(
        self, endpoints: Endpoints, log_with_markers: list[int]
    ) -> None:
        async def read_all() -> list[Record]:
            appender = KafkaAppender(endpoints.kafka, endpoints.topics)
            return [r async for batch in appender.read(0, 0, await appender.end(0)) for r in batch]

        rows = asyncio.run(read_all())
        assert [r.offset for r in rows if not is_gap(r)] == log_with_markers
        assert rows == [r for rows in read_partition(endpoints.kafka, endpoints.topics.log, 0) for r in rows]

    def test_a_worker_learns_that_gaps_are_transaction_markers(
        self, endpoints: Endpoints, log_with_markers: list[int]
    ) -> None:
        received = [Record(0, offset, b"", {}) for offset in log_with_markers]
        complete = reread_gaps(endpoints.kafka, endpoints.topics.log)(0, 0, received)
        assert [r.offset for r in complete] == [*range(8)]
        assert [r for r in complete if not is_gap(r)] == received
        with pytest.raises(LogDamaged, match="partition 0: offset 3 is missing before 5"):
            reread_gaps(endpoints.kafka, endpoints.topics.log)(0, 1, [received[1], *received[3:]])

    def test_the_copy_skips_transaction_markers(
        self, endpoints: Endpoints, log_with_markers: list[int], tmp_path: Path
    ) -> None:
        mirror = LogMirror(tmp_path / "mirror", endpoints, TwinRecord("twin-a", 2, "topic"))
        assert mirror.missing_records() == "the copy of the log has not started yet"
        mirror.start()
        try:
            assert TestMirror.until(mirror, 2) == [encode(commissioning()), encode(drained(1))]
            assert (mirror.lag_records(), mirror.copied_offset(0), mirror.problem) == (
                0,
                log_with_markers[-1] + 2,
                None,
            )
            assert mirror.missing_records() is None
        finally:
            mirror.stop()

    def test_gaps_of_a_topic_that_compacts_are_refused(
        self, endpoints: Endpoints, log_with_markers: list[int]
    ) -> None:
        set_topic(endpoints, endpoints.topics.log, {"cleanup.policy": "compact"})
        assert log_with_markers
        with pytest.raises(OperationFailed, match=r"cleanup\.policy is compact, must be delete"):
            list(read_partition(endpoints.kafka, endpoints.topics.log, 0))

    def test_a_log_without_its_beginning_is_reported_by_every_reader(
        self, endpoints: Endpoints, tmp_path: Path
    ) -> None:
        append(endpoints, 0, [as_root(commissioning(), 0), *(as_output(drained(n)) for n in range(1, 6))])
        remove_before(endpoints, 0, 3)
        sentence = f"topic {endpoints.topics.log}: partition 0 starts at 3, not at 0: Kafka removed"
        with pytest.raises(OperationFailed, match=sentence):
            list(read_partition(endpoints.kafka, endpoints.topics.log, 0))
        assert (
            len([r for rows in read_partition(endpoints.kafka, endpoints.topics.log, 0, 3) for r in rows])
            == 3
        )

        async def read_log() -> tuple[int, list[int]]:
            appender = KafkaAppender(endpoints.kafka, endpoints.topics)
            return await appender.begin(0), [r.offset async for rows in appender.read(0, 0, 6) for r in rows]

        assert asyncio.run(read_log()) == (3, [3, 4, 5])
        mirror = LogMirror(tmp_path / "mirror", endpoints, TwinRecord("twin-a", 2, "topic"))
        mirror.start()
        until_s = time.monotonic() + 20
        while sentence not in (mirror.problem or "") and time.monotonic() < until_s:
            time.sleep(0.05)
        mirror.stop()
        assert sentence in (mirror.problem or "")
        assert sentence in (mirror.missing_records() or "")


class TestMirror:
    @pytest.fixture
    def mirrored(self, endpoints: Endpoints, tmp_path: Path) -> Callable[[], LogMirror]:
        def start() -> LogMirror:
            twin = TwinRecord("twin-a", 2, "topic")
            mirror = LogMirror(tmp_path / "mirror", endpoints, twin)
            mirror.start()
            return mirror

        return start

    @staticmethod
    def until(mirror: LogMirror, messages: int) -> list[bytes]:
        """Return the copy of pod-0's log once it contains this number of messages."""
        until_s = time.monotonic() + 20
        while "pod-0" not in mirror.logs.sites() or mirror.logs.end("pod-0") < messages:
            assert time.monotonic() < until_s, mirror.problem
            time.sleep(0.01)
        time.sleep(0.3)  # time for records that must not be copied
        return [line for _, line in mirror.logs.open("pod-0").lines(0)]

    def test_the_copy_contains_exactly_what_readers_read(
        self, endpoints: Endpoints, mirrored: Callable[[], LogMirror]
    ) -> None:
        foreign = [
            Entry("pod-0", b"{", {}),
            as_output(drained(9), twin="twin-b"),
            as_root(drain_request(9), 77),
            as_output(drained(1)),
            Entry("pod-0", encode(drain_request(9)), output_headers("DrainCube", OPERATOR, "twin-a")),
        ]
        append(
            endpoints,
            0,
            [as_root(commissioning(), 0), as_root(drain_request(1), 1), as_output(drained(1)), *foreign],
        )
        append(endpoints, 0, [as_output(drained(2))])
        mirror = mirrored()
        try:
            expected = [
                encode(message) for message in (commissioning(), drain_request(1), drained(1), drained(2))
            ]
            assert self.until(mirror, 4) == expected
            assert mirror.problem is None
            assert pod_config(mirror.config("pod-0")).cubes == 8
            with pytest.raises(KeyError):
                mirror.config("pod-1")
            append(endpoints, 0, [as_output(drained(3))])
            assert len(self.until(mirror, 5)) == 5
        finally:
            mirror.stop()

    def test_the_copy_resumes_even_if_its_position_was_not_saved(
        self, endpoints: Endpoints, mirrored: Callable[[], LogMirror], tmp_path: Path
    ) -> None:
        append(endpoints, 0, [as_root(commissioning(), 0), *(as_output(drained(n)) for n in range(1, 50))])
        mirror = mirrored()
        self.until(mirror, 50)
        mirror.stop()
        append(endpoints, 0, [as_output(drained(n)) for n in range(50, 60)])
        (offsets_file,) = tmp_path.glob("mirror/*/offsets.json")
        offsets_file.unlink()
        mirror = mirrored()
        try:
            assert self.until(mirror, 60) == [
                encode(m) for m in (commissioning(), *(drained(n) for n in range(1, 60)))
            ]
        finally:
            mirror.stop()

    def test_a_copy_that_is_longer_than_the_log_is_discarded(
        self, endpoints: Endpoints, mirrored: Callable[[], LogMirror], tmp_path: Path
    ) -> None:
        append(endpoints, 0, [as_root(commissioning(), 0), as_output(drained(1))])
        mirror = mirrored()
        self.until(mirror, 2)
        mirror.stop()
        (offsets_file,) = tmp_path.glob("mirror/*/offsets.json")
        offsets_file.write_text(offsets_file.read_text().replace('"0": 2', '"0": 9'))
        mirror = mirrored()
        until_s = time.monotonic() + 20
        while not mirror.lost and time.monotonic() < until_s:
            time.sleep(0.05)
        mirror.stop()
        assert mirror.lost
        assert "Kafka has 2 messages, but the copy has read 9" in (mirror.problem or "")
        assert not offsets_file.exists()

    def test_foreign_telemetry_frames_are_skipped(
        self, endpoints: Endpoints, mirrored: Callable[[], LogMirror], tmp_path: Path
    ) -> None:
        append(endpoints, 0, [as_root(commissioning(), 0)])
        good = [("at_us", b"7")]
        producer = KafkaProducer(**endpoints.kafka.arguments())
        for key, value, headers in (
            (b"../../../x", b"frame", good),
            (b"/abs", b"frame", good),
            (b"pod-0/../x", b"frame", good),
            (b"\xff", b"frame", good),
            (b"pod-0\0", b"frame", good),
            (None, b"frame", good),
            (b"pod-0", None, good),
            (b"pod-0", b"frame", [("at_us", b"9" * 5_000)]),
            (b"pod-0", b"frame", [("at_us", "٣".encode())]),
            (b"pod-0", b"frame", [("at_us", b"\xff"), ("more", b"")]),
            (b"pod-0", b"frame", []),
            (b"pod-0/ocs/x", b"frame", good),
            (b"pod-0/ocs", b"of its OCSes", good),
            (b"pod-0", b"the frame", good),
        ):
            producer.send(endpoints.topics.telemetry, value, key, headers, partition=0)
        producer.close()
        mirror = mirrored()
        try:
            self.until(mirror, 1)
            until_s = time.monotonic() + 20
            while mirror.telemetry.latest("pod-0") is None and time.monotonic() < until_s:
                time.sleep(0.05)
            assert mirror.telemetry.latest("pod-0") == b"the frame"
            assert mirror.problem is None
        finally:
            mirror.stop()
        assert mirror.telemetry.latest("pod-0/ocs") == b"of its OCSes"
        assert [path.name for path in tmp_path.rglob("*.arrows")] == [f"{7:020d}.arrows"] * 2
        assert [path.name for path in mirror.telemetry.folder.iterdir()] == ["pod-0"]

    @pytest.mark.parametrize("name", ["../victim", "{home}/victim", "", "."])
    def test_a_twin_whose_name_leads_out_of_the_folder_is_refused(
        self, endpoints: Endpoints, tmp_path: Path, name: str
    ) -> None:
        victim = tmp_path / "victim"
        victim.mkdir()
        with pytest.raises(OperationFailed, match="must be the name of a folder in"):
            LogMirror(tmp_path / "mirror", endpoints, TwinRecord(name.format(home=tmp_path), 2, "topic"))
        assert victim.is_dir()

    def test_only_one_gateway_at_a_time_uses_a_folder(
        self, endpoints: Endpoints, mirrored: Callable[[], LogMirror]
    ) -> None:
        append(endpoints, 0, [as_root(commissioning(), 0)])
        mirror = mirrored()
        with pytest.raises(
            OperationFailed, match="mirror: another process uses this folder; set LIGHTWAVE_DATA"
        ):
            mirrored()
        mirror.stop()
        again = mirrored()
        try:
            assert self.until(again, 1) == [encode(commissioning())]
        finally:
            again.stop()
