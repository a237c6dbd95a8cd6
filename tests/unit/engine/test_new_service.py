"""A service that a version adds begins in a twin that was there before it."""

from schemas.config.failures import FailuresConfig
from schemas.config.pods import PodConfig, SuperpodConfig
from schemas.messages.drill_requests import RunDrill
from schemas.messages.operator import InjectFault
from services.drills.service import SERVICE as DRILLS
from services.fabric_kinds import services_of
from services.failures.migrations import add_drill
from services.failures.service import SERVICE as FAILURES
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
OLD_LAYOUT = FAILURES.migrations[0].before


def services_before(kind: str) -> tuple[AnyService, ...]:
    return tuple(service for service in services_of(kind) if service.name != "drills")


def left_by_rules_4() -> SiteSnapshot:
    """The states that a version without drills left: no drill in the rows of faults."""
    lab = Lab("pod-0", {"pod-0": CONFIG}, services_before)
    requests = [
        LabRequest(MINUTE, "pod-0", InjectFault(kind="ocs", target="pod-0/ocs-1", comment="x"), 1),
        LabRequest(2 * MINUTE, "pod-0", InjectFault(kind="ocs", target="pod-0/ocs-2", duration_us=MINUTE), 2),
    ]
    lab.run(10 * MINUTE, requests)
    states = {(one.name, one.fabric): encode_instance(one) for one in lab.site.instances}
    faults = states["failures", "pod-0"]
    states["failures", "pod-0"] = {
        name: value.replace(b',"drill":null', b"") if name.startswith(("active/", "ended/")) else value
        for name, value in faults.items()
    }
    layouts = dict(current_code_version(["superpod"], services_before, "").layouts) | {"failures": OLD_LAYOUT}
    return SiteSnapshot(
        "pod-0", 0, "", lab.site.now_us, "1.0", {"pod-0": "superpod"}, states, rules=4, layouts=layouts
    )


def test_the_new_service_and_the_migrated_ones_are_to_be_reported() -> None:
    stored = left_by_rules_4()
    assert services_to_migrate(stored.layouts, services_of("superpod")) == ["drills", "failures"]


def test_faults_of_earlier_versions_get_the_field_in_its_place() -> None:
    stored = left_by_rules_4()
    site = stored.migrated_site(services_of)
    migrated = add_drill(stored.states["failures", "pod-0"])
    assert migrated == encode_instance(site.instance("pod-0", "failures"))
    assert state_layout(FAILURES.state) == FAILURES.migrations[0].after


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
