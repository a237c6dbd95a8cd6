"""Recorded traces: refused files, reported rows, and traces of any length."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ops.lab import workload_trace
from ops.lab.run import RunPlan, requests_of_site
from ops.lab.workload_trace import TraceCounts, TraceFile, TraceSource, parse_trace_time
from ops.sites.site_plans import single_fabric_sites
from schemas.config.dcn import DcnConfig
from schemas.config.pods import SuperpodConfig
from schemas.messages.workload import SliceRequested
from services.fabric_kinds import services_of
from shared.basics.errors import InvalidInput
from shared.basics.units import US_PER_DAY, US_PER_S
from shared.runtimes.lab import Lab

HEADER = "submit_s,duration_s,chips"
SETTINGS = ("pod.cubes=4", "failures.enabled=false", "transceivers.telemetry_interval_s=86400")


def write(path: Path, rows: Sequence[str], header: str = HEADER) -> Path:
    path.write_text("\n".join([header, *rows]) + "\n")
    return path


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("", "is empty; must have the columns submit_s,duration_s,chips and rows"),
        ("\n", "is empty; must have the columns"),
        (HEADER, "has no rows; must have one or more after the header"),
        (f"{HEADER}\n\n , ,\n", "has no rows"),
        (f"{HEADER}\n1680000000,60,64\n", "1 of 1 rows are not played: 1 after the end"),
        (f"{HEADER}\n1680000000,60,64\n", "first at 19444d10:40:00; `--trace-from 1680000000` starts"),
        (f"{HEADER},ownr\n0,60,64,a\n", "line 1: column 'ownr' is unknown; must be one of"),
        (f"{HEADER},owner\n0,60,64,A b\n", "line 2: owner 'A b' is not allowed; must be 1 to 67 lowercase"),
        (f"{HEADER}\n1_0,60,64\n", "line 2: submit_s '1_0' is not allowed; must be seconds from 0"),
    ],
)
def test_a_trace_that_plays_nothing_is_refused(tmp_path: Path, content: str, sentence: str) -> None:
    path = tmp_path / "trace.csv"
    path.write_text(content)
    with pytest.raises(InvalidInput, match=re.escape(sentence)):
        TraceSource(TraceFile(path), 2 * US_PER_DAY)(SuperpodConfig())


@pytest.mark.parametrize(
    ("file", "counts"),
    [
        (TraceFile(Path()), TraceCounts(5, 4, 0, 0, 1)),
        (TraceFile(Path(), 10.0), TraceCounts(5, 2, 2, 0, 1)),
        (TraceFile(Path(), 0.0, 20.0), TraceCounts(5, 3, 0, 2, 0)),
        (TraceFile(Path(), 10.0, 20.0), TraceCounts(5, 1, 2, 2, 0)),
        (TraceFile(Path(), 2e5, 3e5), TraceCounts(5, 1, 4, 0, 0)),
    ],
)
def test_every_row_is_counted_once(tmp_path: Path, file: TraceFile, counts: TraceCounts) -> None:
    """The run is a day long; rows need not be in order."""
    path = write(tmp_path / "trace.csv", ["9,1,64", "0,1,64", "20,1,64", "10,1,64", "200000,1,64"])
    source = TraceSource(replace(file, path=path), US_PER_DAY)
    rows = source(SuperpodConfig())
    assert source.counts == counts
    assert sum(row.submit_us <= US_PER_DAY for row in rows) == counts.played
    assert (source.note() is None) == (counts.not_played == 0)


@pytest.mark.parametrize("until_s", [0.0, 5.0, 10.0])
def test_a_part_of_a_trace_has_a_length(until_s: float) -> None:
    with pytest.raises(InvalidInput, match="must be later than --trace-from 10"):
        TraceFile(Path("x"), 10.0, until_s)


def test_a_network_plays_no_trace(tmp_path: Path) -> None:
    path = write(tmp_path / "trace.csv", [])
    with pytest.raises(
        InvalidInput, match=r"^--trace: a dcn has no slices to request; must be a run of pods"
    ):
        TraceSource(TraceFile(path), US_PER_DAY)(DcnConfig())


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0.0),
        ("12.5", 12.5),
        ("1680000000", 1.68e9),
        ("3d12h", 302_400.0),
        ("3d12:00", 302_400.0),
        ("302400000000us", 302_400.0),
        ("2023-03-28T10:40:00Z", 1.68e9),
        ("2023-03-28T18:40:00+08:00", 1.68e9),
    ],
)
def test_times_in_a_trace(text: str, seconds: float) -> None:
    assert parse_trace_time("--trace-from", text) == seconds


@pytest.mark.parametrize(
    "text",
    [
        "",
        "-2h",
        "now",
        "12:00",
        "soon",
        "-1",
        "2023-03-28T10:40:00",
        "2023-03-28",
        "1e99",
        "nan",
        "1969-01-01T00:00:00Z",
    ],
)
def test_invalid_or_ambiguous_times_are_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"^--trace-from: .* is not allowed; must be seconds"):
        parse_trace_time("--trace-from", text)


def requested(source: TraceSource, days: float) -> list[tuple[int, SliceRequested]]:
    """Return (time, body) of all requests in a run of a small pod without failures."""
    sites = single_fabric_sites(1, pairs=SETTINGS, seed=3, trace=source)
    plan = RunPlan(sites, days, trace=source.rest)
    requests_found: list[tuple[int, SliceRequested]] = []

    def observe(cascade: Sequence[object]) -> None:
        requests_found.extend((m.at_us, m.body) for m in cascade if isinstance(m.body, SliceRequested))  # type: ignore[attr-defined]  # messages

    lab = Lab("pod-0", sites[0].fabrics, services_of, None, observe)
    lab.run(plan.until_us, requests_of_site((), sites[0], plan.trace))
    return requests_found


@settings(max_examples=12, deadline=None)
@given(st.lists(st.integers(1, 20_000), min_size=1, max_size=60), st.integers(1, 9), st.integers(1, 30))
@pytest.mark.integration("drives a pod")
def test_a_long_trace_requests_what_a_short_one_does(
    tmp_path_factory: pytest.TempPathFactory, submits: list[int], part: int, late: int
) -> None:
    """The same slices are requested at the same times with the same draws, however many rows the
    configuration has.

    The oracle is the run whose configuration has them all. Parts come at different times of the run, the
    first ones at once.
    """
    days = 15_000 / 86_400
    rows = [
        f"{submit_s},{30 + n},{64 if n % 3 else 128}" for n, submit_s in enumerate(sorted([*submits, late]))
    ]
    path = write(tmp_path_factory.mktemp("trace") / "trace.csv", rows)
    whole = TraceSource(TraceFile(path), round(days * US_PER_DAY))
    before = requested(whole, days)
    assert whole.rest is None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(workload_trace, "TRACE_ROWS_MAX", part)
        patch.setattr(workload_trace, "TRACE_PART_ROWS_MAX", part)
        streamed = TraceSource(TraceFile(path), round(days * US_PER_DAY))
        after = requested(streamed, days)
    assert after == before
    assert streamed.counts == whole.counts
    assert (streamed.rest is None) == (len(rows) <= part)


def test_a_long_trace_is_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "trace.csv", ["5,60,64", "4,60,64", "6,60,64"])
    monkeypatch.setattr(workload_trace, "TRACE_ROWS_MAX", 2)
    with pytest.raises(InvalidInput, match="line 3: is submitted before an earlier row; a trace of"):
        TraceSource(TraceFile(path), US_PER_S * 60)(SuperpodConfig())


def test_reading_keeps_no_more_rows_than_a_configuration_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workload_trace, "TRACE_ROWS_MAX", 100)
    monkeypatch.setattr(workload_trace, "TRACE_PART_ROWS_MAX", 10)
    path = write(tmp_path / "trace.csv", [f"{n},60,64" for n in range(5_000)])
    source = TraceSource(TraceFile(path), 4_000 * US_PER_S)
    assert len(source(SuperpodConfig())) == 10
    assert source.counts == TraceCounts(5_000, 4_001, 0, 0, 999)
    assert source.rest is not None
    parts = source.rest.requests("pod-0", SuperpodConfig())
    sizes = [len(request.body.rows) for request in parts]  # type: ignore[attr-defined]  # all are ExtendTrace
    assert sizes == [10] * 399 + [1]
