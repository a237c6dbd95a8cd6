"""A service that a version adds begins in a twin that was there before it: one of rules 4, without drills.

`states_of_rules_4.json` has states that the last version without drills stored, and the layouts of all of its
services.
"""

import json
from pathlib import Path

import pytest

from schemas.config.failures import FailuresConfig
from schemas.config.pods import PodConfig, SuperpodConfig
from schemas.messages.cubes import RepairRequested
from schemas.messages.drill_requests import RunDrill
from schemas.messages.operator import InjectFault
from services.drills.service import SERVICE as DRILLS
from services.fabric_kinds import services_of
from services.failures.migrations import add_drill
from services.failures.service import SERVICE as FAILURES
from shared.basics.units import US_PER_S
from shared.engine.code_version import current_code_version
from shared.engine.service import AnyService
from shared.engine.site import Site
from shared.engine.site_driver import LabRequest, cascades
from shared.engine.state_codec import encode_instance
from shared.engine.state_layout import state_layout
from shared.engine.upgrade_refusals import services_to_migrate
from shared.runtimes.lab import Lab
from shared.storage.snapshots.site_snapshot import SiteSnapshot
from tests.support.drill_rig import MINUTE, inject, plan, wait

CONFIG = SuperpodConfig(seed=7, pod=PodConfig(cubes=4), failures=FailuresConfig(enabled=False))
STORED = json.loads((Path(__file__).parent / "states_of_rules_4.json").read_text())
HOSTS_FAIL_US = 10 * MINUTE - 5 * US_PER_S


def services_before(kind: str) -> tuple[AnyService, ...]:
    return tuple(service for service in services_of(kind) if service.name != "drills")


def left_by_rules_4() -> SiteSnapshot:
    """The states that the version of rules 4 left after these requests. Those of `ocs` and `transceivers` are
    of this version: they are large, and have not changed since."""
    lab = Lab("pod-0", {"pod-0": CONFIG}, services_before)
    requests = [
        (MINUTE, InjectFault(kind="ocs", target="pod-0/ocs-1", comment="x")),
        (2 * MINUTE, InjectFault(kind="ocs", target="pod-0/ocs-2", duration_us=MINUTE)),
        (HOSTS_FAIL_US, InjectFault(kind="host", target="pod-0/cube-1/host-2")),
        (HOSTS_FAIL_US, InjectFault(kind="host", target="pod-0/cube-1/host-5")),
    ]
    lab.run(
        STORED["now_us"],
        [LabRequest(at_us, "pod-0", body, number) for number, (at_us, body) in enumerate(requests, start=1)],
    )
    states = {(one.name, one.fabric): encode_instance(one) for one in lab.site.instances}
    for service, fields in STORED["states"].items():
        states[service, "pod-0"] = {name: text.encode("latin-1") for name, text in fields.items()}
    return SiteSnapshot(
        *("pod-0", 0, "", STORED["now_us"], "1.0", {"pod-0": "superpod"}, states),
        rules=STORED["rules"],
        layouts=STORED["layouts"],
    )


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("superpod", ["cubes", "drills", "failures", "scheduler"]),
        ("static-pod", ["cubes", "drills", "failures", "scheduler"]),
        ("dcn", ["drills", "failures"]),
    ],
)
def test_migrations_lead_from_every_state_of_rules_4(kind: str, expected: list[str]) -> None:
    assert services_to_migrate(STORED["layouts"], services_of(kind)) == expected


def test_the_migrated_states_are_those_that_this_version_stores() -> None:
    stored = left_by_rules_4()
    site = stored.migrated_site(services_of)
    migrated = add_drill(stored.states["failures", "pod-0"])
    assert migrated == encode_instance(site.instance("pod-0", "failures"))
    assert state_layout(FAILURES.state) == FAILURES.migrations[0].after
    assert stored.states["cubes", "pod-0"] == encode_instance(site.instance("pod-0", "cubes"))


def test_a_repair_that_rules_4_deferred_is_requested_after_the_upgrade() -> None:
    site = left_by_rules_4().migrated_site(services_of)
    log = [one for cascade in cascades(site, site.now_us + MINUTE) for one in cascade]
    requested = [one.body.target for one in log if isinstance(one.body, RepairRequested)]
    assert requested == ["pod-0/cube-1/host-5"]


def test_a_drill_runs_in_the_upgraded_twin() -> None:
    site = left_by_rules_4().migrated_site(services_of)
    begun = site.instance("pod-0", "drills")
    assert (begun.begun_us, begun.due_us, begun.state.now_us) == (  # type: ignore[union-attr]  # the service has its state
        site.now_us,
        None,
        site.now_us,
    )
    made = plan(inject(target="pod-0/ocs-3"), wait(5), probes=(), allowances=())
    log = run(site, RunDrill(plan=made))
    (ended,) = [one.body for one in log if one.type == "DrillEnded"]
    assert (ended.status, ended.left) == ("completed", ())


def test_the_new_service_of_a_retired_fabric_reads_nothing() -> None:
    stored = left_by_rules_4()
    site = stored.migrated_site(services_of)
    for one in site.instances:
        one.seen["sequencer@pod-0"] = 2
    states = {(one.name, one.fabric): encode_instance(one) for one in site.instances if one.name != "drills"}
    layouts = dict(current_code_version(["superpod"], services_before, "").layouts)
    retired = SiteSnapshot("pod-0", 0, "", 0, "1.0", {"pod-0": "superpod"}, states, rules=4, layouts=layouts)
    assert retired.migrated_site(services_of).instance("pod-0", DRILLS.name).is_retired


def run(site: Site, body: RunDrill) -> list:  # type: ignore[type-arg]  # of any messages
    at_us = site.now_us + MINUTE
    request = LabRequest(at_us, "pod-0", body, site.last_request + 1)
    return [one for cascade in cascades(site, at_us + 60 * MINUTE, [request]) for one in cascade]
