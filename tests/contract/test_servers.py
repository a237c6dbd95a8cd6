"""The local servers of a live twin: a real Kafka and a real Redis that start, are killed, and start again
with all confirmed data."""

import hashlib
import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import redis
from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import KafkaAdminClient, NewTopic

from ops.live.settings import LiveSettings
from ops.servers import jar_checksums, kafka_jars
from ops.servers.kafka_jars import LIBS, cache, java, kafka_libs, kafka_version
from ops.servers.kafka_server import metadata_answers
from ops.servers.local_servers import LocalKafka, LocalRedis, kafka_address, redis_address
from shared.basics.errors import InvalidInput, OperationFailed
from shared.runtimes.local_server import LocalServer
from shared.runtimes.poll import poll_until
from shared.runtimes.tcp_ports import free_port
from tests.support.child_processes import children, has_ended, runs

RUN = (
    "import sys\n"
    "from ops.servers import local_servers\n"
    "from ops.live.settings import live_settings\n"
    "sys.exit(getattr(local_servers, sys.argv[1])(live_settings()))\n"
)


def pid_of(server: LocalServer) -> int:
    assert server.pid is not None
    return server.pid


# --- Kafka --------------------------------------------------------------------------------------------------


def written(server: LocalKafka, topic: str) -> list[bytes | None]:
    """Return all values of the topic's only partition."""
    consumer = KafkaConsumer(bootstrap_servers=server.bootstrap, auto_offset_reset="earliest")
    try:
        place = TopicPartition(topic, 0)
        consumer.assign([place])
        end = consumer.end_offsets([place])[place]
        values: list[bytes | None] = []
        while len(values) < end:
            for records in consumer.poll(timeout_ms=200).values():
                values.extend(record.value for record in records)
        return values
    finally:
        consumer.close()


def write(server: LocalKafka, topic: str, values: list[bytes]) -> None:
    producer = KafkaProducer(bootstrap_servers=server.bootstrap)
    try:
        for sent in [producer.send(topic, value, partition=0) for value in values]:
            sent.get(20)
    finally:
        producer.close()


def test_kafka_keeps_all_confirmed_records_after_a_kill(kafka: LocalKafka) -> None:
    admin = KafkaAdminClient(bootstrap_servers=kafka.bootstrap)
    admin.create_topics([NewTopic("servers-kept", 1, 1)])
    admin.close()
    values = [f"value {n}".encode() for n in range(200)]
    write(kafka, "servers-kept", values[:150])
    before = pid_of(kafka)
    kafka.kill()
    assert not kafka.runs
    assert not kafka.answers()
    assert not runs(before)
    kafka.start()
    assert pid_of(kafka) != before
    write(kafka, "servers-kept", values[150:])
    assert written(kafka, "servers-kept") == values


def test_a_paused_kafka_continues_after_the_pause(kafka: LocalKafka) -> None:
    kafka.start()
    pid = pid_of(kafka)
    kafka.pause()
    try:
        # Its last answer may still be on the way. It stops when the signal has reached all its threads.
        assert poll_until(lambda: not kafka.answers(), 10), "it answers during the pause"
    finally:
        kafka.resume()
    kafka.wait_ready(20)
    assert pid_of(kafka) == pid


def test_kafka_has_single_node_settings_and_exits_with_its_parent(kafka: LocalKafka) -> None:
    kafka.start()
    lines = (kafka.folder / "server.properties").read_text().splitlines()
    settings = dict(line.split("=", 1) for line in lines)
    assert settings["advertised.listeners"] == f"PLAINTEXT://{kafka.bootstrap}"
    assert settings["broker.session.timeout.ms"] == "3000"
    assert settings["auto.create.topics.enable"] == "false"
    assert os.getpgid(pid_of(kafka)) == pid_of(kafka)
    assert kafka_version() == "4.3.1"


