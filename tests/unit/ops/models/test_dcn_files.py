"""Files about a datacenter network: written content is read back, and each error is one sentence."""

import contextlib
import io
import json
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ops.models.dcn.input_files import SiteNetwork, read_circuits, read_demands, read_network
from ops.models.dcn.study_report import circuit_rows
from ops.sites.site_plans import NewTwinOptions
from schemas.documents.dcn import DemandDocument
from services.fabric_kinds import services_of
from shared.basics.errors import InvalidInput
from shared.basics.units import US_PER_HOUR
from shared.models.dcn.engineering.baselines import uniform_mesh
from shared.models.dcn.rewiring.matchings import matched_circuits
from shared.models.network.blocks import Block, layout_of
from shared.runtimes.lab import Lab
from tests.support.dcn_plants import plant

LAYOUT = plant(3)
MATRIX = np.array([[0, 5, 0], [7, 0, 1], [0, 0, 0]])
HEAD = "from,to,mbps\n"


def test_csv_and_npz_are_equivalent(tmp_path: Path) -> None:
    text = tmp_path / "d.csv"
    text.write_text(HEAD + "ab-0,ab-1,5\nab-1,ab-0,7.4\n\nab-1, ab-2 ,1\n")
    arrays = tmp_path / "d.npz"
    np.savez(arrays, demand=MATRIX)
    for path in (text, arrays):
        (demand,) = read_demands(path, LAYOUT)
        assert (demand == MATRIX).all()


def test_rows_are_sorted_by_block(tmp_path: Path) -> None:
    order = [2, 0, 1]
    path = tmp_path / "week.npz"
    stack = np.stack([MATRIX, 2 * MATRIX])[:, order][:, :, order].astype(np.float64)
    np.savez_compressed(path, demand=stack, blocks=np.array([f"ab-{n}" for n in order]))
    first, second = read_demands(path, LAYOUT)
    assert (first == MATRIX).all()
    assert (second == 2 * MATRIX).all()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "line 1: ''; must be from,to,mbps"),
        ("a,b\n", "line 1: 'a,b'; must be from,to,mbps"),
        (HEAD + "ab-0,ab-1\n", "line 2: 2 values; must be three: from,to,mbps"),
        (HEAD + "ab-0,ab-11,4\n", "line 2: block 'ab-11': no such block; the nearest is ab-1"),
        (HEAD + "ab-0,ab-1,-4\n", "line 2: mbps: '-4' is not allowed; must be a number between 0 and"),
        (HEAD + "ab-0,ab-1,nan\n", "line 2: mbps: 'nan' is not allowed"),
        (HEAD + "ab-0,ab-1,4\nab-0,ab-1,4\n", "line 3: ab-0 → ab-1 is given twice, first in line 2"),
        (HEAD + "ab-0,ab-0,4\n", "demand ab-0 → ab-0: 4 Mb/s is not allowed: a block cannot send to itself"),
        *(
            (
                HEAD + f"ab-0,ab-1,{large}\n",
                f"mbps: '{large}' is not allowed; must be a number between 0 and",
            )
            for large in ("999999999999", "1e15", "1e400", "007")
        ),
        (HEAD + 'ab-0,"ab-1,4\n', "not CSV: unexpected end of data"),
        (HEAD + "\x00\n", "line 2: "),
    ],
)
def test_an_error_in_csv_names_line_and_value(tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "d.csv"
    path.write_text(text)
    refused(lambda: read_demands(path, LAYOUT), path, sentence)


def refused(work: Callable[[], object], path: Path, sentence: str) -> None:
    with pytest.raises(InvalidInput) as error:
        work()
    error_text = str(error.value)
    assert error_text.startswith(f"{path}: ")
    assert sentence in error_text
    assert "\n" not in error_text


@pytest.mark.parametrize(
    ("arrays", "sentence"),
    [
        ({"load": MATRIX}, "has no array demand"),
        ({"demand": np.array(["x"])}, "demand: an array of <U1; must be numbers"),
        ({"demand": np.array(4)}, "demand: an array of no axes; must be blocks × blocks"),
        ({"demand": MATRIX[:2]}, "demand: a matrix of 2×3 is not allowed; must be 3×3"),
        ({"demand": -MATRIX}, "demand ab-0 → ab-1: -5 is negative"),
        (
            {"demand": MATRIX, "blocks": np.array(["ab-0", "ab-1", "ab-7"])},
            "blocks: not the network's, each once",
        ),
        ({"demand": np.full((3, 3), np.nan)}, "demand ab-0 → ab-0: nan is not a number"),
    ],
)
def test_an_error_in_arrays_names_them(tmp_path: Path, arrays: dict[str, Any], sentence: str) -> None:
    path = tmp_path / "d.npz"
    np.savez(path, **arrays)
    refused(lambda: read_demands(path, LAYOUT), path, sentence)


def test_an_invalid_demand_file_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "d.csv"
    folder.mkdir()
    refused(lambda: read_demands(folder, LAYOUT), folder, "no file, but a folder, pipe or device")
    missing = tmp_path / "none.npz"
    refused(lambda: read_demands(missing, LAYOUT), missing, "no file")
    other = tmp_path / "d.txt"
    other.write_text("x")
    refused(lambda: read_demands(other, LAYOUT), other, "is not a demand file; must be .csv or .npz")
    broken = tmp_path / "b.npz"
    broken.write_bytes(b"PK\x03\x04 and no more")
    refused(lambda: read_demands(broken, LAYOUT), broken, "not a NumPy archive: ")
    latin = tmp_path / "l.csv"
    latin.write_bytes(b"from,to,mbps\n\xff\n")
    refused(lambda: read_demands(latin, LAYOUT), latin, "not UTF-8 text")


def test_too_large_arrays_are_not_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "bomb.npz"
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("demand.npy", "w") as member,
    ):
        for _ in range(129):
            member.write(bytes(2**20))
    refused(lambda: read_demands(path, LAYOUT), path, "unpacks to more than 128 MB")


