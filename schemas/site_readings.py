"""What a service reads of its whole site at a Tick: queries, and their readings on the log.

A service folds messages and sees no other service's state. One that must compare the site with a condition
lists its queries in its state. Whoever appends its next Tick answers them from the states of the site at
that quiet time, and the answers are part of the Tick. So every replay has the same ones.
"""

from typing import Annotated, Literal

from pydantic import Field

from schemas.body import Model, is_none
from schemas.names import FabricName

NAMES_MAX = 10_000
"""Names in one reading."""


class SiteQuery(Model):
    """One query about a fabric.

    - `condition`: whether `text`, a condition as in `wait`, is true, with the values that it compares.
    - `names`: the resources of the kind `text` for which all of `where` (FIELD OPERATOR VALUE, as in
      `get --where`) are true.
    - `impact`: what would be down or evicted after the requests `requests` (JSON of request bodies with
      their `type`), predicted on a copy of the site.
    """

    what: Literal["condition", "names", "impact"]
    fabric: FabricName
    text: str
    where: tuple[str, ...] = ()
    requests: tuple[str, ...] = ()


class CountReading(Model):
    """A predicted count, such as 1 × `ocs`."""

    what: str
    count: Annotated[int, Field(ge=0)]


class SiteReading(Model):
    """The answer to the query of the same place in the list. `problem` tells why there is none; then the
    reading counts as not measured."""

    holds: bool | None = Field(default=None, exclude_if=is_none)
    compared: tuple[str, ...] | None = Field(default=None, exclude_if=is_none)
    """Of a condition: what each of its tests compares, as `KIND.NAME.FIELD=VALUE` or `count=N`."""
    names: Annotated[tuple[str, ...], Field(max_length=NAMES_MAX)] | None = Field(
        default=None, exclude_if=is_none
    )
    counts: tuple[CountReading, ...] | None = Field(default=None, exclude_if=is_none)
    problem: str | None = Field(default=None, exclude_if=is_none)
