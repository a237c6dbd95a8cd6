"""What a twin is made of: its sites, each with its fabrics and their configurations; from options or from a
file."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError, field_validator

from ops.common.configuration import settings_of
from schemas.body import Model
from schemas.config import TraceRow
from schemas.config_by_kind import AnyConfig, config_model
from schemas.names import FabricName, SiteName, fabric_order
from shared.basics.errors import InvalidInput
from shared.storage.store import FabricPlace


class SitePlan(Model):
    """A site as it begins: its name, and each fabric with its configuration."""

    site: SiteName
    fabrics: dict[FabricName, AnyConfig]

    @field_validator("fabrics")
    @classmethod
    def _in_order(cls, fabrics: dict[str, AnyConfig]) -> dict[str, AnyConfig]:
        if not fabrics:
            raise ValueError("fabrics: none is given; allowed: one or more")
        return {name: fabrics[name] for name in sorted(fabrics, key=fabric_order)}


@dataclass(frozen=True, slots=True)
class AskedTwin:
    """What a new twin is to be made of, as it was asked for on the command line: so many pods of a kind, or
    the sites of some files. None where nothing was said."""

    pods: int | None = None
    kind: str | None = None
    seed: int | None = None
    pairs: tuple[str, ...] = ()
    site_files: tuple[Path, ...] = ()

    def sites(self, *, trace: tuple[TraceRow, ...] | None = None) -> tuple[SitePlan, ...]:
        """`trace` are recorded requests in place of arrivals. InvalidInput where options do not go together,
        or a file is not what it should be."""
        if not self.site_files:
            count, kind = 1 if self.pods is None else self.pods, self.kind or "superpod"
            return single_fabric_sites(count, kind=kind, pairs=self.pairs, seed=self.seed, trace=trace)
        for name, given in (
            ("--pods", self.pods),
            ("--kind", self.kind),
            ("--set", self.pairs or None),
            ("--trace", trace),
        ):
            if given is not None:
                raise InvalidInput(
                    f"{name}: not together with --site, whose file says what the site is made of"
                )
        sites = tuple(read_site(path, seed=self.seed) for path in self.site_files)
        check_sites(sites)
        return sites


def single_fabric_sites(
    count: int,
    *,
    kind: str = "superpod",
    pairs: Sequence[str] = (),
    seed: int | None = None,
    trace: tuple[TraceRow, ...] | None = None,
) -> tuple[SitePlan, ...]:
    """So many fabrics of a kind that don't touch each other: a site each, named as the fabric."""
    config = settings_of(kind, list(pairs), seed=seed, trace=trace)
    names = [f"pod-{number}" for number in range(count)]
    return tuple(SitePlan(site=name, fabrics={name: config}) for name in names)


def check_sites(sites: Sequence[SitePlan]) -> None:
    """InvalidInput where a name of a site or a fabric occurs twice."""
    for what, names in (
        ("site", [plan.site for plan in sites]),
        ("fabric", [name for plan in sites for name in plan.fabrics]),
    ):
        for name in names:
            if names.count(name) > 1:
                raise InvalidInput(
                    f"{what} {name}: given {names.count(name)} times; names are unique in a twin"
                )


def places_of(sites: Sequence[SitePlan], partitions: int) -> dict[str, FabricPlace]:
    """Where every fabric lives: the sites in turn over the partitions."""
    return {
        fabric: FabricPlace(n % partitions, plan.site, config.kind)
        for n, plan in enumerate(sites)
        for fabric, config in plan.fabrics.items()
    }


def read_site(path: Path, *, seed: int | None = None) -> SitePlan:
    """A site from a YAML file: `site` its name, `fabrics` a list of {name, kind, config}, where `config`
    holds what differs from the configuration of its kind. `seed` is that of fabrics that give none.
    InvalidInput names the line or the field, the value and what is allowed."""
    try:
        file = _mapping("the file", _yaml(path), ("site", "fabrics"))
        rows = file.get("fabrics")
        if not isinstance(rows, list) or not rows:
            raise InvalidInput(f"fabrics: {_short(rows)} is not allowed; allowed: a list of one or more")
        fabrics: dict[str, dict[str, object]] = {}
        for n, row in enumerate(rows):
            name, config = _fabric(f"fabrics.{n}", row, seed)
            if name in fabrics:
                raise InvalidInput(f"fabrics.{n}.name: {name} is given twice; names are unique")
            fabrics[name] = config
        return _validated(file.get("site"), fabrics)
    except InvalidInput as error:
        raise InvalidInput(f"--site {path}: {error}") from None


def _yaml(path: Path) -> object:
    import yaml

    try:
        return yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidInput(error.strerror or str(error)) from None
    except UnicodeDecodeError:
        raise InvalidInput("not a text in UTF-8") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 1}: " if mark is not None else ""
        raise InvalidInput(f"{where}not YAML: {getattr(error, 'problem', None) or error}") from None


def _fabric(where: str, row: object, seed: int | None) -> tuple[str, dict[str, object]]:
    """(name, configuration) of one row of the list."""
    fields = _mapping(where, row, ("name", "kind", "config"))
    name, kind = fields.get("name"), fields.get("kind", "superpod")
    if not isinstance(name, str):
        raise InvalidInput(f"{where}.name: {_short(name)} is no name; names are like pod-0")
    try:
        config_model(kind, f"{where}.kind")
    except ValueError as error:
        raise InvalidInput(str(error)) from None
    given = _mapping(f"{where}.config", fields.get("config") or {}, ("any parameter",), closed=False)
    return name, ({} if seed is None else {"seed": seed}) | given | {"kind": kind}


def _validated(site: object, fabrics: dict[str, dict[str, object]]) -> SitePlan:
    # Through JSON, for a list in YAML stands for what is a tuple in a strict model.
    text = json.dumps({"site": site, "fabrics": fabrics}, default=str)
    try:
        return SitePlan.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"] if part != "[key]")
        message = first["msg"].removeprefix("Value error, ")
        raise InvalidInput(f"{where}: {_short(first['input'])} is not allowed: {message}") from None


def _mapping(where: str, value: object, known: tuple[str, ...], *, closed: bool = True) -> dict[str, object]:
    if not isinstance(value, dict):
        raise InvalidInput(
            f"{where}: {_short(value)} is not allowed; allowed: {', '.join(known)} with values"
        )
    for name in value:
        if closed and name not in known:
            raise InvalidInput(f"{where}: no such field {_short(name)}; allowed: {', '.join(known)}")
    return value


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"
