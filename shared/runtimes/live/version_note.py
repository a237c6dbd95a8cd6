"""Which version of the software each process of a live twin runs: told to the operations log when it is
another one than the process ran before."""

from schemas.operations import VersionStarted
from shared.runtimes.live.clock import note_later
from shared.runtimes.operations import local_person, new_operation
from shared.storage.store import GlobalNotes

VERSIONS = "versions"
"""Process → the version that it was last seen with. Where Redis has lost that, all are noted once more."""


def note_version(store: GlobalNotes, process: str, software: str) -> None:
    """Note that this process begins with this version, unless it did so the last time as well: one that is
    started again and again tells nothing new."""
    if store.read_globals(VERSIONS).get(process) == software:
        return
    started = VersionStarted(process=process, software=software)
    note_later(store, new_operation(started, local_person()))
    store.set_globals(VERSIONS, {process: software})
