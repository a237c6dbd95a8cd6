"""Methods of a twin about its past: other times, differences, searches, forks."""

from collections.abc import Mapping
from typing import Self

from lightwave._arguments import check_argument_types
from lightwave._connection import TwinConnection
from lightwave._events import ConditionSearch, parse_bisection
from lightwave._forks import NOT_LIVE, fork_folder_of
from ops.client.bisection import bisection_parts, whole_bisection
from ops.client.differences import FieldDifference, compare_times
from ops.experiments.schema import Scalar
from ops.report.safe_text import quoted
from ops.twin.target_twin import TargetTwin
from schemas.api.rows import TwinInfo
from schemas.files.fork_origin import ForkOrigin
from schemas.resource_kinds import KINDS, find_kind
from shared.basics.checks import closest_match_hint
from shared.basics.errors import InvalidInput
from shared.basics.time_grammar import NOW


class PastMethods(TwinConnection):
    """Methods that read the past, or continue from it."""

    @check_argument_types
    def at(self, time: str) -> Self:
        """The same twin at another simulated time: `twin.at("-2h").slices(state="running")`. Times are before
        now ("-2h") or since the start ("2h", "3d02:15:04"), or the id of a message. The first answer fixes
        the time. InvalidInput from its methods that would change the twin."""
        return type(self)(self._client.at_time(time))

    @check_argument_types
    def diff(self, before: str, after: str = NOW, *, kind: str | None = None) -> list[FieldDifference]:
        """Compare two points in time, field by field: all objects, or those of a kind ("slices", "ocs").
        Fields that only time changes are left out. Times are as for `at`."""
        self._refuse_past("diff")
        found = None if kind is None else find_kind(kind.lower())
        if kind is not None and found is None:
            raise InvalidInput(
                f"kind {quoted(kind)}: is not a kind; must be one of {', '.join(KINDS)}"
                f"{closest_match_hint(kind.lower(), KINDS)}"
            )
        kinds = KINDS if found is None else (found.word,)
        return [row for rows in compare_times(self._client, before, after, kinds) for row in rows]

    @check_argument_types
    def bisect(
        self,
        condition: str,
        *,
        since: str | None = None,
        until: str | None = None,
        every: bool = False,
        fabric: str | None = None,
    ) -> ConditionSearch:
        """Find the first message after which a condition is true, or with `every` all messages that change
        it, from a time (default: the start of the twin) until another (default: now). Conditions are those of
        `wait`; times are as for `at`. `was_true` shows whether it was true at all."""
        self._refuse_past("bisect")
        query = {"condition": condition, "fabric": fabric, "all": "true" if every else None}
        parts = list(bisection_parts(self._client, query | {"from": since, "to": until}))
        with self._client.reading():
            return parse_bisection(whole_bisection(parts))

    @check_argument_types
    def fork(
        self,
        name: str,
        *,
        at: str | None = None,
        future: int | None = None,
        parameters: Mapping[str, Scalar] | None = None,
        fabric: str | None = None,
    ) -> ForkOrigin:
        """Fork this twin, as `lightwave.fork` does. Its data folder must be on this machine; NotFound if it
        is not, and for a live twin."""
        self._refuse_past("fork", "; give its own `at`")
        about = self._get(TwinInfo, "/v1/twin")
        meant = TargetTwin(about.place, self._client, is_live=about.runtime == "live")
        return fork_folder_of(
            meant.folder(NOT_LIVE),
            self._client,
            name,
            at=at,
            future=future,
            parameters=parameters,
            fabric=fabric,
        )
