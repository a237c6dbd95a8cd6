"""A network's report against the log that it is read off."""

from itertools import pairwise

import pytest

from ops.sites.configuration import config_from_sections
from schemas.envelope import Envelope
from schemas.messages.traffic import TrafficCarried
from schemas.registry import decode
from services.fabric_kinds import services_of
from services.totals.fabric_spans import network_span
from services.totals.network_totals import network_totals
from shared.basics.units import US_PER_DAY, US_PER_HOUR
from shared.runtimes.lab import Lab

WARM_UP_US = 30 * US_PER_HOUR
NETWORK = {
    "network": {"racks": 4, "racks_full": 4, "blocks": [{"count": 6, "uplinks": 256}]},
    "demand": {"load": 0.5, "hot_pairs": 2},
}


@pytest.mark.parametrize("since_us", [None, WARM_UP_US])
def test_shares_are_means_over_all_requested_traffic(since_us: int | None) -> None:
    log: list[Envelope] = []
    lab = Lab(
        "dcn-0",
        {"dcn-0": config_from_sections("dcn", NETWORK, "dcn-0")},
        services_of,
        lambda lines: log.extend(map(decode, lines.splitlines())),
    )
    before = None
    if since_us is not None:
        lab.run(since_us)
        before = network_totals(lab.site, "dcn-0", since_us)
    lab.run(2 * US_PER_DAY)
    found = network_span("dcn", network_totals(lab.site, "dcn-0", 2 * US_PER_DAY), before)

    told = [(m.at_us, m.body) for m in log if isinstance(m.body, TrafficCarried)]
    demand = {body.hour: 0 for _, body in told}
    assert len(demand) == 49
    first = max((at_us for at_us, _ in told if at_us <= (since_us or 0)), default=told[0][0])
    last = told[-1][0]
    spans = [(then - at_us, body) for (at_us, body), (then, _) in pairwise(told) if at_us >= first]
    assert sum(span for span, _ in spans) == last - first
    use = sum(span * body.use_ppm for span, body in spans) / (last - first) / 1e6
    assert found.use == pytest.approx(use, abs=1e-6)
    over = sum(span for span, body in spans if body.use_ppm > 1_000_000) / (last - first)
    assert 0.0 < over < 1.0
    assert found.overfull == pytest.approx(over)
    for name, field in (("served", "served_ppm"), ("direct", "direct_ppm"), ("mean_path", "path_ppm")):
        shares = [getattr(body, field) / 1e6 for _, body in spans]
        assert min(shares) <= getattr(found, name) <= max(shares)
        # The demand of an hour differs from the mean by a third at most.
        assert getattr(found, name) == pytest.approx(sum(shares) / len(shares), rel=0.02)
    assert found.mean_path == pytest.approx(2.0 - found.direct, abs=1e-5)
