"""The report of `lightwave ocs matrix`: the factory measurements of one OCS."""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ops.local.output_file import atomic_output_file
from ops.report.tables import text_table
from schemas.config.pods import SuperpodConfig
from schemas.names import number_of
from shared.basics.errors import InvalidInput, NotFound
from shared.models.assumptions import assumed
from shared.models.fabric_plants import check_ocs
from shared.models.ocs.patched_fibres import SIDES
from shared.models.ocs_technologies import ALIGNED_BY_CAMERA, ocs_technology, technology_ports
from shared.models.optics.palomar import DECIMALS, ManufacturedOcses, manufacture, mirror_count
from shared.models.superpod.superpod_plant import superpod_plant
from shared.models.superpod.wiring import ocs_radix

QUANTILES = (0.0, 0.5, 0.95, 0.99, 1.0)
WORST_SHOWN = 10
"""Port pairs in the table; JSON has all."""
PAIR_FIELDS = (
    *("ocs", "north", "south", "insertion_loss_db", "accuracy_db", "north_return_loss_db"),
    *("south_return_loss_db", "north_mirror", "south_mirror"),
)


@dataclass(frozen=True, slots=True)
class MeasuredPort:
    """A port such as `N17`, its mirror (None if the technology has no mirrors), and its reflection."""

    port: str
    mirror: int | None
    return_loss_db: float


@dataclass(frozen=True, slots=True)
class OcsMatrix:
    """The factory measurements of an OCS.

    - `ports_a_side`: number of ports. `ports`: those of the North side, then those of the South side.
    - `mirrors_a_die`: None if the technology has no mirrors. `spare_mirrors`: by side, those without a port.
    - `insertion_loss_db`: a row per North port, a column per South port, accurate to `accuracy_db`.
    - `repeat`: the command that prints the same report.
    """

    ocs: str
    seed: int
    technology: str
    ports_a_side: int
    mirrors_a_die: int | None
    spare_mirrors: dict[str, list[int]]
    accuracy_db: float
    ports: list[MeasuredPort]
    insertion_loss_db: list[list[float]]
    repeat: str


def ocs_matrix(name: str, seed: int, config: SuperpodConfig) -> OcsMatrix:
    """The factory measurements of an OCS: insertion loss of each port pair, reflections, mirrors.

    Raises NotFound for a name that nothing in the pod has, InvalidInput for something other than an OCS.
    """
    check_ocs(config)
    cubes, technology = config.pod.cubes, config.ocs.technology
    plant = superpod_plant(cubes)
    if not plant.contains(name):
        raise NotFound(plant.absence("ocs", name, name.split("/", maxsplit=1)[0]))
    part = plant.parse(name)
    if part.kind != "ocs":
        raise InvalidInput(f"ocs {name}: is not an OCS; must be a name such as pod-0/ocs-17")
    # Arrays are sized for the ports of a Palomar; a smaller switch uses the first of them.
    fabric, radix = name.split("/", maxsplit=1)[0], ocs_radix(cubes)
    ports = technology_ports(ocs_technology(technology), radix)
    made = manufacture(seed, fabric, np.array([number_of(name)]), radix, technology)
    has_mirrors = technology in ALIGNED_BY_CAMERA
    sides = zip(
        SIDES,
        (made.north_mirror[0], made.south_mirror[0]),
        (made.north_return_loss_db[0, :ports], made.south_return_loss_db[0, :ports]),
        strict=True,
    )
    listed: list[MeasuredPort] = []
    spare: dict[str, list[int]] = {}
    for side, mirrors, returns_db in sides:
        served = mirrors.tolist() if has_mirrors else [None] * ports
        listed += [
            MeasuredPort(f"{side}{port}", mirror, return_db)
            for port, (mirror, return_db) in enumerate(zip(served, returns_db.tolist(), strict=True))
        ]
        spare[side] = sorted(set(range(mirror_count(ports))) - set(served)) if has_mirrors else []
    return OcsMatrix(
        ocs=name,
        seed=seed,
        technology=technology,
        ports_a_side=ports,
        mirrors_a_die=mirror_count(ports) if has_mirrors else None,
        spare_mirrors=spare,
        accuracy_db=assumed("ocs_matrix_accuracy_db"),
        ports=listed,
        insertion_loss_db=_losses_db(made, ports),
        repeat=_repeat_command(name, seed, config),
    )


