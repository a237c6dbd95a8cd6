"""Input files of `lightwave dcn`: the site with the network, recorded demand, and the current circuits.

Demand is CSV or `.npz`. CSV has the header `from,to,mbps` and a line per pair with demand. `.npz` has an
array `demand` in Mb/s of shape (B, B), or (T, B, B) for several times; an optional array `blocks` has the
block names in row order, if that is not the order of the site file. Current circuits are the output of
`lightwave dcn plan -o json`.
"""

import csv
import io
import json
import re
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ops.local.input_files import read_input
from ops.report.safe_text import quoted, shortened
from ops.requests.name_expansion import without_kind
from ops.sites.site_plans import read_site, with_seed
from schemas.config.dcn import DcnConfig
from shared.basics.checks import closest_match_hint
from shared.basics.errors import InvalidInput
from shared.basics.value_words import has_zero_in_front, read_number
from shared.models.dcn.demand.demand_model import DEMAND_MAX_MBPS, demand_at, recorded_demand
from shared.models.dcn.routing.carried_traffic import NetworkDemand, demand_of, flows_of
from shared.models.network.blocks import NetworkLayout, network_of
from shared.models.superpod.wiring import IntArray

BYTES_MAX = 2**27
"""Unpacked: enough for a week of hourly matrices of 256 blocks."""
MATRICES_MAX = 2_000
COLUMNS = ["from", "to", "mbps"]


@dataclass(frozen=True, slots=True)
class SiteNetwork:
    """A network of a site, by its name and configuration."""

    fabric: str
    config: DcnConfig

    @property
    def plant(self) -> NetworkLayout:
        return network_of(self.config.network)

    def demand_at(self, hour: int) -> IntArray:
        """The demand (B, B) in Mb/s of an hour since the commissioning: that of the running fabric, without
        the traffic of slices on its pods."""
        return demand_of(self.drawn, hour, flows_of(self.plant, self.config.demand))

    @property
    def drawn(self) -> NetworkDemand:
        return NetworkDemand(self.config.seed, self.config.network, self.config.demand)

    def demand_while_growing(self, then: NetworkLayout, hour: int) -> IntArray:
        """The demand (b, b) in Mb/s of the blocks of `then`, some of which may be of an older generation."""
        places = [self.plant.number(block.name) for block in then.blocks]
        jobs = np.zeros(self.plant.rates.shape, dtype=np.int64)
        for tail, head, mbps in flows_of(self.plant, self.config.demand):
            jobs[tail, head] = mbps
        return demand_at(then, self.drawn.drawn, hour) + jobs[np.ix_(places, places)]


def read_network(path: Path, fabric: str | None = None, seed: int | None = None) -> SiteNetwork:
    """The network of a site file. `fabric` is optional if the site has one network. `seed` is for fabrics
    without a seed of their own. Raises InvalidInput that names file, block and field."""
    plan = read_site(path, "")
    if seed is not None:
        (plan,) = with_seed([plan], seed)
    networks = {name: config for name, config in plan.fabrics.items() if isinstance(config, DcnConfig)}
    named = ", ".join(networks)
    if fabric is None and len(networks) > 1:
        raise InvalidInput(f"{path}: has several networks, {named}; select one with --fabric")
    if fabric is None and not networks:
        raise InvalidInput(f"{path}: has no network; must describe a site with a fabric of kind dcn")
    name = next(iter(networks)) if fabric is None else fabric
    if name not in networks:
        raise InvalidInput(f"--fabric {name}: no network of {path}, which has {named or 'none'}")
    return SiteNetwork(name, networks[name])


def read_demands(path: Path, plant: NetworkLayout, fabric: str | None = None) -> list[IntArray]:
    """The demand matrices (B, B) of a file in Mb/s, at least one. Blocks may have the name of the `fabric` in
    front, as in the running twin. Raises InvalidInput that names file, line or blocks."""
    readers = {".csv": _of_csv, ".npz": _of_npz}
    reader = readers.get(path.suffix.lower())
    try:
        if reader is None:
            raise InvalidInput("is not a demand file; must be .csv or .npz")
        return reader(_bytes_of(path), plant, fabric)
    except InvalidInput as error:
        raise InvalidInput(f"{path}: {error}") from None


