"""What an experiment runs: the sites of a variant, with their parameters."""

from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path

from ops.common.calibration import found_from
from ops.common.configuration import config_of, in_sections, over, parameters, value_of, value_type
from ops.common.quoted import quoted
from ops.common.sites import read_site, single_fabric_sites
from ops.experiments.document import Experiment, Scalar, Values
from schemas.config_by_kind import CONFIGS
from schemas.site_plan import SitePlan
from shared.basics.checks import nearest_word
from shared.basics.errors import InvalidInput

KIND = "fabric.kind"
"""Varies as a parameter does, and is none."""


def sites_of(experiment: Experiment, values: Values, folder: Path, seed: int = 0) -> tuple[SitePlan, ...]:
    """The sites under these parameters, whose fabrics have this seed. InvalidInput names a parameter that
    does not fit."""
    fabric = experiment.fabric
    if "seed" in values:
        raise InvalidInput("seed: is no parameter to set; allowed are seeds: count, first, least and most")
    if fabric.site is None:
        kind, own = _kind_of(fabric.kind, values)
        return single_fabric_sites(
            fabric.pods,
            kind=kind,
            pairs=pairs_of(own),
            seed=seed,
            calibration=None if fabric.calibration is None else found_from(folder, fabric.calibration),
        )
    if KIND in values:
        raise InvalidInput(f"{KIND}: not together with fabric.site, whose file says what it is made of")
    plan = read_site(folder / fabric.site, "fabric.site ")
    known = {name: {p.name for p in parameters(config.kind)} for name, config in plan.fabrics.items()}
    for name in values:
        if not any(name in names for names in known.values()):
            every = sorted(set[str]().union(*known.values()))
            raise InvalidInput(
                f"{name}: no fabric of the site has such a parameter{nearest_word(name, every)}"
            )
    fabrics = {
        name: config_of(
            config.kind,
            over(
                config.model_dump(mode="json", exclude_unset=True, exclude={"kind"}),
                in_sections({own: value for own, value in values.items() if own in known[name]})
                | {"seed": seed},
            ),
            name,
        )
        for name, config in plan.fabrics.items()
    }
    return (SitePlan(site=plan.site, fabrics=fabrics),)


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter that varies, as one of a kind of fabric. Its values are of one type, however the document
    writes them."""

    kind: str
    name: str

    @property
    def type(self) -> type[bool] | type[int] | type[float] | type[str]:
        return str if self.name == KIND else value_type(self.kind, self.name)

    def value(self, given: Scalar) -> Scalar:
        return given if self.name == KIND else value_of(self.kind, self.name, _text(given))


def parameters_of(experiment: Experiment, names: Collection[str], folder: Path) -> dict[str, Parameter]:
    """Those of these names, which the experiment's fabrics have."""
    (site, *_) = sites_of(experiment, {}, folder)
    kinds = dict.fromkeys(config.kind for config in site.fabrics.values())
    if KIND in names:
        kinds |= dict.fromkeys(CONFIGS)
    known = {kind: {*_names(kind), KIND} for kind in kinds}
    return {name: Parameter(next(kind for kind, own in known.items() if name in own), name) for name in names}


def site_sha256(experiment: Experiment, folder: Path) -> str | None:
    """SHA-256 of what the site's file or the calibration says; None where there is neither."""
    if experiment.fabric.site is None and experiment.fabric.calibration is None:
        return None
    sites = sites_of(experiment, {}, folder)
    return sha256("".join(site.model_dump_json() for site in sites).encode()).hexdigest()


def _kind_of(kind: str, values: Values) -> tuple[str, Values]:
    """The kind of fabric, which may vary as a parameter does, and the parameters proper. InvalidInput names
    one that only another kind has."""
    own = {name: value for name, value in values.items() if name != KIND}
    if KIND not in values:
        return kind, own
    wanted = values[KIND]
    if wanted not in CONFIGS:
        known = ", ".join(CONFIGS)
        raise InvalidInput(
            f"{KIND}: {quoted(wanted)} is not allowed; allowed: {known}{nearest_word(str(wanted), CONFIGS)}"
        )
    kind = str(wanted)
    for name in own:
        others = [other for other in CONFIGS if name in _names(other)]
        if others and kind not in others:
            raise InvalidInput(
                f"{name}: a {kind} has no such parameter, only a {' and a '.join(others)}; give it "
                f"in vary.list, in the variants of that {KIND} alone"
            )
    return kind, own


@cache
def _names(kind: str) -> frozenset[str]:
    return frozenset(parameter.name for parameter in parameters(kind))


def pairs_of(values: Values) -> list[str]:
    """As `--set` takes them."""
    return [f"{name}={_text(value)}" for name, value in values.items()]


def _text(value: Scalar) -> str:
    if value is None or isinstance(value, bool):
        return str(value).lower()
    return repr(value) if isinstance(value, float) else str(value)
