"""The origin of a fork: its parent twin, the time of the fork, and the inherited logs."""

from typing import Annotated

from pydantic import Field

from schemas.body import Model
from schemas.config.parameter import SETTINGS_MAX
from schemas.files.backup_manifest import Count, Sha256
from schemas.limits import FORK_NAME_PATTERN

FORK_FORMAT = 1
"""Format of this record; another number means another version of the software."""


class InheritedLog(Model):
    """The part of a site's log that a fork takes from its parent: the first `position` messages, `size`
    bytes, with the digest of these bytes and of their last line."""

    site: str
    position: Count
    size: Count
    sha256: Sha256
    last_sha256: Sha256


class ForkOrigin(Model):
    """`parent` is the identity of the parent twin, which was kept in `place`; `at_us` is the time of the
    fork, `at` the same as the user wrote it. `draws` is the future whose draws the fork has, None for its
    parent's own; `settings` are the parameters set at its start, as the user wrote them."""

    format: Count = FORK_FORMAT
    name: Annotated[str, Field(pattern=f"^{FORK_NAME_PATTERN}$")]
    twin: str
    parent: str
    place: str
    at: str
    at_us: Count
    software: str
    wall_us: Count
    draws: Count | None = None
    settings: Annotated[tuple[str, ...], Field(max_length=SETTINGS_MAX)] = ()
    sites: tuple[InheritedLog, ...]
