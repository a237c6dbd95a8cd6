"""Where the fold of a partition may begin: from the newest good snapshot of each of its sites."""

import logging
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from ops.common.version import software
from services.fleet import services_of
from shared.basics.errors import LogDamaged, SnapshotRefused
from shared.runtimes.live.refold import Begun
from shared.storage.snapshots.as_commit import commit_of
from shared.storage.snapshots.base import LOST, base_in
from shared.storage.snapshots.folder import SnapshotFolder
from shared.storage.snapshots.history import of_log
from shared.storage.snapshots.site_snapshot import SiteSnapshot
from shared.storage.store import Commit

log = logging.getLogger("lightwave.live")


def begun_from(
    line_before: Callable[[int], bytes],
    partition: int,
    sites: Mapping[str, int],
    snapshots: Path | None,
    upgrades: Path,
) -> tuple[Begun | None, dict[str, int]]:
    """What the newest good snapshots in `snapshots`/SITE give a fold to begin with, and of each site with one
    the position; None where it must begin at the log's beginning. Where a site was upgraded to other rules,
    its fold begins at the snapshot in `upgrades`/SITE at the latest. `line_before` has the line before an
    offset of the partition, nothing where that is not so long; `sites` the offset at which each site begins.
    Snapshots that are damaged, of another log or of another form are told of and passed over."""
    commits: list[Commit] = []
    said: dict[str, int] = {}
    positions: dict[str, int] = {}
    begins = dict(sites)
    for site in sites:
        helps = snapshots / site if snapshots is not None else None
        for found in _fitting(line_before, site, helps, upgrades / site):
            try:
                restored = found.restored(services_of)
            except (LogDamaged, SnapshotRefused) as error:
                log.warning(
                    "%s, snapshot of position %d: %s; an older one is used", site, found.position, error
                )
                continue
            commits.append(commit_of(restored, found.kinds, partition))
            said |= {one.source: one.said for one in restored.instances}
            positions[site], begins[site] = found.position, int(found.offset or 0)
            break
    offset = min(begins.values(), default=0)
    return (Begun(offset, tuple(commits), said, begins) if positions else None), positions


def _fitting(
    line_before: Callable[[int], bytes], site: str, snapshots: Path | None, upgrades: Path
) -> Iterator[SiteSnapshot]:
    """The good snapshots of this log, the newest first; then those of upgrades to other rules."""

    def last_line(found: SiteSnapshot) -> bytes:
        return line_before(found.offset or 0)

    if snapshots is not None:
        folder = SnapshotFolder(snapshots, site, software())
        yield from of_log((found for found in folder.good() if found.offset), last_line)
    record = SnapshotFolder(upgrades, site, software())
    for found in of_log((found for found in record.good() if found.offset), last_line):
        base = base_in(last_line(found), found.position)
        if base is not None and found.digest == base.body.state_sha256:
            yield found
        elif base is not None:
            path = record.path(found.position)
            log.warning("snapshot %s: is of other states than the log says; %s", path, LOST)
