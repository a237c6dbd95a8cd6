"""Digests of what a twin keeps in its store: they show whether anything else has changed it.

A digest of many named values is a sum modulo 2^128: the hash of each name and value, added up. The sum does
not depend on the order. A commit updates it from the values that it writes and removes. The hashes are
SHA-256, which many processors compute themselves, cut to 128 bits. Their key belongs to one twin. With a
secret that the store never receives, a writer of the store cannot compute them either.

`shared/storage/store/sealed_commits.py` adds digests to commits, and checks them when a process loads states.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from shared.engine.message_order import ServiceProgress
from shared.storage.store.fabric_registry import FabricRegistration
from shared.storage.store.state_store import OutboxEntry

DIGEST_BYTES = 16
SECRET_BYTES_MAX = 64
"""BLAKE2b accepts keys of up to this length; longer secrets are hashed first."""
BLOCK_BYTES = 64
"""The key fills a block of SHA-256, which is hashed once for each place."""
NO_SOFTWARE = "-"
MODULUS = 1 << (8 * DIGEST_BYTES)
HEX = f"0{2 * DIGEST_BYTES}x"
EMBEDDED_ADVICE = "`lightwave up` rebuilds it from the log at its next start"
LIVE_ADVICE = "`lightwave live rebuild` rebuilds it from the log"


class Hash(Protocol):
    """A hash that is being computed."""

    def copy(self) -> "Hash": ...
    def update(self, content: bytes, /) -> None: ...
    def digest(self) -> bytes: ...


class StateDigests:
    """Computes the digests of one twin.

    `twin` and `secret` make the key; without a secret, digests find accidents and single writes only.
    `advice` ends the sentences about changed states.
    """

    def __init__(self, twin: str, secret: bytes = b"", *, advice: str = EMBEDDED_ADVICE) -> None:
        key = secret if len(secret) <= SECRET_BYTES_MAX else hashlib.blake2b(secret).digest()
        self._key = hashlib.blake2b(twin.encode(), key=key, digest_size=BLOCK_BYTES).digest()
        self.advice = advice

    def keyed(self, *place: str) -> Hash:
        """A hash that has the twin's key and a place, ready for a name and a value."""
        text = "".join(f"{len(part)}:{part}" for part in place)
        return hashlib.sha256(self._key + text.encode())

    def number(self, text: str) -> int:
        """The hash of a text, as a number."""
        hashed = hashlib.sha256(self._key + text.encode())
        return int.from_bytes(hashed.digest()[:DIGEST_BYTES], "little")

    def entry(self, entry: OutboxEntry) -> int:
        """The hash of an outbox entry: its place, kind, source and line."""
        place = map(str, entry.place)
        return term(self.keyed("outbox", *place, entry.kind, entry.source), "", entry.line)

    def seal(self, partition: int, service: str, position: int, lines: int) -> str:
        """The last digest of a service in a partition. It binds its position and the sum of its lines."""
        return format(self.number(f"seal {partition} {service} {position} {lines}"), HEX)

    def value(self, partition: int, name: str, text: str) -> str:
        """The digest of one value of a partition: of a fabric's registration, or of what is recorded about
        the code."""
        return format(term(self.keyed("value", str(partition), name), "", text.encode()), HEX)

    def line(self, row: ServiceProgress, registration: FabricRegistration | None, sums: str) -> int:
        """The hash of what the store's head has of a service in a fabric: site, kind, progress and sums."""
        site, kind = ("", "") if registration is None else (registration.site, registration.kind)
        progress = f"{row.due_us} {row.ticks} {row.now_us} {row.ticked_us}"
        return self.number(f"line {row.name} {row.fabric} {site} {kind} {progress} {sums}")

    @property
    def fingerprint(self) -> str:
        """Identifies the key, without revealing it."""
        return format(self.number("fingerprint"), HEX)

    def trimmed(self, partition: int, total: int) -> str:
        """The sum of the outbox entries that the sequencer removed, with a hash that only this twin can
        compute."""
        return f"{total:{HEX}} {self.number(f'trimmed {partition} {total}'):{HEX}}"


def term(base: Hash, name: str, value: bytes) -> int:
    """The hash of one named value."""
    hashed, head = base.copy(), name.encode()
    hashed.update(b"%d:%b" % (len(head), head))
    hashed.update(value)
    return int.from_bytes(hashed.digest()[:DIGEST_BYTES], "little")


class TrackedSum:
    """The sum over the named values of one place. It remembers 16 bytes per value, so that a write or a
    removal costs one hash at most."""

    __slots__ = ("_base", "terms", "total")

    def __init__(self, base: Hash, terms: dict[str, int] | None = None, total: int = 0) -> None:
        self._base = base
        self.terms = {} if terms is None else terms
        self.total = total

    def change(self, written: Mapping[str, bytes], removed: Iterable[str]) -> None:
        """Add values, in place of older ones of the same names, and remove some."""
        total, terms, base = self.total, self.terms, self._base
        for name in removed:
            total -= terms.pop(name, 0)
        for name, value in written.items():
            new = term(base, name, value)
            total += new - terms.get(name, 0)
            terms[name] = new
        self.total = total % MODULUS


def sum_of(base: Hash, values: Mapping[str, bytes]) -> TrackedSum:
    """The sum over some values."""
    terms = {name: term(base, name, value) for name, value in values.items()}
    return TrackedSum(base, terms, sum(terms.values()) % MODULUS)


@dataclass(slots=True)
class ServiceSums:
    """The sums of one service in one fabric, as the store's head has them: its state, the outbox entries that
    it ever added, the build that wrote its documents, and their number by kind."""

    state: int = 0
    emitted: int = 0
    software: str = ""
    documents: dict[str, int] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The encoding in a store."""
        kinds = (f"{kind}={count}" for kind, count in sorted(self.documents.items()))
        software = self.software or NO_SOFTWARE
        return " ".join([format(self.state, HEX), format(self.emitted, HEX), software, *kinds])


def parse_sums(text: str) -> ServiceSums:
    """The sums in a store's head; ValueError if it holds anything else."""
    state, emitted, software, *kinds = text.split(" ")
    pairs = (kind.rpartition("=") for kind in kinds)
    counts = {kind: int(count) for kind, _, count in pairs}
    return ServiceSums(int(state, 16), int(emitted, 16), "" if software == NO_SOFTWARE else software, counts)


def outbox_total(digests: StateDigests, entries: Iterable[OutboxEntry]) -> int:
    """The sum over some outbox entries."""
    return sum(map(digests.entry, entries)) % MODULUS
