"""Makes a fork of a twin, which runs or does not, and is not touched: another data folder."""

import contextlib
import hashlib
import os
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import orjson

from ops.common.asking import asks_of
from ops.common.asks import Ask, requests_of
from ops.common.client import Client
from ops.common.version import software
from ops.twin.backups.files import (
    CLOCK,
    LETTERS,
    OPERATIONS,
    ORIGIN,
    log_pieces,
    whole_folder,
    write_file,
)
from ops.twin.data import MARK, DataFolder, TwinIdentity
from ops.twin.forks.places import WHAT, check_new
from ops.twin.history import check_records, snapshots_up_to
from ops.twin.lived import Lived, lived
from ops.twin.making import states_made
from schemas.backup import KeptClock
from schemas.envelope import Envelope
from schemas.fork import ForkOrigin, Inherited
from schemas.operations import TwinForked, TwinPlanned, encode_operation
from schemas.operator import OperatorBody, SetParameters
from schemas.sequencer import Tick
from shared.basics.errors import InvalidInput, LogDamaged, OperationFailed
from shared.engine.roots import Request
from shared.runtimes.dead_letter import letter_in
from shared.runtimes.embedded.operations import FileOperations
from shared.runtimes.embedded.site_runner import SiteRunner
from shared.runtimes.operations import local_person, new_operation
from shared.storage.log.log_bytes import SUFFIX
from shared.storage.log.log_file import LogFile

SET = "set"


@dataclass(frozen=True, slots=True)
class ForkAsked:
    """A fork that is wanted: its name, the moment as somebody wrote it (None is now), the future of
    `lightwave forecast` whose draws it has (None: its parent's own), and what is set at its first moment."""

    name: str
    at: str | None = None
    draws: int | None = None
    settings: tuple[str, ...] = ()


def run_fork(asked: ForkAsked, data: Path, client: Client | None = None) -> ForkOrigin:
    """Make it, whole or not at all, of the twin in this folder; `client` reaches that if it runs.
    InvalidInput for what is no name, no moment, or no parameter of one of its fabrics, or what they refuse;
    NotFound where there is no twin; OperationFailed where there is such a fork, or it cannot be written."""
    place = check_new(asked.name)
    parent = lived(DataFolder(data), client)
    for site, log in parent.logs.items():
        check_records(parent.folder, site, log)
    asked_moment = parent.moment(asked.at)
    moments = {site: parent.at(site, position) for site, position in asked_moment.positions.items()}
    kinds = {
        name: kind
        for moment in moments.values()
        for name, kind in moment.kinds.items()
        if not moment.site.has_retired(name)
    }
    asks = _asks(asked.settings, kinds)
    with whole_folder(place, WHAT) as part:
        inherited = [
            _log(data, parent.logs[site], part, site, moment.position)
            for site, moment in sorted(moments.items())
        ]
        origin = ForkOrigin(
            name=asked.name,
            twin=uuid.uuid4().hex,
            parent=parent.twin,
            place=str(data.resolve()),
            at=asked.at or "now",
            at_us=asked_moment.at_us,
            software=software(),
            wall_us=time.time_ns() // 1_000,
            draws=asked.draws,
            settings=asked.settings,
            sites=tuple(inherited),
        )
        _write(part, parent, origin)
        _begin(DataFolder(part), TwinIdentity(sites=parent.plans), origin, asks)
    return origin


def _asks(settings: Sequence[str], kinds: Mapping[str, str]) -> list[Ask]:
    """One message for each fabric of which anything is set: all of it holds, or nothing does."""
    if settings and not kinds:
        raise InvalidInput(f"--set {settings[0]}: no fabric lives there")
    found: dict[str, SetParameters] = {}
    for text, ask in zip(settings, asks_of([(SET, text) for text in settings], kinds), strict=True):
        body = ask.body
        if ask.after_us or not isinstance(body, SetParameters):
            raise InvalidInput(f"--set {text}: holds from the fork's first moment on; leave @IN out")
        before = found[ask.fabric].settings if ask.fabric in found else ()
        found[ask.fabric] = SetParameters(settings=(*before, *body.settings))
    return [Ask(0, fabric, body) for fabric, body in found.items()]


def _log(folder: Path, log: LogFile, part: Path, site: str, position: int) -> Inherited:
    """What a fork has of a site's log. Where that ends within a cascade, the fork says the rest itself."""
    last = b""
    for _, line in log.lines(min(position, log.end) - 1, 1):
        last = line
    size = log.offset_of(position)
    made = write_file(part, f"log/{site}{SUFFIX}", log_pieces(folder, log.content, size))
    if made.size != size:
        raise LogDamaged(f"log file {log.content.path}: became shorter while it was read")
    return Inherited(
        site=site,
        position=min(position, log.end),
        size=size,
        sha256=made.sha256,
        last_sha256=hashlib.sha256(last).hexdigest(),
    )