def read_circuits(path: Path, plant: NetworkLayout, fabric: str | None = None) -> IntArray:
    """The circuits (K, B, B) of a printed plan; names may have the `fabric` in front. Raises InvalidInput
    that names file, OCS and block if they are not valid for this plant."""
    try:
        try:
            content = json.loads(_bytes_of(path))
        except (ValueError, RecursionError) as error:
            raise InvalidInput(f"not JSON: {shortened(str(error), 120)}") from None
        rows = content.get("circuits") if isinstance(content, dict) else None
        if not isinstance(rows, list):
            raise InvalidInput("has no circuits; must be the output of `lightwave dcn plan -o json`")
        return _checked(plant, _circuits(rows, plant, fabric))
    except InvalidInput as error:
        raise InvalidInput(f"{path}: {error}") from None


def _bytes_of(path: Path) -> bytes:
    if not path.is_file():
        raise InvalidInput("no file" if not path.exists() else "no file, but a folder, pipe or device")
    try:
        return read_input(path, BYTES_MAX)
    except OSError as error:
        raise InvalidInput(error.strerror or str(error)) from None


def _of_csv(content: bytes, plant: NetworkLayout, fabric: str | None) -> list[IntArray]:
    try:
        rows = csv.reader(io.StringIO(content.decode("utf-8-sig"), newline=""), strict=True)
        header = [word.strip() for word in next(rows, [])]
        if header != COLUMNS:
            raise InvalidInput(f"line 1: {quoted(','.join(header))}; must be {','.join(COLUMNS)}")
        numbers = {block.name: n for n, block in enumerate(plant.blocks)}
        matrix = np.zeros(plant.rates.shape)
        seen: dict[tuple[int, int], int] = {}
        for row in rows:
            if row:
                cells = [word.strip() for word in row]
                names = [_local_name(name, fabric) for name in cells[:2]]
                _add_demand_row(matrix, seen, numbers, [*names, *cells[2:]], rows.line_num)
    except UnicodeDecodeError:
        raise InvalidInput("not UTF-8 text") from None
    except csv.Error as error:
        raise InvalidInput(f"line {rows.line_num}: not CSV: {error}") from None
    return [recorded_demand(plant, matrix)]


def _local_name(name: str, fabric: str | None) -> str:
    """A name without KIND/ and without the fabric in front: `block-0` of `dcn-0/block-0`."""
    local = without_kind(name)
    return local if fabric is None else local.removeprefix(f"{fabric}/")


def _add_demand_row(
    matrix: Any, seen: dict[tuple[int, int], int], numbers: dict[str, int], row: list[str], line: int
) -> None:
    """Add one line of a CSV file to the matrix. Raises InvalidInput that names the line and the problem."""
    if len(row) != len(COLUMNS):
        raise InvalidInput(f"line {line}: {len(row)} values; must be three: {','.join(COLUMNS)}")
    for name in row[:2]:
        if name not in numbers:
            raise InvalidInput(
                f"line {line}: block {quoted(name)}: no such block{closest_match_hint(name, numbers)}"
            )
    mbps = read_number(row[2])
    if mbps is None or not 0 <= mbps <= DEMAND_MAX_MBPS:
        zero = ", without a zero in front" if has_zero_in_front(row[2]) else ""
        allowed = f"a number between 0 and {DEMAND_MAX_MBPS:,}{zero}"
        raise InvalidInput(f"line {line}: mbps: {quoted(row[2])} is not allowed; must be {allowed}")
    pair = numbers[row[0]], numbers[row[1]]
    if pair in seen:
        raise InvalidInput(f"line {line}: {row[0]} → {row[1]} is given twice, first in line {seen[pair]}")
    seen[pair] = line
    matrix[pair] = mbps


def _of_npz(content: bytes, plant: NetworkLayout, fabric: str | None) -> list[IntArray]:
    given = _arrays_of(content)
    if "demand" not in given:
        raise InvalidInput("has no array demand")
    stack = given["demand"]
    if stack.dtype.kind not in "iuf":
        raise InvalidInput(f"demand: an array of {stack.dtype}; must be numbers")
    if stack.dtype.kind == "f":
        stack = stack.astype(np.float64)
    stack = stack[None] if stack.ndim == 2 else stack
    if stack.ndim != 3 or not 1 <= len(stack) <= MATRICES_MAX:
        shape = "×".join(map(str, given["demand"].shape))
        raise InvalidInput(
            f"demand: an array of {shape or 'no axes'}; must be blocks × blocks, and up to "
            f"{MATRICES_MAX:,} of these"
        )
    square = stack.shape[1] == stack.shape[2]  # other shapes are refused below
    order = _order(given.get("blocks"), plant, len(stack[0]), fabric) if square else None
    return [
        recorded_demand(plant, matrix if order is None else matrix[np.ix_(order, order)]) for matrix in stack
    ]


