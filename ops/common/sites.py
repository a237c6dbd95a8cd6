"""What a twin is made of: its sites, each with its fabrics and their configurations; from options or a file."""

from collections.abc import Sequence
from pathlib import Path

from pydantic import ValidationError, field_validator

from ops.common.configuration import settings_of
from schemas.body import Model
from schemas.config import AnyConfig, TraceRow
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
    """A site from a YAML file: `site` its name, `fabrics` a list of {name, kind, config}, where `config` holds
    what differs from the configuration of its kind. `seed` is that of fabrics that give none. InvalidInput
    names the line or the field, the value and what is allowed."""
    import yaml

    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidInput(f"--site {path}: {error.strerror or error}") from None
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        where = getattr(error, "problem_mark", None)
        line = f" line {where.line + 1}:" if where is not None else ""
        problem = getattr(error, "problem", None) or "not a text in UTF-8"
        raise InvalidInput(f"--site {path}:{line} not YAML: {problem}") from None
    fields = _mapping(path, "the file", content, {"site", "fabrics"})
    rows = fields.get("fabrics")
    if not isinstance(rows, list) or not rows:
        raise InvalidInput(
            f"--site {path}: fabrics: {_short(rows)} is not allowed; allowed: a list of one or more"
        )
    fabrics: dict[str, object] = {}
    for n, row in enumerate(rows):
        row = _mapping(path, f"fabrics.{n}", row, {"name", "kind", "config"})
        name, kind = row.get("name"), row.get("kind", "superpod")
        if not isinstance(name, str):
            raise InvalidInput(
                f"--site {path}: fabrics.{n}.name: {_short(name)} is no name; names are like pod-0"
            )
        if name in fabrics:
            raise InvalidInput(f"--site {path}: fabrics.{n}.name: {name} is given twice; names are unique")
        config = _mapping(path, f"fabrics.{n}.config", row.get("config") or {}, None)
        fabrics[name] = ({"seed": seed} if seed is not None else {}) | config | {"kind": kind}
    try:
        return SitePlan.model_validate({"site": fields.get("site"), "fabrics": fabrics}, strict=False)
    except ValidationError as error:
        first = error.errors()[0]
        where_is = ".".join(str(part) for part in first["loc"] if part != "[key]")
        raise InvalidInput(
            f"--site {path}: {where_is}: {_short(first['input'])}: {_sentence(first['msg'])}"
        ) from None


def _mapping(path: Path, where: str, value: object, known: set[str] | None) -> dict[str, object]:
    if not isinstance(value, dict):
        raise InvalidInput(
            f"--site {path}: {where}: {_short(value)} is not allowed; allowed: fields with values"
        )
    for name in value:
        if known is not None and name not in known:
            allowed = ", ".join(sorted(known))
            raise InvalidInput(f"--site {path}: {where}: no such field {name!r}; allowed: {allowed}")
    return value


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"


def _sentence(message: str) -> str:
    return message.removeprefix("Value error, ")
