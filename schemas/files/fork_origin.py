"""Where a fork comes from: which twin it is a fork of, from which moment on, and what of its logs it has from
there."""

from typing import Annotated

from pydantic import Field

from schemas.body import Model
from schemas.config.parameter import SETTINGS_MAX
from schemas.files.backup_manifest import Count, Sha256
from schemas.limits import FORK_NAME_PATTERN

FORK_FORMAT = 1
"""Of what a fork keeps of its origin; one of another form is of another version."""


class InheritedLog(Model):
    """What a site of a fork has from its parent: the first `position` messages of its log, `size` bytes,
    with the digest of these bytes and of the last of their lines."""

    site: str
    position: Count
    size: Count
    sha256: Sha256
    last_sha256: Sha256


class ForkOrigin(Model):
    """A fork's `parent` is the identity of a twin, which was kept in `place`; `at_us` the moment from which
    on the fork goes its own way, `at` as it was written. `draws` is the future whose draws it has, None where
    it has its parent's own, and `settings` what was set at its first moment, as it was written."""

    form: Count = FORK_FORMAT
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
