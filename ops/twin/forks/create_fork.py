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

from ops.client.http_client import Client
from ops.local.software_version import software_version
from ops.requests.request_syntax import parse_changes
from ops.twin.backups.backup_files import (
    CLOCK,
    LETTERS,
    OPERATIONS,
    ORIGIN,
    atomic_folder,
    log_chunks,
    write_file,
)
from ops.twin.data_folder import IDENTITY_FILE, DataFolder, TwinIdentity
from ops.twin.forks.fork_folders import FORK, new_fork_folder
from ops.twin.history_reader import TwinHistory, read_history
from ops.twin.rebuild import rebuilt_states
from ops.twin.snapshots import check_records, snapshot_files_up_to
from schemas.api.changes import SetChange, TimedRequest
from schemas.config.parameter import ParameterSetting
from schemas.envelope import Envelope
from schemas.files.backup_manifest import SavedClock
from schemas.files.fork_origin import ForkOrigin, InheritedLog
from schemas.files.operations_log import TwinForked, TwinPlanned, encode_operation
from schemas.messages.operator import OperatorBody, SetParameters
from schemas.messages.sequencer import Tick
from services.what_if.drive import timed_requests
from shared.basics.errors import InvalidInput, LogDamaged, OperationFailed
from shared.engine.roots import Request
from shared.runtimes.dead_letter import parse_dead_letter
from shared.runtimes.embedded.operations_file import OperationsFile
from shared.runtimes.embedded.site_runner import SiteRunner
from shared.runtimes.operations_log import local_person, new_operation
from shared.storage.log.log_bytes import SITE_LOG_SUFFIX
from shared.storage.log.read_only_log import ReadOnlyLog

SET = "set"


@dataclass(frozen=True, slots=True)
class ForkOptions:
    """A fork that is wanted: its name, the moment as somebody wrote it (None is now), the future of
    `lightwave forecast` whose draws it has (None: its parent's own), and what is set at its first moment."""

    name: str
    at: str | None = None
    draws: int | None = None
    settings: tuple[str, ...] = ()


def run_fork(asked: ForkOptions, data: Path, client: Client | None = None) -> ForkOrigin:
    """Make it, whole or not at all, of the twin in this folder; `client` reaches that if it runs.
    InvalidInput for what is no name, no moment, or no parameter of one of its fabrics, or what they refuse;
    NotFound where there is no twin; OperationFailed where there is such a fork, or it cannot be written."""
    place = new_fork_folder(asked.name)
    parent = read_history(DataFolder(data), client)
    for site, log in parent.logs.items():
        check_records(parent.folder, site, log)
    moment_of_fork = parent.moment(asked.at)
    moments = {site: parent.at(site, position) for site, position in moment_of_fork.positions.items()}
    kinds = {
        name: kind
        for moment in moments.values()
        for name, kind in moment.kinds.items()
        if not moment.site.has_retired(name)
    }
    requests = _settings_requests(asked.settings, kinds)
    with atomic_folder(place, FORK) as part:
        inherited = [
            _copy_log(data, parent.logs[site], part, site, moment.position)
            for site, moment in sorted(moments.items())
        ]
        origin = ForkOrigin(
            name=asked.name,
            twin=uuid.uuid4().hex,
            parent=parent.twin,
            place=str(data.resolve()),
            at=asked.at or "now",
            at_us=moment_of_fork.at_us,
            software=software_version(),
            wall_us=time.time_ns() // 1_000,
            draws=asked.draws,
            settings=asked.settings,
            sites=tuple(inherited),
        )
        _write_files(part, parent, origin)
        _make_states(DataFolder(part), TwinIdentity(sites=parent.plans), origin, requests)
    return origin


def _settings_requests(settings: Sequence[str], kinds: Mapping[str, str]) -> list[TimedRequest]:
    """One message for each fabric of which anything is set: all of it holds, or nothing does."""
    if settings and not kinds:
        raise InvalidInput(f"--set {settings[0]}: no fabric lives there")
    found: dict[str, SetParameters] = {}
    for text, change in zip(settings, parse_changes([(SET, text) for text in settings], kinds), strict=True):
        if change.after_s or not isinstance(change, SetChange) or change.fabric is None:
            raise InvalidInput(f"--set {text}: takes effect at the start of the fork; leave @IN out")
        before = found[change.fabric].settings if change.fabric in found else ()
        own = [ParameterSetting(name=name, value=value) for name, value in change.parameters.items()]
        found[change.fabric] = SetParameters(settings=(*before, *own))
    return [TimedRequest(0, fabric, body) for fabric, body in found.items()]


