"""`lab run --from`: the start state, taken from a twin's folder, its URL, a fork or a snapshot file."""

from pathlib import Path

from ops.client.http_client import Client
from ops.client.remote_snapshot import fetch_snapshot
from ops.client.time_names import time_named
from ops.local.input_files import read_input
from ops.local.software_version import software_version
from ops.report.safe_text import quoted
from ops.sites.site_plans import NewTwinOptions
from shared.basics.errors import InvalidInput, NotFound, OperationFailed, SnapshotRefused
from shared.basics.time_grammar import NOW
from shared.storage.files.file_errors import file_error
from shared.storage.snapshots.site_snapshot import SNAPSHOT_BYTES_MAX, SiteSnapshot, from_bytes

SUFFIX = ".snapshot"
URLS = ("http://", "https://")
FORMS = "a fork's name, a twin's data folder or URL, then @TIME if not now, or a .snapshot file"


def check_start_options(requested: NewTwinOptions, trace: object) -> None:
    """Raise InvalidInput for options that only new fabrics can have."""
    for name, given in (
        ("--site", requested.site_files or None),
        ("--pods", requested.pods),
        ("--kind", requested.kind),
        ("--seed", requested.seed),
        ("--set", requested.pairs or None),
        ("--calibration", requested.calibration),
        ("--trace", trace),
    ):
        if given is not None:
            raise InvalidInput(
                f"{name}: cannot be combined with --from, whose fabrics exist already; `lightwave fork` "
                "makes a twin with other draws and parameters, whose name --from takes"
            )


def start_snapshots(given: str) -> tuple[list[SiteSnapshot], str]:
    """Return the snapshot of each site, in order, and the same time in a form that can be given again later.

    Raises InvalidInput if the text has no valid form or names a time that the twin has not reached, NotFound
    if there is no such twin.
    """
    from ops.twin.forks.fork_folders import fork_folder, fork_names

    if given.startswith(URLS):
        return _from_url(given)
    if given.endswith(SUFFIX) and Path(given).is_file():
        return [_from_file(Path(given))], str(Path(given).absolute())
    for place, at in _folder_and_time(given):
        if place.is_dir():
            return _from_folder(place, at)
    for place, at in _folder_and_time(given):
        if str(place) in fork_names():
            return _from_folder(fork_folder(str(place)), at)
    raise NotFound(f"--from {quoted(given)}: no such fork, folder or file; must be {FORMS}")


def _folder_and_time(given: str) -> list[tuple[Path, str | None]]:
    """Yield the places at which the folder may end, the longest first, because both a folder and a message id
    may contain an @."""
    ends = [n for n, letter in enumerate(given) if letter == "@"]
    return [(Path(given), None), *((Path(given[:n]), given[n + 1 :]) for n in reversed(ends) if n)]


def _from_url(given: str) -> tuple[list[SiteSnapshot], str]:
    url, _, at = given.partition("@")
    client = Client(url, at=at or NOW)
    with time_named("--from", at, shown=given):
        rows = client.rows("/v1/fabrics", "name", "site")
        sites = dict.fromkeys(str(row["site"]) for row in rows)
        snapshots = [fetch_snapshot(client, site) for site in sites]
    at_us = max([one.at_us for one in snapshots], default=0)
    return snapshots, f"{url}@{at if '/' in at else f'{at_us}us'}"


def _from_folder(place: Path, at: str | None) -> tuple[list[SiteSnapshot], str]:
    from ops.twin.data_folder import DataFolder
    from ops.twin.history_reader import read_history

    twin = read_history(DataFolder(place))
    point = twin.point_in_time(at)
    snapshots = [
        twin.at(site, position).snapshot(software_version()) for site, position in point.positions.items()
    ]
    again = at if at is not None and "/" in at else f"{point.at_us}us"
    return snapshots, f"{place.absolute()}@{again}"


def _from_file(path: Path) -> SiteSnapshot:
    try:
        found = from_bytes(read_input(path, SNAPSHOT_BYTES_MAX))
    except SnapshotRefused as refusal:
        raise SnapshotRefused(f"--from {path}: {refusal}") from None
    except InvalidInput as error:
        raise InvalidInput(f"--from {path}: {error}") from None
    except OSError as error:
        raise file_error(path, error, "--from") from None
    if found.software != software_version():
        raise OperationFailed(
            f"--from {path}: is of build {found.software}, and this command is of {software_version()}: it "
            "cannot continue from there; use that version"
        )
    return found
