"""The reason why a traced path has no far end."""

from typing import Any

import pytest

from ops.report.light_path_text import unmade_reason

MADE = {"north": 1, "south": 2}
LOST = {"north": 1, "south": None}


@pytest.mark.parametrize(
    ("wanted", "fibres", "why"),
    [
        (None, (LOST, LOST), "no circuit is wanted"),
        ("pod-0/cube-1/-x/0", (LOST, LOST), "neither strand to pod-0/cube-1/-x/0 is made"),
        ("pod-0/cube-1/-x/0", (MADE, LOST), "strand 1 is not made; strand 0 reaches pod-0/cube-1/-x/0"),
    ],
)
def test_it_names_the_strand_that_is_missing(
    wanted: str | None, fibres: tuple[dict[str, Any], ...], why: str
) -> None:
    strands = [{"strand": n, **fibre} for n, fibre in enumerate(fibres)]
    assert unmade_reason({"wanted_end": wanted, "strands": strands}) == why
