"""Check that an existing twin matches the options.

The twin keeps its own values, so an option with another value is an error."""

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from ops.report.safe_text import quoted
from ops.sites.calibration import calibration_values
from ops.sites.configuration import config_from_pairs
from ops.sites.site_plans import FaultsReader, NewTwinOptions, default_names, has_own_seed
from schemas.config.pods import FabricConfig
from schemas.config.runtime_parameters import RUNTIME_PARAMETERS
from schemas.files.site_plan import SitePlan
from shared.basics.errors import InvalidInput

SITES_NAMED = 4
"""Maximum number of sites that a sentence names."""


ChangedParameters = Callable[[str, str], Mapping[str, object]]
"""(site, fabric) → current values of parameters that `lightwave set` changed there."""

log = logging.getLogger("lightwave.twin")


def nothing_changed(_site: str, _fabric: str) -> Mapping[str, object]:
    """No changes: a twin that has not run yet, or no need to know."""
    return {}


def check_same_twin(
    requested: NewTwinOptions,
    files: Sequence[SitePlan],
    kept: Sequence[SitePlan],
    changed: ChangedParameters = nothing_changed,
) -> None:
    """Raise InvalidInput if the options do not match the sites that the twin was created with.

    `files` are the sites of --site. The error names the fabric and the difference. If an option repeats an
    original value that was changed since, logs a warning.
    """
    if requested.faults is not None:
        _check_faults(requested.faults, kept)
    if requested.site_files:
        _check_sites(requested.site_files, files, kept, changed)
        return
    if requested.pods is not None:
        kinds = [config.kind for plan in kept for config in plan.fabrics.values()]
        kind = kinds[0] if requested.kind is None else requested.kind
        names = default_names(kind, requested.pods)
        if [(plan.site, *plan.fabrics) for plan in kept] != [(name, name) for name in names]:
            raise InvalidInput(f"--pods {requested.pods}: the twin has {_sites_text(kept)}")
    for plan in kept:
        for name, config in plan.fabrics.items():
            _check_options(requested, plan.site, name, config, changed)


def _check_faults(faults: FaultsReader, kept: Sequence[SitePlan]) -> None:
    """Raise InvalidInput if the twin was not created with these recorded faults."""
    for plan, requested in zip(kept, faults(kept), strict=True):
        for name, config in plan.fabrics.items():
            if requested.fabrics[name].faults != config.faults:
                count = 0 if config.faults is None else len(config.faults)
                has = "none" if not count else "1 other" if count == 1 else f"{count:,} others"
                raise InvalidInput(f"--faults: {name} was created with {has}")


def _check_options(
    requested: NewTwinOptions, site: str, name: str, config: FabricConfig, changed: ChangedParameters
) -> None:
    fabric = name if name == site else f"{name} of the site {site}"
    if requested.kind is not None and requested.kind != config.kind:
        raise InvalidInput(f"--kind {requested.kind}: {fabric} is a {config.kind}")
    values = {} if requested.calibration is None else calibration_values(requested.calibration, config.kind)
    given = config_from_pairs(config.kind, list(requested.pairs), seed=requested.seed, calibrated=values)
    by_hand = {pair.partition("=")[0].strip() for pair in requested.pairs}
    has = _flat(config.model_dump())
    now = changed(site, name) if RUNTIME_PARAMETERS.keys() & by_hand else {}
    for parameter, value in _flat(given.model_dump(exclude_unset=True)).items():
        if value == has[parameter]:
            if parameter in by_hand and now.get(parameter, value) != value:
                log.warning(
                    "--set %s=%s: %s was created with it; `lightwave set` has changed it to %s since",
                    *(parameter, value, fabric, now[parameter]),
                )
        else:
            of_option = parameter == "seed" and requested.seed is not None
            given_as = f"--seed {value}" if of_option else f"--set {parameter}={value}"
            if parameter in values and parameter not in by_hand:
                given_as = f"--calibration {requested.calibration}, which has {parameter} {value}"
            raise InvalidInput(f"{given_as}: {fabric} {_made_with_text(parameter, has[parameter], now)}")


def _made_with_text(parameter: str, made: object, now: Mapping[str, object]) -> str:
    """The original value of a parameter, and its current value if that differs."""
    if now.get(parameter, made) == made:
        return f"has {made}"
    return f"was created with {made}; `lightwave set` has changed it to {now[parameter]} since"


def _check_sites(
    paths: Sequence[Path], files: Sequence[SitePlan], kept: Sequence[SitePlan], changed: ChangedParameters
) -> None:
    lives = {plan.site: plan for plan in kept}
    for path, plan in zip(paths, files, strict=True):
        if plan.site not in lives:
            raise InvalidInput(f"--site {path}: the twin has no site {plan.site}; it has {_sites_text(kept)}")
        has = lives.pop(plan.site).fabrics
        if [*plan.fabrics] != [*has]:
            raise InvalidInput(f"--site {path}: the site {plan.site} of the twin began with {', '.join(has)}")
        for name, config in plan.fabrics.items():
            now = partial(changed, plan.site, name)
            if (difference := _difference(config, has[name], now)) is not None:
                raise InvalidInput(f"--site {path}: {name} of the site {plan.site} {difference}")
    if lives:
        raise InvalidInput(f"--site {paths[0]}: the twin has {_sites_text(kept)}")


def _difference(
    requested: FabricConfig, kept: FabricConfig, changed: Callable[[], Mapping[str, object]]
) -> str | None:
    """The first difference in words; None if there is none.

    A seed that the file leaves to --seed counts as unchanged, unless --seed is given."""
    if requested.kind != kept.kind:
        return f"is a {requested.kind} in the file and a {kept.kind} in the twin"
    if not has_own_seed(requested):
        requested = requested.model_copy(update={"seed": kept.seed})
    has = _flat(kept.model_dump())
    for name, value in _flat(requested.model_dump()).items():
        if value != (made := has.get(name)):  # recorded faults are left out where there are none
            now = changed().get(name, made)
            since = "" if now == made else f", where `lightwave set` has changed it to {quoted(now)} since"
            return f"has {name} {quoted(value)} in the file and {quoted(made)} in the twin{since}"
    return None


def _flat(values: Mapping[str, object], prefix: str = "") -> dict[str, object]:
    """Parameters by their dotted names."""
    found: dict[str, object] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            found |= _flat(value, f"{prefix}{name}.")
        else:
            found[f"{prefix}{name}"] = value
    return found


def _sites_text(sites: Sequence[SitePlan]) -> str:
    """`2 sites: campus (pod-0, pod-1), pod-7`."""
    shown_sites = [
        plan.site if [*plan.fabrics] == [plan.site] else f"{plan.site} ({', '.join(plan.fabrics)})"
        for plan in sites[:SITES_NAMED]
    ]
    more = ["…"] if len(sites) > SITES_NAMED else []
    return f"{len(sites)} site{'s' if len(sites) > 1 else ''}: {', '.join([*shown_sites, *more])}"