def _repeat_command(name: str, seed: int, config: SuperpodConfig) -> str:
    options = f"--seed {seed} --cubes {config.pod.cubes} --technology {config.ocs.technology}"
    return f"lightwave ocs matrix {name} {options} -o json"


def _losses_db(made: ManufacturedOcses, ports: int) -> list[list[float]]:
    rows: list[list[float]] = np.round(made.insertion_loss_db()[0, :ports, :ports], DECIMALS).tolist()
    return rows


def pair_columns(matrix: OcsMatrix) -> Mapping[str, Sequence[object]]:
    """The port pairs as columns by the names of PAIR_FIELDS, in order of North and South port."""
    count = matrix.ports_a_side
    north, south = matrix.ports[:count], matrix.ports[count:]
    pairs = [(n, s) for n in range(count) for s in range(count)]
    return {
        "ocs": [matrix.ocs] * len(pairs),
        "north": [n for n, _ in pairs],
        "south": [s for _, s in pairs],
        "insertion_loss_db": [matrix.insertion_loss_db[n][s] for n, s in pairs],
        "accuracy_db": [matrix.accuracy_db] * len(pairs),
        "north_return_loss_db": [north[n].return_loss_db for n, _ in pairs],
        "south_return_loss_db": [south[s].return_loss_db for _, s in pairs],
        "north_mirror": [north[n].mirror for n, _ in pairs],
        "south_mirror": [south[s].mirror for _, s in pairs],
    }


def as_csv(matrix: OcsMatrix) -> str:
    """A header, then a line per port pair; without the last newline."""
    found = pair_columns(matrix)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(PAIR_FIELDS)
    writer.writerows(zip(*(found[name] for name in PAIR_FIELDS), strict=True))
    return text.getvalue().rstrip("\n")


def write_parquet(matrix: OcsMatrix, out: Path) -> None:
    """Write a row per port pair."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    whole = ("north", "south", "north_mirror", "south_mirror")
    types = {"ocs": pa.string(), **dict.fromkeys(whole, pa.int16())}
    schema = pa.schema([(name, types.get(name, pa.float64())) for name in PAIR_FIELDS])
    with atomic_output_file(out) as file:
        pq.write_table(pa.table(pair_columns(matrix), schema=schema), file)


def matrix_table(matrix: OcsMatrix) -> str:
    """The quantiles of the losses, the worst pairs, and the mirrors."""
    losses_db = np.array(matrix.insertion_loss_db)
    returns_db = np.array([port.return_loss_db for port in matrix.ports])
    worst = np.argsort(-losses_db, axis=None, kind="stable")[:WORST_SHOWN].tolist()
    rows = [
        [f"{100 * share:g}%", f"{loss_db:.2f}", f"{return_db:.1f}"]
        for share, loss_db, return_db in zip(
            QUANTILES, np.quantile(losses_db, QUANTILES), np.quantile(returns_db, QUANTILES), strict=True
        )
    ]
    pairs = [(*divmod(place, losses_db.shape[1]), losses_db.flat[place]) for place in worst]
    count = matrix.ports_a_side
    mirrors = "no mirrors"
    if matrix.mirrors_a_die is not None:
        mirrors = f"{count} of {matrix.mirrors_a_die} mirrors of each die serve"
    return "\n".join(
        [
            f"{matrix.ocs}: {matrix.technology}, {count} × {count} ports, {mirrors}",
            f"losses as the factory measures them, within {matrix.accuracy_db:g} dB",
            "",
            text_table(("UP-TO", "LOSS-DB", "RETURN-DB"), rows),
            "",
            text_table(
                ("NORTH", "SOUTH", "LOSS-DB"), [[f"N{n}", f"S{s}", f"{db:.2f}"] for n, s, db in pairs]
            ),
            "",
            *(
                f"spare mirrors {side}: {', '.join(map(str, spare))}"
                for side, spare in matrix.spare_mirrors.items()
                if spare
            ),
            f"repeat: {matrix.repeat}",
        ]
    )