def test_objects_in_arrays_are_not_loaded(tmp_path: Path) -> None:
    path = tmp_path / "o.npz"
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=True, demand=np.array([object], dtype=object))
    path.write_bytes(buffer.getvalue())
    refused(lambda: read_demands(path, LAYOUT), path, "not a NumPy archive: ")


def test_circuits_come_back_as_they_were_printed(tmp_path: Path) -> None:
    layout = plant(6, (100, 400), (256, 512))
    circuits = matched_circuits(layout, uniform_mesh(layout))
    path = tmp_path / "state.json"
    path.write_text(json.dumps({"circuits": circuit_rows(layout, circuits)}))
    assert (read_circuits(path, layout) == circuits).all()


def npz(header: bytes, data: bytes = b"", name: str = "demand.npy") -> bytes:
    """Return an archive with one array of this header."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        magic = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") if header else b""
        archive.writestr(name, magic + header + data)
    return content.getvalue()


def shaped(shape: str) -> bytes:
    return f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}}}\n".encode()


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (npz(shaped("(1000000, 1000000)"), b"\0" * 64), "not a NumPy archive: Unable to allocate 7.28 TiB"),
        (npz(shaped("(True, 2)"), b"\0" * 64), "not a NumPy archive: "),
        (npz(b"(" * 118), "not a NumPy archive: "),
        (npz(b"", b"hello"), "demand: is not a NumPy array"),
        (npz(b"", b"hello", "demand"), "demand: is not a NumPy array"),
        (npz(shaped("(2, 3)"), b"\0" * 48), "demand: a matrix of 2×3 is not allowed; must be 3×3"),
    ],
)
def test_arrays_with_a_false_header_are_refused(tmp_path: Path, content: bytes, sentence: str) -> None:
    path = tmp_path / "d.npz"
    path.write_bytes(content)
    refused(lambda: read_demands(path, LAYOUT), path, sentence)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_a_damaged_archive_is_an_error_in_one_sentence(tmp_path: Path, data: st.DataObject) -> None:
    path = tmp_path / "d.npz"
    blocks = [block.name for block in LAYOUT.blocks]
    save = data.draw(st.sampled_from([np.savez, np.savez_compressed]))
    save(path, demand=np.ones((len(blocks),) * 2) - np.eye(len(blocks)), blocks=blocks)
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(content)
    with contextlib.suppress(InvalidInput):
        assert read_demands(path, LAYOUT)[0].shape == (len(blocks),) * 2


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{", "not JSON: "),
        ("[" * 100_000, "not JSON: "),
        ("[]", "has no circuits; must be the output of `lightwave dcn plan -o json`"),
        ('{"circuits": [7]}', "circuits: null is not an OCS; must be ocs-0 to ocs-127"),
        ('{"circuits": [{"ocs": "ocs-128"}]}', "circuits: 'ocs-128' is not an OCS"),
        (
            '{"circuits": [{"ocs": "ocs-4"}]}',
            "ocs-4: null is not a circuit; must be [north block, south block]",
        ),
        (
            '{"circuits": [{"ocs": "ocs-4", "circuits": [["ab-0", "ab-9"]]}]}',
            "ocs-4: block 'ab-9': no such block",
        ),
        (
            '{"circuits": [{"ocs": "ocs-4", "circuits": [["ab-0", "ab-0"]]}]}',
            "ocs-4: ab-0 and ab-0 must not be joined",
        ),
        (
            json.dumps({"circuits": [{"ocs": "ocs-4", "circuits": [["ab-0", "ab-1"]] * 3}]}),
            "ocs-4: block ab-0 has 3 circuits on its North side; must be at most 2",
        ),
    ],
    ids=lambda value: value[:40],
)
def test_a_state_of_another_plant_is_refused(tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "state.json"
    path.write_text(text)
    refused(lambda: read_circuits(path, LAYOUT), path, sentence)


def test_blocks_of_two_customers_in_a_state_are_refused(tmp_path: Path) -> None:
    layout = layout_of([Block("ab-0", 100, 512, customer="one"), Block("ab-1", 100, 512, customer="two")])
    path = tmp_path / "state.json"
    path.write_text('{"circuits": [{"ocs": "ocs-0", "circuits": [["ab-0", "ab-1"]]}]}')
    refused(lambda: read_circuits(path, layout), path, "ocs-0: ab-0 and ab-1 must not be joined")


SITE = """
site: campus
fabrics:
  - {name: pod-0}
  - name: dcn-0
    kind: dcn
    config:
      seed: 5
      network:
        racks: 8
        racks_full: 8
        blocks:
          - {generation: 400, uplinks: 256, pod: pod-0}
          - {generation: 100, uplinks: 256, count: 5}
      demand: {storage: [block-4], jobs: [{pods: [pod-0], chips: 64, step_s: 2.0, input_mbps: 10.0}]}
