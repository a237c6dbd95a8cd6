"""The metrics of a sequencer and their table in the reference."""

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from ops.live import sequencer
from shared.runtimes.live.sequencer.partition_sequencer import AppendCounts
from shared.runtimes.live.sequencer.tick_readings import ReadingCounts

REFERENCE = Path(__file__).parents[4] / "docs/reference/live.md"


def test_the_reference_lists_every_metric() -> None:
    relay: Any = SimpleNamespace(
        written=AppendCounts(outbox=3),
        read=ReadingCounts(),
        stalled_s=1.5,
        achieved_speed=lambda: 60.0,
        standstill_problems=(),
        sequencers=(),
    )
    checks: Any = SimpleNamespace(problems=())
    shown = {sample.name: sample for sample in sequencer._report(relay, checks).samples}
    table = REFERENCE.read_text().partition("`lightwave_sequencer_` | meaning")[2].partition("\n\n")[0]
    listed = dict(re.findall(r"^\| `(\w+)` \| (.+) \|$", table, re.MULTILINE))
    assert {name: sample.text for name, sample in shown.items()} == {
        name: text for name, text in listed.items() if name != "restarts_total"
    }
    assert (shown["service_messages_total"].value, shown["speed_achieved"].value) == (3, 60.0)
