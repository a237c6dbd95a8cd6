"""Create a fork of a running or stopped twin in a new data folder. The twin itself is not changed."""

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
    file_chunks,
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
from services.what_if.run_copy import timed_requests
from shared.basics.errors import InvalidInput, LogDamaged, OperationFailed
from shared.engine.message_order import Request
from shared.runtimes.dead_letter import parse_dead_letter
from shared.runtimes.embedded.operations_file import OperationsFile
from shared.runtimes.embedded.site_runner import SiteRunner
from shared.runtimes.operations_log import local_person, new_operation
from shared.storage.files.own_files import LARGE_MAX, read_own
from shared.storage.log.log_bytes import SITE_LOG_SUFFIX
from shared.storage.log.read_only_log import ReadOnlyLog

SET = "set"


@dataclass(frozen=True, slots=True)
class ForkOptions:
    """Options of a fork.

    - `at`: a time as on the command line; None: now.
    - `draws`: the future of `lightwave forecast` whose random draws it has; None: those of its parent.
    - `settings`: parameters to set at its start, `KEY=VALUE`.
    """

    name: str
    at: str | None = None
    draws: int | None = None
    settings: tuple[str, ...] = ()


def run_fork(options: ForkOptions, data: Path, client: Client | None = None) -> ForkOrigin:
    """Create a fork of the twin in this folder, completely or not at all. `client` reaches a running twin.

    Raises InvalidInput for an invalid name, time or parameter, or if a fabric refuses a parameter; raises
    NotFound if there is no twin; raises OperationFailed if the fork exists already or cannot be written.
    """
    place = new_fork_folder(options.name)
    parent = read_history(DataFolder(data), client)
    for site, log in parent.logs.items():
        check_records(parent.folder, site, log)
    start = parent.point_in_time(options.at)
    replayed = {site: parent.at(site, position) for site, position in start.positions.items()}
    kinds = {
        name: kind
        for one in replayed.values()
        for name, kind in one.kinds.items()
        if not one.site.has_retired(name)
    }
    requests = _settings_requests(options.settings, kinds)
    with atomic_folder(place, FORK) as part:
        inherited = [
            _copy_log(data, parent.logs[site], part, site, one.position)
            for site, one in sorted(replayed.items())
        ]
        origin = ForkOrigin(
            name=options.name,
            twin=uuid.uuid4().hex,
            parent=parent.twin,
            place=str(data.resolve()),
            at=options.at or "now",
            at_us=start.at_us,
            software=software_version(),
            wall_us=time.time_ns() // 1_000,
            draws=options.draws,
            settings=options.settings,
            sites=tuple(inherited),
        )
        _write_files(part, parent, origin)
        _make_states(DataFolder(part), TwinIdentity(sites=parent.plans), origin, requests)
    return origin


def _settings_requests(settings: Sequence[str], kinds: Mapping[str, str]) -> list[TimedRequest]:
    """One request per fabric, so that either all of its settings apply or none."""
    if settings and not kinds:
        raise InvalidInput(f"--set {settings[0]}: the twin has no fabric at that time")
    found: dict[str, SetParameters] = {}
    for text, change in zip(settings, parse_changes([(SET, text) for text in settings], kinds), strict=True):
        if change.after_s or not isinstance(change, SetChange) or change.fabric is None:
            raise InvalidInput(f"--set {text}: takes effect at the start of the fork; leave @IN out")
        before = found[change.fabric].settings if change.fabric in found else ()
        own = [ParameterSetting(name=name, value=value) for name, value in change.parameters.items()]
        found[change.fabric] = SetParameters(settings=(*before, *own))
    return [TimedRequest(0, fabric, body) for fabric, body in found.items()]


