"""Kafka's jars: Maven fetches them once into the user's cache, which all checkouts share.

Only jars whose SHA-256 is known get there (`jar_checksums.py`)."""

import fcntl
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from xml.etree import ElementTree as ET

from ops.local.user_folders import user_folder
from ops.servers.jar_checksums import check_jars
from shared.basics.errors import InvalidInput, OperationFailed
from shared.storage.files.own_files import open_own

LIBS = "LIGHTWAVE_KAFKA_LIBS"
"""Variable that names a folder of jars to use instead."""
DEPLOY = Path(__file__).parents[1] / "deploy"
POM = DEPLOY / "pom.xml"
JAVA_MIN = 17
FETCH_S_MAX = 600.0


def kafka_version() -> str:
    """The version that `pom.xml` names."""
    properties = ET.parse(POM).getroot().find("{*}properties")  # noqa: S314 -- our own file
    version = None if properties is None else properties.findtext("{*}kafka.version")
    if version is None:
        raise OperationFailed(f"{POM}: has no property kafka.version; install Lightwave Twin again")
    return version


def kafka_libs() -> Path:
    """The complete folder of jars; fetches it if it is missing. Raises OperationFailed if that fails."""
    if given := os.environ.get(LIBS):
        if not any(Path(given).glob("kafka_*.jar")):
            raise InvalidInput(f"{LIBS}: {given} holds no Kafka; must be a folder with Kafka's jars")
        return Path(given)
    libs = cache() / f"kafka-{kafka_version()}"
    if not libs.is_dir():
        with _fetch_lock(libs):
            if not libs.is_dir():  # another process may have fetched them meanwhile
                _fetch(libs)
    return libs


def cache() -> Path:
    """`lightwave` in the user's cache directory (XDG)."""
    return user_folder("cache", "lightwave")


def java() -> str:
    """The Java to run; raises OperationFailed if there is none or it is too old."""
    home = os.environ.get("JAVA_HOME")
    command = str(Path(home) / "bin" / "java") if home else "java"
    try:
        answer = subprocess.run([command, "-version"], capture_output=True, text=True, check=False)  # noqa: S603 -- no shell
    except OSError:
        raise OperationFailed(
            "Java is not installed; on Debian: apt-get install default-jre-headless"
        ) from None
    found = re.search(r'version "(\d+)', answer.stderr)
    if answer.returncode or found is None or int(found[1]) < JAVA_MIN:
        version = found[1] if found else f"of an unknown version ({answer.stderr.strip()})"
        raise OperationFailed(
            f"Java {version} cannot run Kafka; must be {JAVA_MIN} or later, on Debian: "
            "apt-get install default-jre-headless"
        )
    return command


@contextmanager
def _fetch_lock(libs: Path) -> Iterator[None]:
    """Lock: one process fetches the jars, others wait."""
    try:
        libs.parent.mkdir(parents=True, exist_ok=True)
        with open_own(libs.with_name(f"{libs.name}.lock"), "wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
    except OSError as error:
        raise OperationFailed(f"folder {libs.parent}: {error.strerror or error}") from None


def _fetch(libs: Path) -> None:
    """Fetch into a temporary folder, and rename it when it is complete. The caller holds the lock."""
    maven = shutil.which("mvn")
    if maven is None:
        raise OperationFailed("Maven fetches Kafka and is not installed; on Debian: apt-get install maven")
    java()
    sys.stderr.write(f"fetching Kafka {kafka_version()} with Maven into {libs}\n")
    part = libs.with_name(f"{libs.name}.part")
    shutil.rmtree(part, ignore_errors=True)  # remains of an interrupted download
    goal = ["dependency:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={part}"]
    command = [maven, "--quiet", "--batch-mode", "--strict-checksums", "--file", str(POM), *goal]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=FETCH_S_MAX, check=False)  # noqa: S603 -- no shell
    except subprocess.TimeoutExpired:
        raise OperationFailed(f"Maven did not fetch Kafka within {FETCH_S_MAX:.0f} s") from None
    if answer.returncode:
        lines = [line for line in answer.stdout.splitlines() if line.startswith("[ERROR]")]
        raise OperationFailed(f"Maven could not fetch Kafka: {lines[0] if lines else answer.stderr.strip()}")
    try:
        check_jars(part)
    except OperationFailed:
        shutil.rmtree(part, ignore_errors=True)
        raise
    part.rename(libs)
