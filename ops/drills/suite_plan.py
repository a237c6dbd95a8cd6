"""A suite: a folder of drill documents, and how the lab runs each of them (`suite.yaml`)."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ops.drills.document import Drill, read_drill
from ops.drills.fields import Field, read_document
from ops.drills.lab_run import LabDrill
from ops.sites.site_plans import read_site, single_fabric_sites, with_seed
from schemas.files.site_plan import SitePlan
from shared.basics.errors import InvalidInput
from shared.basics.units import US_PER_DAY

STANDARD = Path(__file__).parent / "suite"
"""The standard suite."""
SUITE_FILE = "suite.yaml"
SITES = Path(__file__).parents[1] / "sites"
SEED, WARM_UP_US = 7, 2 * US_PER_DAY
_FIELDS = ("site", "warm_up", "seed", "set", "variables")


@dataclass(frozen=True, slots=True)
class LabSettings:
    """How the lab runs a document. `site` is a site file, None for one superpod with the settings `pairs`
    (`KEY=VALUE`). `variables` replace values of the document's configuration."""

    seed: int = SEED
    warm_up_us: int = WARM_UP_US
    site: Path | None = None
    pairs: tuple[str, ...] = ()
    variables: Mapping[str, str] | None = None


def read_suite(folder: Path) -> dict[Path, LabSettings]:
    """Document → how the lab runs it, in order of the names. Without `suite.yaml` all run with the defaults.

    Raises InvalidInput for a folder without documents, and for settings that are not valid.
    """
    documents = sorted(
        path
        for path in (folder.iterdir() if folder.is_dir() else ())
        if path.suffix in (".yaml", ".yml", ".json") and path.name != SUITE_FILE
    )
    if not documents:
        raise InvalidInput(f"{folder}: has no drill documents; must be a folder with .yaml or .json files")
    if not (folder / SUITE_FILE).is_file():
        return {path: LabSettings() for path in documents}
    fields = read_document(folder / SUITE_FILE).fields(("seed", "warm_up", "documents"))
    default = _settings(
        {name: one for name, one in fields.items() if name != "documents"}, LabSettings(), folder
    )
    given = fields["documents"].mapping() if "documents" in fields else {}
    names = {path.stem: path for path in documents}
    for name, one in given.items():
        if name not in names:
            raise one.error(f"no such document; must be one of {', '.join(names)}")
    return {
        path: _settings(given[name].fields(_FIELDS), default, folder) if name in given else default
        for name, path in names.items()
    }


def _settings(fields: Mapping[str, Field], default: LabSettings, folder: Path) -> LabSettings:
    variables = default.variables
    if "variables" in fields:
        variables = {name: str(one.raw) for name, one in fields["variables"].mapping().items()}
    return LabSettings(
        seed=fields["seed"].whole(0, 2**52 - 1) if "seed" in fields else default.seed,
        warm_up_us=fields["warm_up"].duration_us() if "warm_up" in fields else default.warm_up_us,
        site=_site_file(fields["site"], folder) if "site" in fields else default.site,
        pairs=tuple(one.text("KEY=VALUE") for one in fields["set"].items("settings"))
        if "set" in fields
        else default.pairs,
        variables=variables,
    )


def _site_file(source: Field, folder: Path) -> Path:
    """A site file of the folder, or one that comes with the program."""
    name = source.text("the name of a site file, such as campus")
    for path in (folder / name, folder / f"{name}.yaml", SITES / f"{name}.yaml"):
        if path.is_file():
            return path
    raise source.refused("the name of a site file, such as campus")


def lab_drill(path: Path, settings: LabSettings, *, seed: int | None = None) -> LabDrill:
    """The run of a document in the lab; `seed` replaces that of the settings."""
    found = settings.seed if seed is None else seed
    drill = read_drill(path, settings.variables)
    return LabDrill(drill, _site(settings, drill, found), found, settings.warm_up_us)


def _site(settings: LabSettings, drill: Drill, seed: int) -> SitePlan:
    if settings.site is not None:
        (site,) = with_seed((read_site(settings.site),), seed)
        return site
    word = drill.fabric.rpartition("-")[0]
    if drill.fabric != "pod-0":
        raise InvalidInput(
            f"fabric: the drill is addressed to {drill.fabric}, and the lab makes pod-0; --site must name a "
            f"site file with a {word}"
        )
    (site,) = single_fabric_sites(1, pairs=settings.pairs, seed=seed)
    return site
