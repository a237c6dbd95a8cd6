"""`lab run --from`: what the sites of a living twin held, by its folder, its URL, a fork's name or a
snapshot."""

from pathlib import Path

from ops.common.client import NOW, Client
from ops.common.fetched import fetched
from ops.common.quoted import quoted
from ops.common.sites import AskedTwin
from ops.common.version import software
from shared.basics.errors import InvalidInput, NotFound, OperationFailed, SnapshotRefused
from shared.storage.log.lines import failure
from shared.storage.snapshots.site_snapshot import SiteSnapshot, from_bytes

SUFFIX = ".snapshot"
URLS = ("http://", "https://")
FORMS = "a fork's name, a twin's data folder or URL, then @TIME if not now, or a .snapshot file"


def check_alone(asked: AskedTwin, trace: Path | None) -> None:
    """InvalidInput where something is asked for that a commissioned fabric has already."""
    for name, given in (
        ("--site", asked.site_files or None),
        ("--pods", asked.pods),
        ("--kind", asked.kind),
        ("--seed", asked.seed),
        ("--set", asked.pairs or None),
        ("--calibration", asked.calibration),
        ("--trace", trace),
    ):
        if given is not None:
            raise InvalidInput(
                f"{name}: not together with --from, whose fabrics are commissioned; `lightwave fork` makes a "
                "twin with other draws and parameters, whose name --from takes"
            )


def held_by(given: str) -> tuple[list[SiteSnapshot], str]:
    """What each site held, in order, and the same moment as it may be written at any time later. InvalidInput
    for what is none of the forms or no moment that the twin has lived, NotFound where there is none."""
    from ops.twin.forks.places import names, place_of

    if given.startswith(URLS):
        return _of_url(given)
    if given.endswith(SUFFIX) and Path(given).is_file():
        return [_of_file(Path(given))], str(Path(given).absolute())
    for place, at in _splits(given):
        if place.is_dir():
            return _of_folder(place, at)
    for place, at in _splits(given):
        if str(place) in names():
            return _of_folder(place_of(str(place)), at)
    raise NotFound(f"--from {quoted(given)}: no such fork, folder or file; allowed: {FORMS}")


def _splits(given: str) -> list[tuple[Path, str | None]]:
    """Where a folder may end, for it and the id of a message may have an @, too; the longest first."""
    ends = [n for n, letter in enumerate(given) if letter == "@"]
    return [(Path(given), None), *((Path(given[:n]), given[n + 1 :]) for n in reversed(ends) if n)]


def _of_url(given: str) -> tuple[list[SiteSnapshot], str]:
    url, _, at = given.partition("@")
    client = Client(url, at=at or NOW)
    rows = client.rows("/v1/fabrics", "name", "site")
    sites = dict.fromkeys(str(row["site"]) for row in rows)
    held = [fetched(client, site).snapshot for site in sites]
    at_us = max([one.at_us for one in held], default=0)
    return held, f"{url}@{at if '/' in at else f'{at_us}us'}"


def _of_folder(place: Path, at: str | None) -> tuple[list[SiteSnapshot], str]:
    from ops.twin.data import DataFolder
    from ops.twin.lived import lived

    twin = lived(DataFolder(place))
    moment = twin.moment(at)
    held = [twin.at(site, position).snapshot(software()) for site, position in moment.positions.items()]
    again = at if at is not None and "/" in at else f"{moment.at_us}us"
    return held, f"{place.absolute()}@{again}"


def _of_file(path: Path) -> SiteSnapshot:
    try:
        found = from_bytes(path.read_bytes())
    except SnapshotRefused as refusal:
        raise SnapshotRefused(f"--from {path}: {refusal}") from None
    except OSError as error:
        raise failure(path, error, "--from") from None
    if found.software != software():
        raise OperationFailed(
            f"--from {path}: is of build {found.software}, and this command is of {software()}: it cannot go "
            "on from there; use that version"
        )
    return found