def _copy_log(folder: Path, log: ReadOnlyLog, part: Path, site: str, position: int) -> InheritedLog:
    """What a fork has of a site's log. Where that ends within a cascade, the fork says the rest itself."""
    last = b""
    for _, line in log.lines(min(position, log.end) - 1, 1):
        last = line
    size = log.offset_of(position)
    made = write_file(part, f"log/{site}{SITE_LOG_SUFFIX}", log_chunks(folder, log.content, size))
    if made.size != size:
        raise LogDamaged(f"log file {log.content.path}: became shorter while it was read")
    return InheritedLog(
        site=site,
        position=min(position, log.end),
        size=size,
        sha256=made.sha256,
        last_sha256=hashlib.sha256(last).hexdigest(),
    )


def _write_files(part: Path, parent: TwinHistory, origin: ForkOrigin) -> None:
    """All but the logs: requests that wait are not a fork's."""
    clock = SavedClock(speed=parent.clock.speed, now_us=origin.at_us)
    write_file(part, IDENTITY_FILE, [TwinIdentity(sites=parent.plans).model_dump_json().encode()])
    write_file(part, CLOCK, [clock.model_dump_json().encode()])
    write_file(part, ORIGIN, [origin.model_dump_json(indent=2).encode()])
    write_file(part, OPERATIONS, _operations(parent, origin))
    if letters := _letters(parent, origin):
        write_file(part, LETTERS, [b"".join(letters)])
    for source in _snapshots_and_frames(parent, origin):
        _link_or_copy(source, part / source.relative_to(parent.folder.path))


def _operations(parent: TwinHistory, origin: ForkOrigin) -> Iterator[bytes]:
    """How the twin was planned, and that it is a fork. What was done to its parent's clock and the like has
    no simulated time by which it could be known to be of before."""
    for _, found in OperationsFile(parent.folder.operations).read():
        if isinstance(found.body, TwinPlanned):
            yield encode_operation(found) + b"\n"
            break
    forked = TwinForked(twin=origin.twin, origin=origin.parent, name=origin.name, at_us=origin.at_us)
    yield encode_operation(new_operation(forked, local_person())) + b"\n"


def _letters(parent: TwinHistory, origin: ForkOrigin) -> list[bytes]:
    """The dead letters of what a fork has of the logs."""
    ends = {one.site: one.position for one in origin.sites}
    try:
        rows = parent.folder.dead_letters.read_bytes().splitlines(keepends=True)
    except FileNotFoundError:
        return []
    found = []
    for row in rows:
        letter = parse_dead_letter(row)
        site, _, position = (letter.origin if letter is not None else "").rpartition(":")
        if position.isdecimal() and int(position) < ends.get(site, 0):
            found.append(row)
    return found


def _snapshots_and_frames(parent: TwinHistory, origin: ForkOrigin) -> Iterator[Path]:
    """The snapshots and frames of up to then."""
    for one in origin.sites:
        yield from snapshot_files_up_to(parent.folder, one.site, one.position)
    for path in sorted(parent.folder.telemetry.rglob("*.arrows")):
        if path.stem.isdecimal() and int(path.stem) <= origin.at_us:
            yield path


def _link_or_copy(source: Path, place: Path) -> None:
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


def _make_states(
    folder: DataFolder, identity: TwinIdentity, origin: ForkOrigin, requests: Sequence[TimedRequest]
) -> None:
    """Make its states, and let what is asked of it be the first that happens. LogDamaged where the parent's
    log is not what this build's services say."""
    with rebuilt_states(folder, identity, by_snapshots=True) as runners:
        for runner in runners:
            own = [ask for ask in requests if ask.fabric in runner.site.fabrics]
            _apply_requests(runner, own, origin)


def _apply_requests(runner: SiteRunner, requests: Sequence[TimedRequest], origin: ForkOrigin) -> None:
    """By the rule of roots: a Tick that is due may come between two."""
    for asked in timed_requests(runner.site, origin.at_us, requests, origin.draws):
        body = asked.body
        if isinstance(body, OperatorBody):
            body = body.model_copy(update={"comment": _fork_comment(origin)})
        request = Request(asked.number, asked.fabric, body)
        root = None
        while root is None or isinstance(root.body, Tick):
            root = runner.site.next_root(request, clock_us=asked.at_us)
            if root is None:
                raise OperationFailed(f"fork {origin.name}: {asked.fabric} takes no request")
            _check_not_refused(runner.take(root), root)


def _check_not_refused(messages: Sequence[Envelope], root: Envelope) -> None:
    """OperationFailed where what is asked is refused."""
    for message in messages:
        if message.cause == root.id and message.type.endswith("Refused") and not isinstance(root.body, Tick):
            fields = orjson.loads(message.body.model_dump_json())
            raise InvalidInput(f"{root.fabric}: {fields.get('reason', message.type)}")


def _fork_comment(origin: ForkOrigin) -> str:
    """What stands on the log with the first messages of a fork's own."""
    return f"fork {origin.name} of twin {origin.parent or 'unknown'} from {origin.at_us} us on"
