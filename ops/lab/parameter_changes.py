"""Parameters that change during a run: `KEY=VALUE@TIME`, such as `failures.host_per_day=0.1@5d`, with
`,fabric=pod-1` to select one of several fabrics."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ops.lab.timed_requests import PlannedRequest
from ops.report.safe_text import quoted
from ops.requests.option_syntax import parse_options, parse_run_time_us, split_timed_option
from ops.sites.configuration import parse_pairs
from schemas.config.fabric_configs import CONFIGS
from schemas.config.parameter import ParameterSetting, parameters_of
from schemas.config.pods import FabricConfig
from schemas.config.runtime_parameters import with_settings
from schemas.messages.operator import SetParameters
from shared.basics.checks import closest_match_hint
from shared.basics.errors import InvalidInput
from shared.basics.time_format import format_time

CHANGE_FORM = (
    "KEY=VALUE@TIME, such as failures.host_per_day=0.1@5d; ,fabric=pod-1 selects one of several fabrics"
)


@dataclass(frozen=True, slots=True)
class ParameterChangeAt:
    """A parameter change as the user wrote it. `where` is its place in errors, `pair` is KEY=VALUE. Without
    `fabric`, it applies to every fabric that has the parameter."""

    where: str
    at_us: int
    pair: str
    fabric: str | None = None


def is_timed(pair: str) -> bool:
    """Whether a setting has a time."""
    return "@" in pair


def parse_change(text: str) -> ParameterChangeAt:
    """Parse a `--set` option with a time."""
    where = f"--set {quoted(text)}"
    option = split_timed_option(text, has_span=False)
    if option.time is None or "=" not in option.head:
        raise InvalidInput(f"{where}: must be {CHANGE_FORM}")
    words = parse_options(where, option.words, ("fabric",), CHANGE_FORM)
    at_us = parse_run_time_us(where, option.time)
    return ParameterChangeAt(where, at_us, option.head, words.get("fabric"))


def parameter_changes(
    changes: Sequence[ParameterChangeAt], fabrics: Mapping[str, FabricConfig], end_us: int
) -> list[PlannedRequest]:
    """Return the requests that change these parameters during a run that ends at `end_us`, like the command
    `set`: one per fabric and time.

    Raises InvalidInput if a parameter cannot change at run time, if a value is not allowed then, or if a
    change comes after the end.
    """
    configs = dict(fabrics)
    found: list[PlannedRequest] = []
    groups: dict[tuple[int, str], list[ParameterChangeAt]] = {}
    for change in sorted(changes, key=lambda one: one.at_us):
        if change.at_us > end_us:
            raise InvalidInput(
                f"{change.where}: {format_time(change.at_us)} is after the end of the run; must be at most "
                f"{format_time(end_us)}"
            )
        for fabric in _fabrics_of(change, fabrics):
            groups.setdefault((change.at_us, fabric), []).append(change)
    for (at_us, fabric), together in groups.items():
        where = together[0].where
        try:
            values = parse_pairs(configs[fabric].kind, [one.pair for one in together])
            settings = tuple(ParameterSetting(name=name, value=value) for name, value in values.items())
            configs[fabric], _ = with_settings(configs[fabric], settings)
        except (InvalidInput, ValueError) as error:
            raise InvalidInput(f"{where}: {error}") from None
        found.append(PlannedRequest(at_us, fabric, SetParameters(settings=settings)))
    return found


def _fabrics_of(change: ParameterChangeAt, fabrics: Mapping[str, FabricConfig]) -> list[str]:
    """Return the fabrics to which a change applies."""
    if change.fabric is not None:
        if change.fabric not in fabrics:
            raise InvalidInput(
                f"{change.where}: no such fabric {quoted(change.fabric)}; must be one of "
                f"{', '.join(fabrics)}{closest_match_hint(change.fabric, fabrics)}"
            )
        return [change.fabric]
    name = change.pair.partition("=")[0].strip()
    having = [fabric for fabric, config in fabrics.items() if name in parameters_of(CONFIGS[config.kind])]
    return having or [*fabrics][:1]  # the check of a fabric without the parameter reports the error
