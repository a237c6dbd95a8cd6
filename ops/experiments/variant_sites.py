"""The sites of a variant, with their parameters."""

from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path

from ops.experiments.recorded_inputs import inputs_sha256, trace_of
from ops.experiments.schema import Experiment, Scalar, Values
from ops.report.safe_text import quoted
from ops.sites.calibration import resolve_calibration
from ops.sites.configuration import (
    config_from_sections,
    merge_sections,
    parameters,
    parse_value,
    to_sections,
    value_type,
)
from ops.sites.site_plans import read_site, single_fabric_sites
from schemas.config.fabric_configs import CONFIGS
from schemas.files.site_plan import SitePlan
from shared.basics.checks import closest_match_hint
from shared.basics.errors import InvalidInput

KIND_PARAMETER = "fabric.kind"
"""A name that varies like a parameter but is not one."""


def sites_of(
    experiment: Experiment, values: Values, folder: Path, seed: int = 0, *, is_quick: bool = False
) -> tuple[SitePlan, ...]:
    """Return the sites with these parameters. Their fabrics have this seed and play the experiment's trace.
    Raises InvalidInput that names an invalid parameter."""
    fabric = experiment.fabric
    if "seed" in values:
        raise InvalidInput("seed: must not be set here; use seeds: count, first, least and most")
    if fabric.site is None:
        kind, own = _kind_of(fabric.kind, values)
        return single_fabric_sites(
            fabric.pods,
            kind=kind,
            pairs=set_options(own),
            seed=seed,
            trace=None
            if fabric.trace is None
            else lambda config: trace_of(experiment, config, folder, is_quick=is_quick).rows,
            calibration=None
            if fabric.calibration is None
            else resolve_calibration(folder, fabric.calibration),
        )
    if KIND_PARAMETER in values:
        raise InvalidInput(
            f"{KIND_PARAMETER}: must not be given together with fabric.site, whose file defines the fabrics"
        )
    plan = read_site(folder / fabric.site, "fabric.site ")
    known = {name: {p.name for p in parameters(config.kind)} for name, config in plan.fabrics.items()}
    for name in values:
        if not any(name in names for names in known.values()):
            every = sorted(set[str]().union(*known.values()))
            raise InvalidInput(
                f"{name}: no such parameter in any fabric of the site{closest_match_hint(name, every)}"
            )
    fabrics = {
        name: config_from_sections(
            config.kind,
            merge_sections(
                config.model_dump(mode="json", exclude_unset=True, exclude={"kind"}),
                to_sections({own: value for own, value in values.items() if own in known[name]})
                | {"seed": seed},
            ),
            name,
        )
        for name, config in plan.fabrics.items()
    }
    return (SitePlan(site=plan.site, fabrics=fabrics),)


@dataclass(frozen=True, slots=True)
class ExperimentParameter:
    """A varied parameter of a kind of fabric. Its values have one type, even if the document mixes types."""

    kind: str
    name: str

    @property
    def type(self) -> type[bool] | type[int] | type[float] | type[str]:
        return str if self.name == KIND_PARAMETER else value_type(self.kind, self.name)

    def value(self, given: Scalar) -> Scalar:
        return given if self.name == KIND_PARAMETER else parse_value(self.kind, self.name, _text(given))


def parameters_of(
    experiment: Experiment, names: Collection[str], folder: Path
) -> dict[str, ExperimentParameter]:
    """Return the parameters among these names that the experiment's fabrics have."""
    (site, *_) = sites_of(experiment, {}, folder)
    kinds = dict.fromkeys(config.kind for config in site.fabrics.values())
    if KIND_PARAMETER in names:
        kinds |= dict.fromkeys(CONFIGS)
    known = {kind: {*_parameter_names(kind), KIND_PARAMETER} for kind in kinds}
    return {
        name: ExperimentParameter(next(kind for kind, own in known.items() if name in own), name)
        for name in names
    }


def site_sha256(experiment: Experiment, folder: Path) -> str | None:
    """Return the SHA-256 over the site file, the calibration and the recorded files; None if there are
    none."""
    inputs = inputs_sha256(experiment, folder)
    if experiment.fabric.site is None and experiment.fabric.calibration is None and not inputs:
        return None
    sites = sites_of(experiment, {}, folder)
    return sha256("".join([*(site.model_dump_json() for site in sites), *inputs]).encode()).hexdigest()


def _kind_of(kind: str, values: Values) -> tuple[str, Values]:
    """Return the kind of fabric, which may vary like a parameter, and the actual parameters. Raises
    InvalidInput if a parameter belongs to another kind only."""
    own = {name: value for name, value in values.items() if name != KIND_PARAMETER}
    if KIND_PARAMETER not in values:
        return kind, own
    wanted = values[KIND_PARAMETER]
    if wanted not in CONFIGS:
        known = ", ".join(CONFIGS)
        raise InvalidInput(
            f"{KIND_PARAMETER}: {quoted(wanted)} is not allowed; must be one of "
            f"{known}{closest_match_hint(str(wanted), CONFIGS)}"
        )
    kind = str(wanted)
    for name in own:
        others = [other for other in CONFIGS if name in _parameter_names(other)]
        if others and kind not in others:
            raise InvalidInput(
                f"{name}: a {kind} has no such parameter, only a {' and a '.join(others)}; set it "
                f"in vary.list, in the variants of that {KIND_PARAMETER} alone"
            )
    return kind, own


@cache
def _parameter_names(kind: str) -> frozenset[str]:
    return frozenset(parameter.name for parameter in parameters(kind))


def set_options(values: Values) -> list[str]:
    """Format the parameters for `--set`."""
    return [f"{name}={_text(value)}" for name, value in values.items()]


def _text(value: Scalar) -> str:
    if value is None or isinstance(value, bool):
        return str(value).lower()
    return repr(value) if isinstance(value, float) else str(value)
