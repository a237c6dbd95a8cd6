"""A recorded trace in the lab: every row becomes one slice, at its time, of the next larger shape."""

import random
import re
from pathlib import Path

import pytest
from pydantic import ValidationError

from ops.sites.configuration import superpod_config
from schemas.config.pods import SuperpodConfig
from schemas.config.workload import TraceRow
from schemas.envelope import Envelope
from schemas.messages.scheduler import SliceOverran
from schemas.messages.workload import SliceRequested
from schemas.registry import decode
from shared.basics.errors import InvalidInput
from shared.basics.units import US_PER_DAY, US_PER_S
from shared.models.superpod.shapes import chips_of, legal_shapes
from tests.support.pod_reports import pod_report
from tests.support.pods import POD, pod_lab
from tests.support.traces import read_trace

ROWS = 3_000


def write_trace(path: Path) -> list[tuple[int, int, int]]:
    draw = random.Random(5)
    rows = [
        (draw.randrange(86_400), draw.randrange(60, 7_200), draw.choice([1, 3, 8, 20, 64, 100, 256]))
        for _ in range(ROWS)
    ]
    lines = ["submit_s,duration_s,chips", *(",".join(map(str, row)) for row in rows)]
    path.write_text("\n".join(lines) + "\n")
    return rows


@pytest.mark.slow("thousands of slices")
def test_each_of_thousands_of_rows_ends_in_one_state(tmp_path: Path) -> None:
    rows = write_trace(tmp_path / "trace.csv")
    trace = read_trace(tmp_path / "trace.csv", SuperpodConfig())
    config = superpod_config(["pod.cubes=16", "failures.enabled=false"], seed=1, trace=trace)
    lines: list[bytes] = []
    lab = pod_lab(config, sink=lambda data: lines.extend(data.splitlines()))
    lab.run(30 * US_PER_DAY)
    log: list[Envelope] = [decode(line) for line in lines]
    requests = [(m.at_us, m.body) for m in log if isinstance(m.body, SliceRequested)]
    assert {body.requested_by for _, body in requests} == {"trace"}
    sizes = sorted({chips_of(shape) for shape in legal_shapes(16)})
    for (at_us, body), (submit_s, _, chips) in zip(
        requests, sorted(rows, key=lambda row: row[0]), strict=True
    ):
        assert at_us == submit_s * US_PER_S
        assert chips_of(body.shape) == next(size for size in sizes if size >= chips)
    slices = pod_report(lab.site, POD, 30 * US_PER_DAY)["slices"]
    # Without failures, and with a queue that holds the whole trace, all slices run.
    assert slices["requested"] == slices["completed"] == ROWS


def test_an_exact_estimate_is_never_overrun(tmp_path: Path) -> None:
    """An exact estimate includes circuits, preflight, startup and checkpoints."""
    path = tmp_path / "trace.csv"
    path.write_text(
        "submit_s,duration_s,chips,estimate_s\n"
        "0,36000,64,\n0,3600,100,\n0,36000,512,\n9,3600,64,3600\n9,60,1,59\n"
    )
    messages: list[Envelope] = []
    trace = read_trace(path, SuperpodConfig())
    config = superpod_config(["pod.cubes=16", "failures.enabled=false"], seed=1, trace=trace)
    lab = pod_lab(config, sink=lambda data: messages.extend(map(decode, data.splitlines())))
    lab.run(US_PER_DAY)
    assert sum(m.type == "SliceCompleted" for m in messages) == 5
    assert [m.body.slice for m in messages if isinstance(m.body, SliceOverran)] == [f"{POD}/slice-4"]


def test_optional_columns(tmp_path: Path) -> None:
    path = tmp_path / "trace.csv"
    path.write_text(
        "\ufeffchips,submit_s,duration_s,shape,twisted,priority\r\n"
        "100,10.5,60,,,\r\n"
        "128,5,30,4x4x8,true,7\r\n"
        "\r\n"
    )
    first, second = read_trace(path, SuperpodConfig())
    assert (first.submit_us, first.shape, first.twisted, first.priority) == (5 * US_PER_S, (4, 4, 8), True, 7)
    assert (second.submit_us, second.duration_us) == (10_500_000, 60 * US_PER_S)
    assert (second.shape, second.twisted, second.priority) == ((4, 4, 8), False, 0)


def test_columns_for_owner_and_estimate(tmp_path: Path) -> None:
    path = tmp_path / "trace.csv"
    path.write_text(
        "submit_s,duration_s,chips,owner,tier,estimate_s\n0,60,64,team-3,production,90.5\n1,60,64,,,\n"
    )
    known, unknown = read_trace(path, SuperpodConfig())
    assert (known.owner, known.tier, known.estimate_us) == ("team-3", "production", 90_500_000)
    assert (unknown.owner, unknown.tier, unknown.estimate_us) == ("trace", "research", 60 * US_PER_S)


def test_a_trace_of_too_many_owners_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "trace.csv"
    path.write_text("submit_s,duration_s,chips,owner\n" + "".join(f"0,60,64,o{n}\n" for n in range(1_001)))
    with pytest.raises(InvalidInput, match="line 1002: owner o1000 is one more than 1,000 owners; must"):
        read_trace(path, SuperpodConfig())
    rows = tuple(
        TraceRow(submit_us=0, duration_us=9, shape=(4, 4, 4), twisted=False, priority=0, owner=f"o{n}")
        for n in range(1_001)
    )
    with pytest.raises(ValidationError, match="1,001 owners are not allowed"):
        SuperpodConfig(trace=rows)


@pytest.mark.parametrize(
    ("cells", "sentence"),
    [
        (
            "Team 3,,",
            "line 2: owner 'Team 3' is not allowed; must be 1 to 67 lowercase letters, digits and hyphens",
        ),
        (",gold,", "line 2: tier 'gold' is not allowed; must be production, research or filler"),
        (",,0", "line 2: estimate_s '0' is not allowed; must be seconds above 0"),
        (",,soon", "line 2: estimate_s 'soon' is not allowed; must be seconds above 0"),
    ],
)
def test_cells_that_are_not_allowed_are_named(tmp_path: Path, cells: str, sentence: str) -> None:
    path = tmp_path / "trace.csv"
    path.write_text(f"submit_s,duration_s,chips,owner,tier,estimate_s\n0,60,64,{cells}\n")
    with pytest.raises(InvalidInput, match=re.escape(sentence)):
        read_trace(path, SuperpodConfig())
