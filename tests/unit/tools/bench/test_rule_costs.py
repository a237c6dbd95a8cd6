"""The benchmark of rules times them without changing what they do."""

import pytest

from ops.sites.configuration import config_from_pairs
from services.fabric_kinds import services_of
from shared.basics.units import US_PER_HOUR
from shared.runtimes.lab import Lab
from tools.bench.rule_costs import RuleTimes

pytestmark = pytest.mark.integration


def test_timed_rules_lead_to_the_same_log() -> None:
    fabrics = {"pod-0": config_from_pairs("superpod", ["pod.cubes=8"], seed=3)}
    times = RuleTimes()
    plain, timed = Lab("pod-0", fabrics, services_of), Lab("pod-0", fabrics, times.services_of)
    for lab in (plain, timed):
        lab.run(3 * US_PER_HOUR)
    assert timed.log_sha256 == plain.log_sha256
    assert timed.messages > 20
    for place in (("scheduler", "SliceRequested"), ("ocs", "ConnectCircuits"), ("jobs", "due")):
        assert times.seconds[place] > 0
