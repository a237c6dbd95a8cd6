"""The sites of a new twin, with their fabrics and configurations, from options or from files."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ops.report.safe_text import quoted
from ops.sites.calibration import calibration_values
from ops.sites.configuration import (
    DEFAULT_KIND,
    config_from_pairs,
    config_from_sections,
    merge_sections,
    to_sections,
)
from ops.sites.yaml_reader import read_yaml
from schemas.config.fabric_configs import config_model
from schemas.config.pods import FabricConfig
from schemas.config.workload import TraceRow
from schemas.fabric_names import FABRIC_NAMING, is_name_of_object
from schemas.files.site_plan import SitePlan
from schemas.names import FABRIC_PATTERN, SITE_PATTERN
from shared.basics.errors import InvalidInput
from shared.models.network.attachments import check_attachments, check_multipod_jobs
from shared.storage.store.state_store import FabricPlace

TraceReader = Callable[[FabricConfig], tuple[TraceRow, ...]]
"""Reads recorded requests for a fabric with this configuration. Raises InvalidInput that names requests that
do not fit."""


SIMPLE_WORLD = (
    "hardware fails and is repaired as simply as the papers assume: constant rates, technicians round the "
    "clock"
)

FaultsReader = Callable[[Sequence[SitePlan]], tuple[SitePlan, ...]]
"""Returns sites with the recorded faults of a file, instead of any that they have. InvalidInput names faults
that do not fit."""


@dataclass(frozen=True, slots=True)
class NewTwinOptions:
    """Command-line options of a new twin: `pods` fabrics of a kind, or the sites of files.

    None means that the option was not given. `pairs` are `KEY=VALUE` settings. `seed` is for fabrics without
    a seed of their own. `calibration` is a name or a file. `faults` adds recorded faults to the
    configurations of fabrics."""

    pods: int | None = None
    kind: str | None = None
    seed: int | None = None
    pairs: tuple[str, ...] = ()
    site_files: tuple[Path, ...] = ()
    calibration: str | None = None
    faults: FaultsReader | None = None

    @property
    def is_simple_world(self) -> bool:
        """Whether these are pods with the default failures and repairs (`SIMPLE_WORLD`)."""
        names = [pair.partition("=")[0].strip() for pair in self.pairs]
        return (
            self.calibration is None
            and not self.site_files
            and self.kind in (None, "superpod", "static-pod")
            and not any(name.startswith(("failures.", "repairs.")) for name in names)
        )

    def sites(self, *, trace: TraceReader | None = None) -> tuple[SitePlan, ...]:
        """The sites. `trace` reads recorded requests, instead of random arrivals. Raises InvalidInput if
        options contradict each other, or if a file is not valid."""
        found = self._without_faults(trace)
        return found if self.faults is None else self.faults(found)

    def _without_faults(self, trace: TraceReader | None) -> tuple[SitePlan, ...]:
        if not self.site_files:
            count = 1 if self.pods is None else self.pods
            kind = DEFAULT_KIND if self.kind is None else self.kind
            return single_fabric_sites(
                count,
                kind=kind,
                pairs=self.pairs,
                seed=self.seed,
                trace=trace,
                calibration=self.calibration,
            )
        for name, given in (
            ("--pods", self.pods),
            ("--kind", self.kind),
            ("--set", self.pairs or None),
            ("--calibration", self.calibration),
            ("--trace", trace),
        ):
            if given is not None:
                raise InvalidInput(f"{name}: cannot be combined with --site, whose file describes the site")
        sites = tuple(read_site(path) for path in self.site_files)
        check_sites(sites)
        return sites if self.seed is None else with_seed(sites, self.seed)


def single_fabric_sites(
    count: int,
    *,
    kind: str = DEFAULT_KIND,
    pairs: Sequence[str] = (),
    seed: int | None = None,
    trace: TraceReader | None = None,
    calibration: str | None = None,
) -> tuple[SitePlan, ...]:
    """`count` independent fabrics of a kind, each in a site with the name of the fabric."""
    values = None if calibration is None else calibration_values(calibration, kind)
    if values is not None and not values:
        raise InvalidInput(f"--calibration {calibration}: has no parameter of a {kind}; leave it out")
    config = config_from_pairs(kind, list(pairs), seed=seed, calibrated=values)
    if trace is not None:
        config = config_from_pairs(kind, list(pairs), seed=seed, trace=trace(config), calibrated=values)
    return tuple(SitePlan(site=name, fabrics={name: config}) for name in default_names(kind, count))


def default_names(kind: str, count: int) -> list[str]:
    """The default names of `count` fabrics of a kind: pod-0, pod-1 and so on for pods, dcn-0 for networks."""
    config_model(kind, "--kind")
    return [f"{FABRIC_NAMING[kind].prefix}-{number}" for number in range(count)]


def check_sites(sites: Sequence[SitePlan]) -> None:
    """Raise InvalidInput if a name of a site or fabric is used twice, or if a fabric has jobs over several
    pods that no network connects."""
    for plan in sites:
        for name in plan.fabrics:
            check_multipod_jobs(plan.site, plan.fabrics, name)
    for word, names in (
        ("site", [plan.site for plan in sites]),
        ("fabric", [name for plan in sites for name in plan.fabrics]),
    ):
        for name, times in Counter(names).items():
            if times > 1:
                raise InvalidInput(f"{word} {name}: given {times} times; names are unique in a twin")


def with_seed(sites: Sequence[SitePlan], seed: int) -> tuple[SitePlan, ...]:
    """The same sites, with this seed for fabrics without a seed of their own. Raises InvalidInput if all have
    one."""
    if not lacks_seed(sites):
        raise InvalidInput(
            f"--seed {seed}: every fabric of the file has its own seed; leave out either --seed or "
            "those seeds"
        )
    return tuple(
        SitePlan(
            site=plan.site,
            fabrics={
                name: config if has_own_seed(config) else config.model_copy(update={"seed": seed})
                for name, config in plan.fabrics.items()
            },
        )
        for plan in sites
    )


def lacks_seed(sites: Sequence[SitePlan]) -> bool:
    """Whether a fabric has no seed of its own."""
    return not all(has_own_seed(config) for plan in sites for config in plan.fabrics.values())


def has_own_seed(config: FabricConfig) -> bool:
    """Whether the seed of a configuration was set explicitly."""
    return "seed" in config.model_fields_set


def common_seed(sites: Sequence[SitePlan]) -> int | None:
    """The seed of all fabrics; None if they differ."""
    seeds = {config.seed for plan in sites for config in plan.fabrics.values()}
    return seeds.pop() if len(seeds) == 1 else None


def fabric_places(sites: Sequence[SitePlan], partitions: int) -> dict[str, FabricPlace]:
    """The place of every fabric; sites are assigned to partitions in turn."""
    return {
        fabric: FabricPlace(n % partitions, plan.site, config.kind)
        for n, plan in enumerate(sites)
        for fabric, config in plan.fabrics.items()
    }


def read_site(path: Path, option: str = "--site ") -> SitePlan:
    """Read a site from a YAML file: its name `site`, and `fabrics`, a list of {name, kind, config}.

    `config` has the differences from the default configuration of the kind, or from the file's `calibration`.
    Raises InvalidInput that names the option, the file, the line or field, the value and what is allowed.
    """
    try:
        content = read_yaml(path)
        if content is None:
            raise InvalidInput("is empty; must have site and fabrics")
        file = _mapping("the file", content, ("site", "fabrics", "calibration"))
        calibration = file.get("calibration")
        if not isinstance(calibration, str | None):
            raise InvalidInput(f"calibration: {quoted(calibration)} is not allowed; must be a name or a file")
        site = file.get("site")
        if not isinstance(site, str) or re.fullmatch(SITE_PATTERN, site) is None:
            raise InvalidInput(_bad_name_text("site", site, "campus or pod-0"))
        rows = file.get("fabrics")
        if not isinstance(rows, list) or not rows:
            problem = "is missing" if rows is None else f"{quoted(rows)} is not allowed"
            raise InvalidInput(f"fabrics: {problem}; must be a list of one or more")
        fabrics: dict[str, FabricConfig] = {}
        for n, row in enumerate(rows):
            name, config = _fabric(f"fabrics.{n}", row, calibration)
            if name in fabrics:
                raise InvalidInput(f"fabrics.{n}.name: {name} is given twice; names are unique")
            fabrics[name] = config
        plan = SitePlan(site=site, fabrics=fabrics)
        check_attachments(plan.fabrics)
        return plan
    except InvalidInput as error:
        raise InvalidInput(f"{option}{path}: {error}") from None


def _fabric(where: str, row: object, calibration: str | None) -> tuple[str, FabricConfig]:
    """(name, configuration) of one row of the list; its values replace those of the calibration."""
    fields = _mapping(where, row, ("name", "kind", "config"))
    name, kind = fields.get("name"), fields.get("kind", DEFAULT_KIND)
    if not isinstance(name, str) or re.fullmatch(FABRIC_PATTERN, name) is None:
        raise InvalidInput(_bad_name_text(f"{where}.name", name, "pod-4"))
    if is_name_of_object(name):
        raise InvalidInput(f"{where}.name: {name} is the name of an object in a fabric; names are like pod-4")
    try:
        config_model(kind, f"{where}.kind")
    except ValueError as error:
        raise InvalidInput(str(error)) from None
    config = fields.get("config")
    given = {} if config is None else _mapping(f"{where}.config", config)
    if "kind" in given:
        raise InvalidInput(
            f"{where}.config.kind: is not a parameter; put the kind next to config: {where}.kind"
        )
    base = {} if calibration is None else to_sections(calibration_values(calibration, str(kind)))
    return name, config_from_sections(str(kind), merge_sections(base, given), f"{where}.config")


def _bad_name_text(where: str, name: object, like: str) -> str:
    problem = "is missing" if name is None else f"{quoted(name)} is not a valid name"
    return f"{where}: {problem}; names are like {like}"


def _mapping(where: str, value: object, known: tuple[str, ...] = ()) -> dict[str, object]:
    """Check that the value is a mapping with known fields only; without `known`, any field is accepted."""
    if not isinstance(value, dict):
        allowed = ", ".join(known) or "parameters by name"
        raise InvalidInput(f"{where}: {quoted(value)} is not allowed; must be {allowed}, with values")
    for name in value:
        if known and name not in known:
            raise InvalidInput(f"{where}: no such field {quoted(name)}; must be one of {', '.join(known)}")
    return value
