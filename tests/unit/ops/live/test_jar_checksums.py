"""Only Kafka's jars with a known SHA-256 are used."""

import hashlib
from pathlib import Path

import pytest

from ops.servers.jar_checksums import check_jars, checksums_text, jar_checksums, read_checksums
from ops.servers.kafka_jars import kafka_version
from shared.basics.errors import OperationFailed

JARS = {"kafka_2.13-1.jar": b"broker", "log4j-core-1.jar": b"log"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, content in JARS.items():
        (tmp_path / name).write_bytes(content)
    return tmp_path


@pytest.fixture
def wanted() -> dict[str, str]:
    return {name: hashlib.sha256(content).hexdigest() for name, content in JARS.items()}


def test_the_jars_of_this_version_have_checksums() -> None:
    found = read_checksums()
    assert f"kafka_2.13-{kafka_version()}.jar" in found
    assert all(len(digest) == 64 and int(digest, 16) for digest in found.values())


def test_the_right_jars_are_taken(folder: Path, wanted: dict[str, str], tmp_path: Path) -> None:
    check_jars(folder, wanted)
    assert jar_checksums(folder) == wanted
    file = tmp_path / "jars.sha256"
    file.write_text(checksums_text(wanted))
    assert read_checksums(file) == wanted


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("log4j-core-1.jar", b"other", r"^log4j-core-1\.jar: its SHA-256 is \w{64}, must be \w{64} \("),
        ("log4j-core-1.jar", None, r"^Maven did not fetch log4j-core-1\.jar, which Kafka needs$"),
        ("more.jar", b"more", r"^Maven fetched more\.jar, which this Kafka does not need; it was deleted$"),
    ],
)
def test_any_other_jar_is_refused(
    folder: Path, wanted: dict[str, str], name: str, content: bytes | None, sentence: str
) -> None:
    if content is None:
        (folder / name).unlink()
    else:
        (folder / name).write_bytes(content)
    with pytest.raises(OperationFailed, match=sentence):
        check_jars(folder, wanted)
