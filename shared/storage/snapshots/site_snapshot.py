"""One snapshot: all states of a site at a quiet moment, and its form as bytes.

A line of JSON has the digest of the rest, which is compressed: as JSON what it is of, with the names and
lengths of all stored fields, and then those fields one after the other.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

import orjson
import zstandard

from shared.basics.errors import SnapshotRefused, UpgradeNeeded
from shared.engine.compatibility import RULES, StateCodeVersion, state_layouts
from shared.engine.migrations import migrate_fields, services_to_migrate
from shared.engine.site import ServicesOf, Site
from shared.engine.state_codec import encode_instance, restore_instance, state_digest
from shared.storage.files.compression import decompress_bounded

HEAD_FIELDS = ("site", "position", "last_sha256", "at_us", "software", "rules", "forms", "kinds", "offset")
"""What is told of a snapshot beside its states."""
FORM = 3
"""Of the bytes; a snapshot of another form is of another version."""
LEVEL = 3
"""Of the compression: ten times smaller in 2 ms for a pod."""
SNAPSHOT_BYTES_MAX = 1 << 28
"""Bytes of all together, beyond which it is none: of a pod it is less than a hundredth."""
LENGTH_BYTES = 8

States = Mapping[tuple[str, str], Mapping[str, bytes]]
"""(service, fabric) → its stored fields."""


@dataclass(frozen=True, slots=True)
class SiteSnapshot:
    """What a site held when it had read the first `position` messages of its log and nothing was left to say.

    `last_sha256` is that of the last of their lines: it tells whether a log is the one that was folded.
    `at_us` is the simulated time of that moment, `software` the build that folded the log, `rules` the number
    of its rules, `forms` how it stores the states of each service. `kinds` has the kind of every fabric.
    `offset` is where on its partition of Kafka the log goes on, None of a log that is
    on none.
    """

    site: str
    position: int
    last_sha256: str
    at_us: int
    software: str
    kinds: Mapping[str, str]
    states: States
    offset: int | None = None
    rules: int = RULES
    forms: Mapping[str, str] = field(default_factory=dict)

    @property
    def code(self) -> StateCodeVersion:
        """Which code made it."""
        return StateCodeVersion(self.rules, self.forms, self.software)

    @property
    def digest(self) -> str:
        """SHA-256 over every stored field of every state."""
        return state_digest((f"{service}@{fabric}", held) for (service, fabric), held in self.states.items())

    def check_code(self, services_of: ServicesOf) -> None:
        """SnapshotRefused where it was made by other rules than this code's, or stored in a form that cannot
        be brought into this code's."""
        services = [service for kind in set(self.kinds.values()) for service in services_of(kind)]
        what = f"snapshot of position {self.position}: its states are of {self.software}"
        if self.rules != RULES:
            raise SnapshotRefused(f"{what} of rules {self.rules}; allowed is {RULES}")
        try:
            services_to_migrate(self.forms, services)
        except UpgradeNeeded as error:
            raise SnapshotRefused(f"{what}: {error}") from None

    def restored(self, services_of: ServicesOf) -> Site:
        """The site as it was; SnapshotRefused where this code cannot go on with its states, LogDamaged where
        a field is missing or unreadable."""
        self.check_code(services_of)
        return self.migrated_site(services_of)

    def migrated_site(self, services_of: ServicesOf) -> Site:
        """The site with which this code would go on, by whatever rules it was made: states of other forms are
        migrated. UpgradeNeeded where they cannot be, LogDamaged where a field is missing or unreadable."""
        instances = []
        for fabric, kind in self.kinds.items():
            for service in services_of(kind):
                stored = self.states.get((service.name, fabric), {})
                own = migrate_fields(service, self.forms.get(service.name), stored)
                instances.append(restore_instance(service, fabric, own))
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
    """A site's snapshot, of a moment at which it is quiet; `last_line` is that which it read last."""
    states = {(one.name, one.fabric): encode_instance(one) for one in site.instances}
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
        forms=state_layouts(instance.service for instance in site.instances),
    )


def to_bytes(snapshot: SiteSnapshot) -> bytes:
    """As it is kept in a file."""
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
    return orjson.dumps({"form": FORM, "sha256": sha256(rest).hexdigest()}) + b"\n" + rest


def from_bytes(data: bytes) -> SiteSnapshot:
    """The snapshot in these bytes; SnapshotRefused where they are none, or not as they were written."""
    try:
        line, _, rest = data.partition(b"\n")
        first = orjson.loads(line)
        form, digest = first["form"], first["sha256"]
        if form != FORM:
            raise SnapshotRefused(f"is of form {form!r}; allowed is {FORM}")
        if sha256(rest).hexdigest() != digest:
            raise SnapshotRefused("is not as it was written: its digest is another one")
        body = decompress_bounded(rest, SNAPSHOT_BYTES_MAX)
        at = LENGTH_BYTES + int.from_bytes(body[:LENGTH_BYTES])
        head = orjson.loads(body[LENGTH_BYTES:at])
        states = dict(_states_in(head["fields"], body, at))
        return SiteSnapshot(**{name: head[name] for name in HEAD_FIELDS}, states=states)
    except (KeyError, TypeError, ValueError, zstandard.ZstdError) as error:
        raise SnapshotRefused(f"is no snapshot ({type(error).__name__}: {error})") from None


def _states_in(fields: list[Any], body: bytes, at: int) -> Iterator[tuple[tuple[str, str], dict[str, bytes]]]:
    """(service, fabric) and stored fields, which lie in `body` one after the other from `at` on."""
    for service, fabric, listed in fields:
        stored: dict[str, bytes] = {}
        for name, length in listed:
            stored[name] = body[at : at + length]
            at += length
        yield (service, fabric), stored
