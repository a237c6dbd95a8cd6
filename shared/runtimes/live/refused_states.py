"""States of a live twin that were changed outside of it: notes in Redis, and the check of a whole partition.

A worker that refuses a state notes it and exits. A sequencer reads the notes, and starts a rebuild from the
log.
"""

from dataclasses import dataclass
from typing import Protocol

from shared.basics.errors import OperationFailed, StateRefused
from shared.basics.units import US_PER_S
from shared.storage.store.sealed_commits import SealedCommits, check_outbox, check_seals
from shared.storage.store.state_digests import StateDigests
from shared.storage.store.state_store import GlobalNotes, StateStore


class RefusalStore(StateStore, GlobalNotes, Protocol):
    """A store of states and notes."""


NOTE = "refused"
REBUILT_PREFIX = "rebuilt:"
REBUILT_SHOWN_S = 24 * 3_600
"""How long a finished rebuild is shown, in wall seconds."""
READS_MAX = 10


@dataclass(frozen=True, slots=True)
class Refusal:
    """What was refused in a partition, in one sentence, when the partition had this generation."""

    generation: int
    sentence: str


def readable_generation(store: StateStore, partition: int) -> int:
    """The generation of a partition; 0 if its head cannot be read, which a rebuild replaces by a higher
    one."""
    try:
        return store.snapshot(partition, []).generation
    except StateRefused:
        return 0


def note_refusal(store: RefusalStore, partition: int, sentence: str) -> None:
    """Note that something of a partition was refused."""
    generation = readable_generation(store, partition)
    store.set_globals(NOTE, {str(partition): f"{generation} {sentence}"})


def open_refusals(store: GlobalNotes) -> dict[int, Refusal]:
    """Partition → what was refused there and is not rebuilt yet."""
    found = {}
    for name, text in sorted(store.read_globals(NOTE).items()):
        generation, _, sentence = text.partition(" ")
        if name.isdecimal() and generation.isdecimal():
            found[int(name)] = Refusal(int(generation), sentence)
    return found


def close_refusal(store: GlobalNotes, partition: int, *, rebuilt: bool) -> None:
    """Forget what was refused in a partition, because its states were replaced; `rebuilt` shows it as a
    note."""
    refusal = open_refusals(store).get(partition)
    if refusal is not None:
        text = f"{store.wall_us()} {refusal.sentence}"
        done = {f"{REBUILT_PREFIX}{partition}": text} if rebuilt else {}
        store.set_globals(NOTE, {str(partition): None, **done})


def rebuilt_notes(store: GlobalNotes) -> list[str]:
    """A sentence for each partition that was rebuilt lately because something of it was refused."""
    found = []
    since_us = store.wall_us() - REBUILT_SHOWN_S * US_PER_S
    for name, text in sorted(store.read_globals(NOTE).items()):
        wall, _, sentence = text.partition(" ")
        if name.startswith(REBUILT_PREFIX) and wall.isdecimal() and int(wall) >= since_us:
            found.append(f"{sentence.partition(';')[0]}; its states were rebuilt from the log")
    return found


def check_partition(store: StateStore, digests: StateDigests, partition: int) -> None:
    """Check all states and outbox entries of a partition, and how many documents it has. StateRefused names
    what was changed."""
    names = sorted(store.snapshot(partition, []).sums)
    for _ in range(READS_MAX):
        snapshot = store.snapshot(partition, names, whole=True)
        if sorted(snapshot.sums) == names:
            break
        names = sorted(snapshot.sums)  # a fabric was commissioned in between
    else:
        raise OperationFailed(f"partition {partition}: its fabrics change faster than they can be read")
    SealedCommits(digests, partition).load(snapshot, {service for service, _ in names})
    sums = check_seals(digests, partition, snapshot)
    check_outbox(digests, partition, snapshot, snapshot.outbox or (), sums)
