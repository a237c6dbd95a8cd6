"""The historian of a live twin: it folds a copy of the log as the twin lives, keeps snapshots of its sites,
and compares all the while what the log says and what Redis holds with that fold.

It only reads: nobody waits for it, and nobody misses it.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from shared.basics.errors import LightwaveError, OperationFailed
from shared.basics.words import short
from shared.engine.site import ServicesOf
from shared.runtimes.live.kafka.mirror import LogMirror
from shared.runtimes.live.process.health import Report, Sample
from shared.runtimes.live.status import WRONG
from shared.runtimes.waiting import until
from shared.storage.residents import Resident, awaited, residents
from shared.storage.snapshots.folder import SnapshotFolder
from shared.storage.snapshots.followed import FollowedSite, Key, StateDifference
from shared.storage.snapshots.history import EVERY
from shared.storage.snapshots.site_snapshot import SiteSnapshot
from shared.storage.store import Snapshot, StateStore

LOOK_EVERY_S = 5.0
"""Wall time between two looks at all partitions; more where a look takes long."""
REST_S_MAX = 15.0
REST_SHARE = 3.0
"""It rests so many times as long as it looked: a large twin is not asked for its states all the time."""
COPIES_S_MAX = 5.0
"""How long a look waits for the copy of the log to hold what Redis has read."""
UNCOMPARED_S_MAX = 300.0
"""Wall time after which a state that could not be compared is told of."""
DIFFERENCE_MAX = 2_000
"""Characters of two messages that differ, which may be long."""
SHOWN = 60
"""Bytes of a stored field that a sentence shows."""

log = logging.getLogger("lightwave.live")


@dataclass(slots=True)
class Done:
    """What a historian has done since its process began."""

    compared: int = 0
    snapshots: int = 0
    state_differences: int = 0
    log_differences: int = 0


class Historian:
    """`folder_of` has a site's snapshots, which the build that folds here writes."""

    def __init__(
        self,
        store: StateStore,
        mirror: LogMirror,
        services_of: ServicesOf,
        *,
        partitions: int,
        folder_of: Callable[[str], SnapshotFolder],
        every: int = EVERY,
    ) -> None:
        self.done = Done()
        self._store = store
        self._mirror = mirror
        self._services_of = services_of
        self._partitions = partitions
        self._folder_of = folder_of
        self._every = every
        self._ended = threading.Event()
        self._sites: dict[str, FollowedSite] = {}
        self._wrong_logs: dict[str, str] = {}
        """Site → the sentence of where its log is not what its services say."""
        self._wrong_states: dict[Key, str] = {}
        self._compared_s: dict[Key, float] = {}
        """When each state was found to be compared last, or first seen."""
        self._unkept: str | None = None
        """Why the last snapshot could not be written."""
        self._trouble: str | None = None
        """Why the last look could not be ended."""

    def run(self) -> None:
        """Look on until told to end."""
        while not self._ended.is_set():
            began_s = time.monotonic()
            self.look()
            looked_s = time.monotonic() - began_s
            self._ended.wait(max(LOOK_EVERY_S, min(REST_SHARE * looked_s, REST_S_MAX)))

    def stop(self) -> None:
        self._ended.set()

    def look(self) -> None:
        """Once at every partition."""
        trouble = None
        for partition in range(self._partitions):
            if self._ended.is_set():
                return
            try:
                self._look_at(partition)
            except LightwaveError as error:
                trouble = str(error)
        if trouble is not None and trouble != self._trouble:
            log.warning("%s", trouble)
        self._trouble = trouble

    # --- one look -------------------------------------------------------------------------------------------

    def _look_at(self, partition: int) -> None:
        if self._mirror.lacking() is not None:
            return  # a snapshot may be of what is not copied yet
        view, living = self._view(partition)
        furthest = max(view.positions.values(), default=0)
        if not until(lambda: self._mirror.seen(partition) >= furthest or self._ended.is_set(), COPIES_S_MAX):
            return  # the copy lags, and says so
        for site in sorted({resident.site for resident in living.values()}):
            own = {fabric: resident for fabric, resident in living.items() if resident.site == site}
            if site in self._mirror.logs.sites() and not self._ended.is_set():
                self._compare(partition, site, own, view)

    def _view(self, partition: int) -> tuple[Snapshot, dict[str, Resident]]:
        """All states of a partition, of one moment, and who lives there then."""
        living: dict[str, Resident] = {}
        while True:
            view = self._store.snapshot(partition, list(self._keys(living)))
            now = residents(view.values)
            if now.keys() == living.keys():
                return view, now
            living = now

    def _keys(self, living: Mapping[str, Resident]) -> Iterator[Key]:
        for fabric, resident in living.items():
            for service in self._services_of(resident.kind):
                yield service.name, fabric

    def _compare(self, partition: int, site: str, living: Mapping[str, Resident], view: Snapshot) -> None:
        offsets = self._mirror.offsets
        if offsets is None:
            raise OperationFailed("the copy of the log does not tell where its messages stand")
        followed = self._followed(site)
        stood = {name: view.positions.get(name, 0) for name in awaited(living, self._services_of)}
        positions = {name: offsets.of(site).below(offset) for name, offset in stood.items()}
        held = {key: view.states[key] for key in self._keys(living)}
        compared = followed.compare(positions, held, keep=self._keep, is_ended=self._ended.is_set)
        if followed.difference is not None and site not in self._wrong_logs:
            at = followed.difference.position
            self._wrong_logs[site] = (
                f"{site}: the log is not what its services say, at offset {offsets.of(site).at(at)} of "
                f"partition {partition}: {str(followed.difference)[:DIFFERENCE_MAX]}; the historian folds "
                "it no further"
            )
            self.done.log_differences += 1
            log.error("%s", self._wrong_logs[site])
        self._note(compared.states, compared.differences, lambda one: (partition, stood[one.service]))

    def _note(
        self,
        compared: tuple[Key, ...],
        differences: tuple[StateDifference, ...],
        place_of: Callable[[StateDifference], tuple[int, int]],
    ) -> None:
        """Tell of the first field of each state that differs now and did not before, and of what is right
        again."""
        wrong: dict[Key, str] = {}
        for one in differences:
            key = (one.service, one.fabric)
            # As it was found first: it stays wrong, and only its service goes on.
            wrong.setdefault(key, self._wrong_states.get(key) or sentence_of(one, *place_of(one)))
        for key in compared:
            self.done.compared += 1
            self._compared_s[key] = time.monotonic()
            if key in wrong and key not in self._wrong_states:
                self.done.state_differences += 1
                log.error("%s", wrong[key], extra={"service": key[0]})
            elif key not in wrong and key in self._wrong_states:
                log.warning("the state of %s@%s is again what the log comes to", *key)
        kept = {key: sentence for key, sentence in self._wrong_states.items() if key not in compared}
        self._wrong_states = {**kept, **wrong}

    def _followed(self, site: str) -> FollowedSite:
        if site not in self._sites:
            offsets = self._mirror.offsets
            copied = self._mirror.logs.open(site)
            folder = self._folder_of(site)
            folder.forget_beyond(copied.end)
            self._sites[site] = FollowedSite(
                copied,
                folder,
                self._services_of,
                offset_after=None if offsets is None else lambda n: offsets.of(site).at(n - 1) + 1,
                every=self._every,
            )
        return self._sites[site]

    def _keep(self, snapshot: SiteSnapshot) -> None:
        folder = self._folder_of(snapshot.site)
        try:
            folder.put(snapshot)
        except OperationFailed as error:
            unkept = f"{error}; there is no snapshot until one can be written"
            if unkept != self._unkept:
                log.warning("%s", unkept)
            self._unkept = unkept
        else:
            self._unkept = None
            self.done.snapshots += 1

    # --- how it stands --------------------------------------------------------------------------------------

    def report(self) -> Report:
        """What is wrong, one sentence each, and what its metrics are."""
        done = self.done
        uncompared_s = self._uncompared_s()
        samples = (
            Sample("compared_total", done.compared, "states of Redis that were compared with the log's fold"),
            Sample("snapshots_total", done.snapshots, "snapshots written"),
            Sample("state_differences_total", done.state_differences, "states that Redis held otherwise"),
            Sample("log_differences_total", done.log_differences, "logs that are not what services say"),
            Sample("states_wrong", len(self._wrong_states), "states that Redis holds otherwise now"),
            Sample("uncompared_seconds", uncompared_s, "since when some state could not be compared"),
            Sample("mirror_behind_messages", self._mirror.behind(), "records of the log not copied yet"),
        )
        late = (
            f"{uncompared_s:.0f} s ago a state was compared with the log last (allowed are "
            f"{UNCOMPARED_S_MAX:.0f}): the historian does not keep up, or services stand still"
        )
        wrong = (*self._wrong_logs.values(), *self._wrong_states.values())
        found = (
            *wrong,
            *(text for text in (self._mirror.problem, self._trouble, self._unkept) if text is not None),
            *((late,) if uncompared_s > UNCOMPARED_S_MAX else ()),
        )
        return Report((), found, samples, {WRONG: wrong})

    def _uncompared_s(self) -> float:
        return time.monotonic() - min(self._compared_s.values()) if self._compared_s else 0.0


def sentence_of(one: StateDifference, partition: int, offset: int) -> str:
    """What is wrong, with which state, and what to do."""
    found, expected = _around(one.found, one.expected)
    return (
        f"{one.service}@{one.fabric}: Redis holds another {short(one.field)} than the log comes to, at "
        f"offset {offset} of partition {partition}: {found}, and not {expected}; `lightwave audit --live` "
        "compares everything, `lightwave live rebuild` makes the states again from the log"
    )


def _around(found: bytes | None, expected: bytes | None) -> tuple[str, str]:
    """Both as text, from a little before where they part."""
    pairs = zip(found or b"", expected or b"", strict=False)
    parts = next((n for n, (one, other) in enumerate(pairs) if one != other), None)
    if parts is None:
        parts = min(len(found or b""), len(expected or b""))
    start = max(0, parts - SHOWN // 3)

    def shown(value: bytes | None) -> str:
        if value is None:
            return "nothing"
        text = repr(value[start : start + SHOWN])[1:]
        return f"{'…' if start else ''}{text}{'…' if len(value) > start + SHOWN else ''} ({len(value)} bytes)"

    return shown(found), shown(expected)
