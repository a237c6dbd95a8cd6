"""Forks: twins with a shared past, in folders of their own."""

from collections.abc import Mapping
from pathlib import Path

from lightwave._arguments import check_argument_types
from lightwave._errors import without_option_names
from ops.client.http_client import Client
from ops.experiments.schema import Scalar
from ops.experiments.variant_sites import set_options
from ops.twin.forks.create_fork import ForkOptions, run_fork
from ops.twin.forks.fork_folders import ForkRow, fork_names, fork_row
from ops.twin.forks.fork_folders import remove_fork as _remove_fork
from ops.twin.target_twin import target_folder
from schemas.files.fork_origin import ForkOrigin
from schemas.limits import FORK_DRAWS_MAX
from shared.basics.checks import check_count

NOT_LIVE = "only one of `lightwave up` can be forked"


@check_argument_types
def fork(
    name: str,
    *,
    at: str | None = None,
    future: int | None = None,
    parameters: Mapping[str, Scalar] | None = None,
    fabric: str | None = None,
    data: str | Path | None = None,
) -> ForkOrigin:
    """Create a twin that shares another one's history up to a time. `lightwave up --fork NAME` runs it.

    - `at`: the time, such as "-2h" or "3d02:15:04" (default: now).
    - `future`: use the random draws of this future of a forecast (default: the parent's own).
    - `parameters`: values to set at its start, by dotted name; of `fabric`, if there are several.
    - `data`: the parent's folder. Default: that of the twin at LIGHTWAVE_URL; if LIGHTWAVE_URL is not set and
      no twin answers, the user's state folder.

    The parent may be running; nothing happens to it. InvalidInput for an invalid name, time or parameter;
    NotFound if there is no twin; OperationFailed if the fork exists already.
    """
    folder, client = target_folder(None if data is None else Path(data), live=NOT_LIVE)
    return fork_folder_of(folder, client, name, at=at, future=future, parameters=parameters, fabric=fabric)


def fork_folder_of(
    folder: Path,
    client: Client | None,
    name: str,
    *,
    at: str | None,
    future: int | None,
    parameters: Mapping[str, Scalar] | None,
    fabric: str | None,
) -> ForkOrigin:
    """Fork the twin in a folder. Raises like `fork`."""
    if future is not None:
        check_count("future", future, 1, FORK_DRAWS_MAX)
    of_fabric = "" if fabric is None else f",fabric={fabric}"
    settings = tuple(f"{pair}{of_fabric}" for pair in set_options(dict(parameters or {})))
    with without_option_names():
        return run_fork(ForkOptions(name, at, future, settings), folder, client)


def forks() -> list[ForkRow]:
    """The forks of this user, with their parents and their current times, by name.

    >>> all(row.bytes > 0 for row in forks())
    True
    """
    return [fork_row(name) for name in fork_names()]


@check_argument_types
def remove_fork(name: str) -> int:
    """Remove a fork that is not running, with its log; return the freed size in bytes. NotFound if there is
    none, OperationFailed if it runs."""
    return _remove_fork(name)