def test_a_port_in_use_is_a_usage_error_of_kafka(kafka: LocalKafka, tmp_path: Path) -> None:
    kafka.start()
    other = LocalKafka(tmp_path / "other", kafka.host, kafka.port)
    with pytest.raises(InvalidInput, match=rf"^Kafka cannot listen at {kafka.bootstrap}: another process"):
        other.start()
    other = LocalKafka(tmp_path / "other", kafka.host, free_port(), controller_port=kafka.port)
    with pytest.raises(InvalidInput, match=r"^Kafka's controller cannot listen at "):
        other.start()
    assert other.pid is None


def test_another_server_is_not_mistaken_for_a_broker(live_redis: LocalRedis) -> None:
    assert not metadata_answers(live_redis.host, live_redis.port)
    assert not metadata_answers("127.0.0.1", free_port())


# --- Redis --------------------------------------------------------------------------------------------------


def test_redis_keeps_all_confirmed_writes_after_a_kill(local_redis: LocalRedis) -> None:
    local_redis.start()
    for n in range(3):
        with redis.Redis.from_url(local_redis.url, decode_responses=True) as client:
            client.rpush("list", n)
            assert client.lrange("list", 0, -1) == [str(k) for k in range(n + 1)]
            assert client.config_get("appendfsync") == {"appendfsync": "everysec"}
        pid = pid_of(local_redis)
        local_redis.kill()
        assert not runs(pid)
        assert not local_redis.answers()
        local_redis.start()
        local_redis.start()


def test_a_suspended_redis_can_be_stopped(local_redis: LocalRedis) -> None:
    local_redis.start()
    local_redis.pause()
    assert not local_redis.answers()
    local_redis.stop()
    assert local_redis.wait_end() == 0
    assert local_redis.log_tail().endswith("Redis is now ready to exit, bye bye...")


def test_a_second_server_in_a_folder_is_refused(
    local_redis: LocalRedis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shared.runtimes.local_server.LOCK_S_MAX", 0.1)
    local_redis.start()
    other = LocalRedis(local_redis.folder, "127.0.0.1", free_port())
    with pytest.raises(OperationFailed, match=r"^Redis in .*/redis: another server runs in this folder; "):
        other.start()


def test_several_local_servers_run_at_the_same_time(local_redis: LocalRedis, live_redis: LocalRedis) -> None:
    local_redis.start()
    assert local_redis.url != live_redis.url
    with redis.Redis.from_url(local_redis.url) as first, redis.Redis.from_url(live_redis.url) as second:
        second.flushall()
        first.set("servers", "1")
        assert second.get("servers") is None


def test_damaged_data_is_an_error_that_quotes_the_local_server(local_redis: LocalRedis) -> None:
    local_redis.start()
    local_redis.kill()
    (file,) = (local_redis.folder / "appendonlydir").glob("*.incr.aof")
    file.write_bytes(b"this was never written by a server\r\n" * 10)
    with pytest.raises(OperationFailed, match=r"^Redis in .* did not start: .*Bad file format"):
        local_redis.start()


def test_an_unusable_folder_of_a_local_server_is_an_error_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    server = LocalRedis(tmp_path / "file" / "redis", "127.0.0.1", free_port())
    with pytest.raises(OperationFailed, match=r"^Redis in .*redis: Not a directory$"):
        server.start()


def test_an_address_of_another_machine_is_an_error_in_one_sentence(tmp_path: Path) -> None:
    server = LocalRedis(tmp_path, "192.0.2.1", free_port())
    with pytest.raises(InvalidInput, match=r"^Redis cannot listen at 192\.0\.2\.1:\d+: Cannot assign"):
        server.start()


# --- in the foreground --------------------------------------------------------------------------------------


STARTS_S_MAX = ENDS_S_MAX = 60.0


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return os.environ | {
        "LIGHTWAVE_DATA": str(tmp_path),
        "LIGHTWAVE_REDIS": f"redis://127.0.0.1:{free_port()}/0",
        "LIGHTWAVE_KAFKA": f"127.0.0.1:{free_port()}",
    }


def foreground(name: str, environment: dict[str, str]) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", RUN, name], env=environment, stderr=subprocess.PIPE, text=True
    )