def _write(part: Path, parent: Lived, origin: ForkOrigin) -> None:
    """All but the logs: requests that wait are not a fork's."""
    clock = KeptClock(speed=parent.clock.speed, now_us=origin.at_us)
    write_file(part, MARK, [TwinIdentity(sites=parent.plans).model_dump_json().encode()])
    write_file(part, CLOCK, [clock.model_dump_json().encode()])
    write_file(part, ORIGIN, [origin.model_dump_json(indent=2).encode()])
    write_file(part, OPERATIONS, _operations(parent, origin))
    if letters := _letters(parent, origin):
        write_file(part, LETTERS, [b"".join(letters)])
    for source in _kept(parent, origin):
        _share(source, part / source.relative_to(parent.folder.path))


def _operations(parent: Lived, origin: ForkOrigin) -> Iterator[bytes]:
    """How the twin was planned, and that it is a fork. What was done to its parent's clock and the like has
    no simulated time by which it could be known to be of before."""
    for _, found in FileOperations(parent.folder.operations).read():
        if isinstance(found.body, TwinPlanned):
            yield encode_operation(found) + b"\n"
            break
    forked = TwinForked(twin=origin.twin, origin=origin.parent, name=origin.name, at_us=origin.at_us)
    yield encode_operation(new_operation(forked, local_person())) + b"\n"


def _letters(parent: Lived, origin: ForkOrigin) -> list[bytes]:
    """The dead letters of what a fork has of the logs."""
    ends = {one.site: one.position for one in origin.sites}
    try:
        rows = parent.folder.dead_letters.read_bytes().splitlines(keepends=True)
    except FileNotFoundError:
        return []
    found = []
    for row in rows:
        letter = letter_in(row)
        site, _, position = (letter.origin if letter is not None else "").rpartition(":")
        if position.isdecimal() and int(position) < ends.get(site, 0):
            found.append(row)
    return found


def _kept(parent: Lived, origin: ForkOrigin) -> Iterator[Path]:
    """The snapshots and frames of up to then."""
    for one in origin.sites:
        yield from snapshots_up_to(parent.folder, one.site, one.position)
    for path in sorted(parent.folder.telemetry.rglob("*.arrows")):
        if path.stem.isdecimal() and int(path.stem) <= origin.at_us:
            yield path


def _share(source: Path, place: Path) -> None:
    """Another name for the same file where that can be, for none of these is ever written again, else a copy;
    nothing of one that is gone by now."""
    place.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileNotFoundError):
        try:
            os.link(source, place)
        except FileNotFoundError:
            raise
        except OSError:  # another file system, another's file, or too many names of one
            write_file(place.parent, place.name, [source.read_bytes()])


def _begin(folder: DataFolder, identity: TwinIdentity, origin: ForkOrigin, asks: Sequence[Ask]) -> None:
    """Make its states, and let what is asked of it be the first that happens. LogDamaged where the parent's
    log is not what this build's services say."""
    with states_made(folder, identity, by_snapshots=True) as runners:
        for runner in runners:
            own = [ask for ask in asks if ask.fabric in runner.site.fabrics]
            _ask(runner, own, origin)


def _ask(runner: SiteRunner, asks: Sequence[Ask], origin: ForkOrigin) -> None:
    """By the rule of roots: a Tick that is due may come between two."""
    for asked in requests_of(runner.site, origin.at_us, asks, origin.draws):
        body = asked.body
        if isinstance(body, OperatorBody):
            body = body.model_copy(update={"comment": _said(origin)})
        request = Request(asked.number, asked.fabric, body)
        root = None
        while root is None or isinstance(root.body, Tick):
            root = runner.site.next_root(request, clock_us=asked.at_us)
            if root is None:
                raise OperationFailed(f"fork {origin.name}: {asked.fabric} takes no request")
            _check(runner.take(root), root)


def _check(said: Sequence[Envelope], root: Envelope) -> None:
    """OperationFailed where what is asked is refused."""
    for message in said:
        if message.cause == root.id and message.type.endswith("Refused") and not isinstance(root.body, Tick):
            fields = orjson.loads(message.body.model_dump_json())
            raise InvalidInput(f"{root.fabric}: {fields.get('reason', message.type)}")


def _said(origin: ForkOrigin) -> str:
    """What stands on the log with the first messages of a fork's own."""
    return f"fork {origin.name} of twin {origin.parent or 'unknown'} from {origin.at_us} us on"
