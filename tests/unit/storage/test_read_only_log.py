"""Places in a log file that is only read, found as by a plain scan of its lines."""

from bisect import bisect_left

import orjson
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from shared.storage.log import read_only_log
from shared.storage.log.log_bytes import site_log
from shared.storage.log.read_only_log import ReadOnlyLog

TIMES = st.lists(st.integers(0, 9), max_size=30).map(sorted)


@settings(max_examples=60)
@given(times=TIMES, at_us=st.integers(-1, 11), stride=st.integers(1, 7))
@example(times=[1, 5, 5, 5, 5, 8], at_us=5, stride=3)
@example(times=[5] * 12, at_us=5, stride=4)
def test_a_search_by_time_finds_the_first_message_of_that_time(
    tmp_path_factory: pytest.TempPathFactory, times: list[int], at_us: int, stride: int
) -> None:
    folder = tmp_path_factory.mktemp("log")
    lines = [orjson.dumps({"id": f"x/{n}", "at_us": at_us}) for n, at_us in enumerate(times)]
    (folder / "pod-0.jsonl").write_bytes(b"".join(line + b"\n" for line in lines))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(read_only_log, "STRIDE", stride)
        log = ReadOnlyLog(site_log(folder, "pod-0"))
        assert log.end == len(times)
        assert log.position_at(at_us) == bisect_left(times, at_us)
        assert [log.offset_of(n) for n in range(log.end + 1)] == [
            sum(len(line) + 1 for line in lines[:n]) for n in range(log.end + 1)
        ]
        assert [log.position_of(f"x/{n}") for n in range(log.end)] == [*range(log.end)]