def _copy_log(folder: Path, log: ReadOnlyLog, part: Path, site: str, position: int) -> InheritedLog:
    """Copy a site's log up to a position. If the rest of a cascade is missing, the fork emits it itself."""
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
    """Write all files except the logs. A fork does not inherit pending requests. It is paused if its parent
    is, so that its user can look first."""
    clock = SavedClock(speed=parent.clock.speed, paused=parent.clock.paused, now_us=origin.at_us)
    write_file(part, IDENTITY_FILE, [TwinIdentity(sites=parent.plans).model_dump_json().encode()])
    write_file(part, CLOCK, [clock.model_dump_json().encode()])
    write_file(part, ORIGIN, [origin.model_dump_json(indent=2).encode()])
    write_file(part, OPERATIONS, _operations(parent, origin))
    if letters := _letters(parent, origin):
        write_file(part, LETTERS, [b"".join(letters)])
    for source in _snapshots_and_frames(parent, origin):
        _link_or_copy(source, part / source.relative_to(parent.folder.path))


def _operations(parent: TwinHistory, origin: ForkOrigin) -> Iterator[bytes]:
    """The operations log of a fork: the plan of the twin, and the fork itself. Other operations of the parent
    have no simulated time, so it is not known whether they are older than the fork."""
    for _, found in OperationsFile(parent.folder.operations).read():
        if isinstance(found.body, TwinPlanned):
            yield encode_operation(found) + b"\n"
            break
    forked = TwinForked(twin=origin.twin, origin=origin.parent, name=origin.name, at_us=origin.at_us)
    yield encode_operation(new_operation(forked, local_person())) + b"\n"


def _letters(parent: TwinHistory, origin: ForkOrigin) -> list[bytes]:
    """The dead letters of the inherited part of the logs."""
    ends = {one.site: one.position for one in origin.sites}
    try:
        rows = read_own(parent.folder.dead_letters, LARGE_MAX).splitlines(keepends=True)
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
    """The snapshots and frames up to the start of the fork."""
    for one in origin.sites:
        yield from snapshot_files_up_to(parent.folder, one.site, one.position)
    for path in sorted(parent.folder.telemetry.rglob("*.arrows")):
        if path.stem.isdecimal() and int(path.stem) <= origin.at_us:
            yield path


def _link_or_copy(source: Path, place: Path) -> None:
    """Link a file, or copy it if the file system cannot link. These files never change, so they can be
    shared. A file that was deleted meanwhile is skipped."""
    place.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileNotFoundError):
        try:
            os.link(source, place)
        except FileNotFoundError:
            raise
        except OSError:  # another file system, another owner, or too many links
            write_file(place.parent, place.name, file_chunks(source))


def _make_states(
    folder: DataFolder, identity: TwinIdentity, origin: ForkOrigin, requests: Sequence[TimedRequest]
) -> None:
    """Fold the states of the fork, and apply its settings first. Raises LogDamaged if the parent's log
    differs from the outputs of this build's services."""
    with rebuilt_states(folder, identity, by_snapshots=True) as runners:
        for runner in runners:
            own = [request for request in requests if request.fabric in runner.site.fabrics]
            _apply_requests(runner, own, origin)


def _apply_requests(runner: SiteRunner, requests: Sequence[TimedRequest], origin: ForkOrigin) -> None:
    """Append the requests by the rule of roots: a due Tick may come between two of them."""
    for timed in timed_requests(runner.site, origin.at_us, requests, origin.draws):
        body = timed.body
        if isinstance(body, OperatorBody):
            body = body.model_copy(update={"comment": _fork_comment(origin)})
        request = Request(timed.number, timed.fabric, body)
        root = None
        while root is None or isinstance(root.body, Tick):
            root = runner.site.next_root(request, clock_us=timed.at_us)
            if root is None:
                raise OperationFailed(f"fork {origin.name}: {timed.fabric} accepts no request")
            _check_not_refused(runner.take(root), root)


def _check_not_refused(messages: Sequence[Envelope], root: Envelope) -> None:
    """Raise InvalidInput if a message refuses the request."""
    for message in messages:
        if message.cause == root.id and message.type.endswith("Refused") and not isinstance(root.body, Tick):
            fields = orjson.loads(message.body.model_dump_json())
            raise InvalidInput(f"{root.fabric}: {fields.get('reason', message.type)}")


def _fork_comment(origin: ForkOrigin) -> str:
    """The comment of the first messages of a fork."""
    return f"fork {origin.name} of twin {origin.parent or 'unknown'} from {origin.at_us} us on"