@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGINT])
def test_redis_in_the_foreground_stops_in_an_orderly_way(
    environment: dict[str, str], sign: signal.Signals
) -> None:
    process = foreground("run_redis", environment)
    try:
        assert process.stderr is not None
        assert process.stderr.readline().startswith("Redis listens at 127.0.0.1:")
        with redis.Redis.from_url(environment["LIGHTWAVE_REDIS"]) as client:
            pid = int(client.info("server")["process_id"])
        process.send_signal(sign)
        assert process.wait(ENDS_S_MAX) == 0
        assert not runs(pid)
    finally:
        process.kill()
        process.communicate()


def test_a_server_in_the_foreground_waits_until_its_clients_disconnect(environment: dict[str, str]) -> None:
    process = foreground("run_redis", environment)
    try:
        assert process.stderr is not None
        process.stderr.readline()
        with redis.Redis.from_url(environment["LIGHTWAVE_REDIS"], socket_timeout=5) as client:
            client.set("a", "1")
            process.terminate()
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(1)
            assert client.get("a") == b"1"
        assert process.wait(ENDS_S_MAX) == 0
    finally:
        process.kill()
        process.communicate()


def test_a_server_exits_when_its_parent_dies(environment: dict[str, str]) -> None:
    process = foreground("run_redis", environment)
    try:
        assert process.stderr is not None
        assert process.stderr.readline().startswith("Redis listens")
        with redis.Redis.from_url(environment["LIGHTWAVE_REDIS"]) as client:
            pid = int(client.info("server")["process_id"])
        process.kill()
        process.wait()
        assert has_ended(pid)
    finally:
        process.kill()
        process.communicate()


def test_an_unexpected_exit_of_a_server_is_reported(environment: dict[str, str]) -> None:
    process = foreground("run_redis", environment)
    try:
        assert process.stderr is not None
        process.stderr.readline()
        with redis.Redis.from_url(environment["LIGHTWAVE_REDIS"]) as client:
            os.kill(int(client.info("server")["process_id"]), signal.SIGKILL)
        _, stderr = process.communicate(timeout=60)
        assert process.returncode == 1
        assert "OperationFailed: Redis in " in stderr
        assert "exited with code -9" in stderr
    finally:
        process.kill()
        process.communicate()


def test_kafka_in_the_foreground_can_be_stopped_while_it_starts(environment: dict[str, str]) -> None:
    process = foreground("run_kafka", environment)
    try:
        assert poll_until(lambda: children(process.pid), STARTS_S_MAX), "it started no process"
        process.terminate()
        assert process.wait(ENDS_S_MAX) == 0
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("text", ["kafka", ":9092", "a:9092,b:9092", "a:b"])
def test_brokers_that_cannot_be_a_local_kafka_are_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"^LIGHTWAVE_KAFKA: .*; must be one HOST:PORT$"):
        kafka_address(LiveSettings(kafka=text))


@pytest.mark.parametrize("url", ["unix:///tmp/a.sock", "rediss://a:1/0", "redis://:secret@a:1/0"])
def test_a_url_that_cannot_be_a_local_redis_is_refused_without_showing_its_password(url: str) -> None:
    with pytest.raises(InvalidInput, match=r"^LIGHTWAVE_REDIS: .*; must be redis://HOST:PORT/") as caught:
        redis_address(LiveSettings(redis=url))
    assert "secret" not in str(caught.value)


def test_addresses_are_read_from_the_settings() -> None:
    assert kafka_address(LiveSettings(kafka="[::1]:9")) == ("::1", 9)
    assert redis_address(LiveSettings(redis="redis://127.0.0.1:7/3")) == ("127.0.0.1", 7)
    assert redis_address(LiveSettings(redis="redis://localhost")) == ("localhost", 6379)


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "a"])  # noqa: S104 -- is refused
def test_a_local_server_is_reachable_only_from_this_machine(host: str) -> None:
    sentence = f"{host} is not allowed for a local server, which requires no password; must be 127.0.0.1"
    with pytest.raises(InvalidInput, match=f"^LIGHTWAVE_KAFKA: {sentence}"):
        kafka_address(LiveSettings(kafka=f"{host}:9092"))
    with pytest.raises(InvalidInput, match=f"^LIGHTWAVE_REDIS: {sentence}"):
        redis_address(LiveSettings(redis=f"redis://{host}"))


