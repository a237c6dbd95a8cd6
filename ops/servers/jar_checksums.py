"""SHA-256 of Kafka's jars: those that Maven fetched must be the ones that this version was tested with.

`ops/deploy/kafka-jars.sha256` has a line for each, in the format of `sha256sum`.
"""

import hashlib
from collections.abc import Mapping
from pathlib import Path

from shared.basics.errors import OperationFailed
from shared.storage.files.own_files import open_own, read_own

CHECKSUMS = Path(__file__).parents[1] / "deploy" / "kafka-jars.sha256"
CHUNK_BYTES = 1 << 20


def read_checksums(path: Path = CHECKSUMS) -> dict[str, str]:
    """Jar → its SHA-256 as 64 hexadecimal digits."""
    rows = (line.split() for line in read_own(path).decode("ascii").splitlines())
    return {name: digest for digest, name in rows}


def jar_checksums(folder: Path) -> dict[str, str]:
    """The same of the jars in a folder, in order of their names."""
    return {path.name: _sha256(path) for path in sorted(folder.glob("*.jar"))}


def checksums_text(found: Mapping[str, str]) -> str:
    """The file for these jars."""
    return "".join(f"{digest}  {name}\n" for name, digest in sorted(found.items()))


def check_jars(folder: Path, wanted: Mapping[str, str] | None = None) -> None:
    """OperationFailed if a jar is missing, differs or is not among the `wanted` ones (those of this
    version)."""
    wanted = read_checksums() if wanted is None else wanted
    found = jar_checksums(folder)
    for name in sorted(wanted.keys() | found.keys()):
        if name not in wanted:
            raise OperationFailed(f"Maven fetched {name}, which this Kafka does not need; it was deleted")
        if name not in found:
            raise OperationFailed(f"Maven did not fetch {name}, which Kafka needs")
        if found[name] != wanted[name]:
            raise OperationFailed(
                f"{name}: its SHA-256 is {found[name]}, must be {wanted[name]} ({CHECKSUMS.name})"
            )


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with open_own(path, "rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()