def _arrays_of(content: bytes) -> dict[str, NDArray[Any]]:
    """The arrays `demand` and `blocks` of an .npz file, if present."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            unpacked = sum(member.file_size for member in archive.infolist())
        if unpacked > BYTES_MAX:
            raise InvalidInput(f"unpacks to more than {BYTES_MAX // 2**20} MB, the maximum")
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            given = {name: arrays[name] for name in ("demand", "blocks") if name in arrays.files}
    except InvalidInput:
        raise
    except Exception as error:  # noqa: BLE001 -- damaged files make numpy, zip and codecs raise many kinds
        raise InvalidInput(f"not a NumPy archive: {shortened(str(error), 120)}") from None
    for name, array in given.items():
        if not isinstance(array, np.ndarray):
            raise InvalidInput(f"{name}: is not a NumPy array")
    return given


def _order(names: Any, plant: NetworkLayout, rows: int, fabric: str | None) -> list[int] | None:
    """The row of each block of the plant in the matrices; None if they have the plant's order."""
    if names is None:
        return None
    given = [_local_name(str(name), fabric) for name in np.asarray(names).ravel().tolist()]
    wanted = [block.name for block in plant.blocks]
    if len(given) != rows or sorted(given) != sorted(wanted):
        odd = sorted(set(given) ^ set(wanted))
        raise InvalidInput(f"blocks: not the network's, each once{': ' + ', '.join(odd[:3]) if odd else ''}")
    return [given.index(name) for name in wanted]


def _circuits(rows: list[Any], plant: NetworkLayout, fabric: str | None) -> IntArray:
    numbers = {block.name: n for n, block in enumerate(plant.blocks)}
    found = np.zeros((plant.ocs_count, *plant.rates.shape), dtype=np.int64)
    for row in rows:
        name = row.get("ocs") if isinstance(row, dict) else None
        ocs = _local_name(name, fabric) if isinstance(name, str) else ""
        matched = re.fullmatch(r"ocs-(0|[1-9][0-9]{0,5})", ocs)
        if matched is None or int(matched[1]) >= plant.ocs_count:
            raise InvalidInput(
                f"circuits: {quoted(name)} is not an OCS; must be ocs-0 to ocs-{plant.ocs_count - 1}"
            )
        pairs = row.get("circuits")
        for pair in pairs if isinstance(pairs, list) else [pairs]:
            if not isinstance(pair, list) or len(pair) != 2 or not all(isinstance(one, str) for one in pair):
                raise InvalidInput(
                    f"{name}: {quoted(pair)} is not a circuit; must be [north block, south block]"
                )
            ends = [_local_name(one, fabric) for one in pair]
            for one in ends:
                if one not in numbers:
                    raise InvalidInput(
                        f"{name}: block {quoted(one)}: no such block{closest_match_hint(one, numbers)}"
                    )
            found[int(matched[1]), numbers[ends[0]], numbers[ends[1]]] += 1
    return found


def _checked(plant: NetworkLayout, circuits: IntArray) -> IntArray:
    """The circuits, if the plant has enough ports for them and may join their blocks; else InvalidInput."""
    names = [block.name for block in plant.blocks]
    apart = (circuits > 0) & ~plant.may_join
    if apart.any():
        switch, tail, head = np.argwhere(apart)[0].tolist()
        raise InvalidInput(f"ocs-{switch}: {names[tail]} and {names[head]} must not be joined")
    for axis, side in ((2, "North"), (1, "South")):
        over = circuits.sum(axis=axis) > plant.ports
        if over.any():
            switch, block = np.argwhere(over)[0].tolist()
            taken = int(circuits.sum(axis=axis)[switch, block])
            raise InvalidInput(
                f"ocs-{switch}: block {names[block]} has {taken} circuits on its {side} side; must be at "
                f"most {int(plant.ports[block])}"
            )
    return circuits