def test_a_local_kafka_takes_no_logins() -> None:
    with pytest.raises(
        InvalidInput, match=r"^LIGHTWAVE_KAFKA_SECURITY_PROTOCOL: SSL is not .*; must be PLAINTEXT$"
    ):
        kafka_address(LiveSettings(kafka_security_protocol="SSL"))


# --- required programs -------------------------------------------------------------------------------------


def test_a_missing_program_is_named_with_its_debian_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.delenv(LIBS, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(OperationFailed, match=r"apt-get install redis-server$"):
        LocalRedis(tmp_path / "redis", "127.0.0.1", free_port()).start()
    with pytest.raises(OperationFailed, match=r"apt-get install default-jre-headless$"):
        LocalKafka(tmp_path / "kafka", "127.0.0.1", free_port()).start()
    with pytest.raises(OperationFailed, match=r"apt-get install maven$"):
        kafka_libs()


def program(folder: Path, name: str, text: str) -> None:
    file = folder / name
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(file.stat().st_mode | stat.S_IXUSR)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("echo 'openjdk version \"11.0.2\" 2019-01-15' >&2", "Java 11 cannot run Kafka"),
        ("echo 'java version \"1.8.0_292\"' >&2", "Java 1 cannot run Kafka"),
        ("echo no runtime >&2; exit 1", "Java of an unknown version (no runtime) cannot run Kafka"),
    ],
)
def test_a_java_that_is_too_old_is_an_error_in_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, sentence: str
) -> None:
    (tmp_path / "bin").mkdir()
    program(tmp_path / "bin", "java", text)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(OperationFailed, match=rf"^{re.escape(sentence)}; must be 17 or later, on Debian: "):
        java()


@pytest.fixture
def fake_maven(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder that is first on the PATH; the cache is empty."""
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv(LIBS, raising=False)
    return tmp_path / "bin"


FETCH = 'for word; do case "$word" in -DoutputDirectory=*) out="${word#*=}";; esac; done; mkdir -p "$out"\n'


def test_partly_downloaded_jars_are_never_used(
    fake_maven: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    empty = hashlib.sha256(b"").hexdigest()
    monkeypatch.setattr(jar_checksums, "read_checksums", lambda: {"b.jar": empty})
    program(fake_maven, "mvn", FETCH + 'touch "$out/a.jar"; echo "[ERROR] no way to b.jar"; exit 1')
    with pytest.raises(OperationFailed, match=r"^Maven could not fetch Kafka: \[ERROR\] no way to b\.jar$"):
        kafka_libs()
    assert not (cache() / f"kafka-{kafka_version()}").exists()
    program(fake_maven, "mvn", FETCH + 'touch "$out/b.jar"')
    assert [jar.name for jar in kafka_libs().iterdir()] == ["b.jar"]
    program(fake_maven, "mvn", "exit 1")
    assert kafka_libs() == cache() / f"kafka-{kafka_version()}"
    assert capfd.readouterr().err.count("fetching Kafka 4.3.1 with Maven into ") == 2


def test_a_download_that_hangs_times_out(fake_maven: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kafka_jars, "FETCH_S_MAX", 0.2)
    program(fake_maven, "mvn", "exec sleep 60")
    with pytest.raises(OperationFailed, match=r"^Maven did not fetch Kafka within 0 s$"):
        kafka_libs()


def test_other_jars_can_be_configured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LIBS, str(tmp_path))
    with pytest.raises(InvalidInput, match=rf"^{LIBS}: {tmp_path} holds no Kafka; must be "):
        kafka_libs()
    (tmp_path / "kafka_2.13-9.9.9.jar").write_text("")
    assert kafka_libs() == tmp_path


def test_a_free_port_is_outside_the_ephemeral_range() -> None:
    first, last = map(int, Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split())
    ports = {free_port() for _ in range(20)}
    assert len(ports) > 1
    assert all(not first <= port <= last for port in ports)
    with socket.socket() as other:
        other.bind(("127.0.0.1", free_port()))
    assert shutil.which("redis-server") is not None