"""


def test_the_ready_campus_has_a_network() -> None:
    network = read_network(Path("ops/sites/campus.yaml"))
    blocks = network.plant.blocks
    assert (network.fabric, network.plant.ocs_count) == ("dcn-0", 64)
    assert [block.name for block in blocks] == [f"block-{n}" for n in range(16)]
    assert [block.pod for block in blocks[:5]] == ["pod-0", "pod-1", "pod-2", "pod-3", None]


def test_the_demand_is_that_of_the_network_in_a_twin(tmp_path: Path) -> None:
    path = tmp_path / "campus.yaml"
    path.write_text(SITE)
    network = read_network(path)
    lab = Lab("campus", {"dcn-0": network.config}, services_of)
    lab.run(26 * US_PER_HOUR)
    demands = lab.site.instance("dcn-0", "demands")
    demand_documents = [
        demands.service.document(demands.state, ("demands", f"dcn-0/block-{n}")) for n in range(6)
    ]
    documents = [document for document in demand_documents if isinstance(document, DemandDocument)]
    assert [document.hour for document in documents] == [26] * 6
    assert [list(document.mbps) for document in documents] == network.demand_at(26).tolist()
    config_without_jobs = network.config.model_copy(
        update={"demand": network.config.demand.model_copy(update={"jobs": ()})}
    )
    assert (network.demand_at(26) - SiteNetwork("dcn-0", config_without_jobs).demand_at(26)).sum() == 640


def test_a_network_is_named_where_a_site_has_several(tmp_path: Path) -> None:
    path = tmp_path / "two.yaml"
    path.write_text("site: two\nfabrics: [{name: dcn-1, kind: dcn}, {name: dcn-0, kind: dcn}, {name: pod-0}]")
    assert read_network(path, "dcn-1").fabric == "dcn-1"
    refused(lambda: read_network(path), path, "has several networks, dcn-0, dcn-1; select one with --fabric")
    with pytest.raises(
        InvalidInput, match=re.escape(f"--fabric pod-0: no network of {path}, which has dcn-0")
    ):
        read_network(path, "pod-0")
    path.write_text("site: none\nfabrics: [{name: pod-0}]")
    refused(
        lambda: read_network(path), path, "has no network; must describe a site with a fabric of kind dcn"
    )


@pytest.mark.parametrize(
    ("was", "now", "sentence"),
    [
        (
            "generation: 400",
            "generation: 300",
            "config.network: block block-0: generation 300 is not allowed",
        ),
        (
            "generation: 100",
            "generation: fast",
            "config.network.blocks.1.generation: 'fast' is not allowed; must be 40, 100, 200, 400 or 800",
        ),
        ("uplinks: 256, pod", "uplinks: 255, pod", "block block-0: uplinks 255 is not allowed"),
        (
            "racks: 8\n        racks_full: 8",
            "racks: 12\n        racks_full: 12",
            "give no even number of ports",
        ),
        ("count: 5", "count: 40", "config.network: blocks: 41 take "),
        ("count: 5", "count: 5, pod: pod-1", "pod pod-1: attached 5 times, to block-1, block-2, block-3"),
        (
            "count: 5",
            "pod: pod-0",
            "config.network: pod pod-0: attached 2 times, to block-0, block-1; must be attached to one block",
        ),
        (
            "count: 5}",
            "count: 5}\n          - {uplinks: 256, pod: pod-1}",
            "dcn-0/block-6: pod pod-1 is not a pod of the site, which has pod-0; the nearest is pod-0",
        ),
        (
            "uplinks: 256, pod",
            "uplinks: 256, pods",
            "config.network.blocks.0.pods: no such field; must be one of count",
        ),
        (
            "count: 5}",
            "count: 5}\n          - 7",
            "config.network.blocks.2: 7 is not allowed; must be rows of ",
        ),
        (
            "racks: 8\n",
            "rack: 8\n",
            "config.network.rack: no such parameter; did you mean network.racks?",
        ),
        ("chips: 64", "chip: 64", "config.demand.jobs.0.chips: is missing"),
        (
            "chips: 64",
            "chips: 64, step: 4",
            "config.demand.jobs.0.step: no such field; must be one of pods, chips",
        ),
        (
            "step_s: 2.0",
            "step_s: 0.0",
            "config.demand.jobs.0.step_s: 0.0 is not allowed; must be a number above",
        ),
        (
            "jobs: [{pods: [pod-0]",
            "jobs: [{pods: [pod-1]",
            "config.demand.jobs.0: pod pod-1 is attached to no block; must be one of pod-0",
        ),
        (
            "jobs: [{pods: [pod-0]",
            "jobs: [{pods: [7]",
            "config.demand.jobs.0.pods: 7 is not allowed; must be names of pods that hang on blocks",
        ),
        (
            "storage: [block-4]",
            "storage: []",
            "config.demand.jobs.0: the job writes or reads, but demand.storage is empty",
        ),
        (
            "storage: [block-4]",
            "storage: [block-9]",
            "config.demand.storage.0: block: block-9 does not exist",
        ),
        (
            "storage: [block-4]",
            "storage: [block-4, block-3, block-4]",
            "config.demand.storage.2: block-4 is named twice; must be named once",
        ),
        (
            "chips: 64",
            "chips: 1000000000",
            "config.demand.jobs.0: block-4 would send 1e+10 Mb/s to block-0; must be at most 1,000,000",
        ),
        (
            "chips: 64, step_s: 2.0, input_mbps: 10.0",
            "chips: 64, step_s: 2.0, checkpoint_gb: 1e6, checkpoint_every_s: 1.0e-300",
            "config.demand.jobs.0: block-0 would send inf Mb/s to block-4; must be at most 1,000,000",
        ),
        (
            "storage: [block-4]",
            "storage: [4]",
            "config.demand.storage.0: 4 is not allowed; must be names of ",
        ),
        (
            "uplinks: 256, pod",
            "uplinks: 256, customer: team-7, pod",
            "config.demand.jobs.0: block-4 cannot send to block-0: they belong to different customers",
        ),
        (
            "storage: [block-4]",
            "loads: 1.0",
            "config.demand.loads: no such parameter; did you mean demand.load?",
        ),
        ("blocks:\n", "blocks: *x\n", "line 12: the alias *x"),
    ],
)
def test_an_error_in_a_site_names_block_and_field(tmp_path: Path, was: str, now: str, sentence: str) -> None:
    path = tmp_path / "campus.yaml"
    assert was in SITE
    path.write_text(SITE.replace(was, now, 1))
    refused(lambda: read_network(path), path, sentence)
    with pytest.raises(InvalidInput) as of_the_lab:
        NewTwinOptions(site_files=(path,)).sites()
    with pytest.raises(InvalidInput) as of_the_command:
        read_network(path)
    assert str(of_the_lab.value) == f"--site {of_the_command.value}"


def test_a_pod_hangs_on_one_network(tmp_path: Path) -> None:
    path = tmp_path / "two.yaml"
    network = "{name: dcn-%d, kind: dcn, config: {network: {blocks: [{pod: pod-0}, {}]}}}"
    path.write_text(f"site: two\nfabrics: [{{name: pod-0}}, {network % 0}, {network % 1}]")
    sentence = "dcn-1/block-0: pod pod-0 is already attached to dcn-0/block-0; must be attached to one block"
    refused(lambda: read_network(path, "dcn-0"), path, sentence)
    path.write_text("site: one\nfabrics: [{name: dcn-1, kind: dcn}, " + network % 0 + "]")
    refused(
        lambda: read_network(path, "dcn-0"),
        path,
        "dcn-0/block-0: pod pod-0 is not a pod of the site, which has none",
    )


@pytest.mark.parametrize("prefix", ["", "dcn-0/", "block/dcn-0/", "blocks/"])
def test_blocks_may_have_their_kind_and_fabric_in_front(tmp_path: Path, prefix: str) -> None:
    names = [block.name for block in LAYOUT.blocks]
    demand = np.zeros((len(names),) * 2)
    demand[0, 1] = 5_000_000.0
    table, arrays = tmp_path / "d.csv", tmp_path / "d.npz"
    table.write_text(HEAD + f"{prefix}{names[0]},{names[1]},5e6\n")
    np.savez(arrays, demand=demand, blocks=np.array([f"{prefix}{name}" for name in names]))
    for path in (table, arrays):
        (demand_read,) = read_demands(path, LAYOUT, "dcn-0")
        assert (demand_read == demand).all()


def test_a_block_of_another_network_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_text(HEAD + "dcn-1/ab-0,ab-1,4\n")
    refused(lambda: read_demands(path, LAYOUT, "dcn-0"), path, "line 2: block 'dcn-1/ab-0': no such block")
