"""A snapshot: all states of a site at a quiet point, and its encoding.

A line of JSON has the digest of the rest, which is compressed. The rest is a JSON header with the names and
lengths of all stored fields, and then those fields one after the other.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

import orjson
import zstandard

from shared.basics.errors import SnapshotRefused, UpgradeNeeded
from shared.engine.code_version import RULES, StateCodeVersion
from shared.engine.site import ServicesOf, Site
from shared.engine.state_codec import encode_instance, restore_instance, state_digest
from shared.engine.state_layout import state_layouts
from shared.engine.upgrade_refusals import begins, begun_instance, migrate_fields, services_to_migrate
from shared.storage.files.compression import decompress_bounded

HEAD_FIELDS = ("site", "position", "last_sha256", "at_us", "software", "rules", "layouts", "kinds", "offset")
"""Fields of a snapshot other than its states."""
SNAPSHOT_FORMAT = 3
"""Version of the encoding."""
LEVEL = 3
"""Compression level: ten times smaller in 2 ms for a pod."""
SNAPSHOT_BYTES_MAX = 1 << 28
"""Size limit in bytes; a pod needs less than a hundredth."""
LENGTH_BYTES = 8

States = Mapping[tuple[str, str], Mapping[str, bytes]]
"""(service, fabric) → its stored fields."""


@dataclass(frozen=True, slots=True)
class SiteSnapshot:
    """The states of a site when it had read the first `position` messages of its log and had nothing left to
    emit."""

    site: str
    position: int
    last_sha256: str
    """SHA-256 of the last of those lines; tells whether a log is the one that was folded."""
    at_us: int
    """The simulated time at that position."""
    software: str
    """The build that folded the log."""
    kinds: Mapping[str, str]
    """Fabric → its kind."""
    states: States
    offset: int | None = None
    """The Kafka offset at which the log continues; None without Kafka."""
    rules: int = RULES
    """The number of the build's rules."""
    layouts: Mapping[str, str] = field(default_factory=dict)
    """Service → the layout in which its states are stored."""

    @property
    def code(self) -> StateCodeVersion:
        """The code that made it."""
        return StateCodeVersion(self.rules, self.layouts, self.software)

    @property
    def digest(self) -> str:
        """SHA-256 over every stored field of every state."""
        return state_digest(
            (f"{service}@{fabric}", stored) for (service, fabric), stored in self.states.items()
        )

    def check_code(self, services_of: ServicesOf) -> None:
        """SnapshotRefused if it was made by other rules than this code's, or stored in a layout that cannot
        be migrated."""
        services = [service for kind in set(self.kinds.values()) for service in services_of(kind)]
        what = f"snapshot at position {self.position}: its states are of {self.software}"
        if self.rules != RULES:
            raise SnapshotRefused(f"{what} of rules {self.rules}; must be rules {RULES}")
        try:
            services_to_migrate(self.layouts, services)
        except UpgradeNeeded as error:
            raise SnapshotRefused(f"{what}: {error}") from None

    def restored(self, services_of: ServicesOf) -> Site:
        """The site. SnapshotRefused if this code cannot continue with its states, LogDamaged if a field is
        missing or unreadable."""
        self.check_code(services_of)
        return self.migrated_site(services_of)

    def migrated_site(self, services_of: ServicesOf) -> Site:
        """The site as this code continues it, whatever its rules; migrates states of other layouts.
        UpgradeNeeded if that is impossible, LogDamaged if a field is missing or unreadable."""
        instances = []
        for fabric, kind in self.kinds.items():
            new, here = [], []
            for service in services_of(kind):
                if begins(service, self.layouts):
                    new.append(service)
                    continue
                stored = self.states.get((service.name, fabric), {})
                own = migrate_fields(service, self.layouts.get(service.name), stored)
                here.append(restore_instance(service, fabric, own))
            instances += [*here, *(begun_instance(service, fabric, here) for service in new)]
        return Site(self.site, services_of, instances)


def take_snapshot(
    site: Site,
    position: int,
    last_line: bytes,
    *,
    software: str,
    kinds: Mapping[str, str],
    offset: int | None = None,
) -> SiteSnapshot:
    """A snapshot of a quiet site; `last_line` is the last line that it read."""
    states = {(instance.name, instance.fabric): encode_instance(instance) for instance in site.instances}
    last_sha256 = sha256(last_line).hexdigest()
    return SiteSnapshot(
        site.name,
        position,
        last_sha256,
        site.now_us,
        software,
        dict(kinds),
        states,
        offset,
        layouts=state_layouts(instance.service for instance in site.instances),
    )


def to_bytes(snapshot: SiteSnapshot) -> bytes:
    """The encoding for a file."""
    head = {name: getattr(snapshot, name) for name in HEAD_FIELDS} | {
        "fields": [
            [service, fabric, [[field, len(value)] for field, value in stored.items()]]
            for (service, fabric), stored in snapshot.states.items()
        ],
    }
    header = orjson.dumps(head)
    values = [value for stored in snapshot.states.values() for value in stored.values()]
    rest = zstandard.ZstdCompressor(level=LEVEL).compress(
        b"".join([len(header).to_bytes(LENGTH_BYTES), header, *values])
    )
    return orjson.dumps({"format": SNAPSHOT_FORMAT, "sha256": sha256(rest).hexdigest()}) + b"\n" + rest


def from_bytes(data: bytes) -> SiteSnapshot:
    """Decode a snapshot; SnapshotRefused if the bytes are not a valid snapshot."""
    try:
        line, _, rest = data.partition(b"\n")
        first = orjson.loads(line)
        file_format, digest = first["format"], first["sha256"]
        if file_format != SNAPSHOT_FORMAT:
            raise SnapshotRefused(f"format {file_format!r} is not supported; must be {SNAPSHOT_FORMAT}")
        if sha256(rest).hexdigest() != digest:
            raise SnapshotRefused("content changed since it was written: its digest differs")
        body = decompress_bounded(rest, SNAPSHOT_BYTES_MAX)
        at = LENGTH_BYTES + int.from_bytes(body[:LENGTH_BYTES])
        head = orjson.loads(body[LENGTH_BYTES:at])
        states = dict(_states_in(head["fields"], body, at))
        return SiteSnapshot(**{name: head[name] for name in HEAD_FIELDS}, states=states)
    except (KeyError, TypeError, ValueError, zstandard.ZstdError) as error:
        raise SnapshotRefused(f"is not a valid snapshot ({type(error).__name__}: {error})") from None


def _states_in(fields: list[Any], body: bytes, at: int) -> Iterator[tuple[tuple[str, str], dict[str, bytes]]]:
    """(service, fabric) and stored fields, which are in `body` one after the other from `at` on."""
    for service, fabric, listed in fields:
        stored: dict[str, bytes] = {}
        for name, length in listed:
            stored[name] = body[at : at + length]
            at += length
        yield (service, fabric), stored
