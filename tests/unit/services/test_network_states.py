"""The states of a network's services can be stored and restored at any time; the restored services continue
unchanged."""

from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.body import Body
from schemas.config.dcn import DcnConfig
from schemas.messages.operator import AbortRewiring, ApproveRewiring, ClearFault, InjectFault, PlanTopology
from schemas.messages.scheduler import PodsJoined, PodsParted, PodsRunning
from services.fabric_kinds import services_of
from shared.basics.units import US_PER_HOUR, US_PER_S
from shared.engine.site import Site
from shared.engine.state_codec import encode_instance, restore_instance
from tests.support.pods import POD, fleet_of
from tests.support.rig import Bench

CONFIG = DcnConfig.model_validate(
    {
        "seed": 3,
        "network": {
            "racks": 4,
            "racks_full": 4,
            "switches": 1,
            "blocks": (
                {"generation": 400, "uplinks": 256, "pod": "pod-1"},
                {"generation": 100, "uplinks": 256, "pod": "pod-2"},
                {"generation": 200, "uplinks": 256, "count": 2},
            ),
        },
        "demand": {"hot_pairs": 2, "interval_s": 1_200},
        "traffic": {"telemetry_interval_s": 0},
        "topology": {
            "approval": "operator",
            "gain_min": 0.0,
            "transit_gain_min": 0.0,
            "use_above": 100.0,
            "served_below": 0.0,
            "transit_above": 1.0,
            "drain_s": 600.0,
            "qualify_s": 600.0,
            "wait_h": 1.0,
        },
        "failures": {"enabled": False},
    }
)
"""Stages take as long as the steps of a walk, so that walks stop in the middle of them."""
PARTS = ("ocs-1", "rack-2", "control-0", "control-3", "power-1", "block-1", "block-2/bundle-3", "ocs-0/N5")


def fault(part: str, minutes: int) -> Body:
    kind = {"N5": "port"}.get(part.rpartition("/")[2]) or part.rpartition("/")[2].partition("-")[0]
    return InjectFault.model_validate(
        {"kind": kind, "target": f"{POD}/{part}", "duration_us": minutes * 60 * US_PER_S}
    )


def job_name(job: int) -> str:
    return f"pod-1/slice-{job}"


def joined(job: int) -> Body:
    slices = (job_name(job), f"pod-2/slice-{job}")[:: 1 if job % 2 else -1]
    return PodsJoined(job=job_name(job), slices=slices, chips=64, gradient_bytes=10**12, step_us=9_000_000)


def running(job: int) -> Body:
    slices = (job_name(job), f"pod-2/slice-{job}")
    return PodsRunning(dcn=POD, job=job_name(job), slices=slices, gradient_bytes=10**12, step_us=9_000_000)


JOBS, REWIRINGS = st.integers(0, 2), st.integers(0, 3).map(lambda number: f"{POD}/rewiring-{number}")
ACTS: st.SearchStrategy[Body] = st.one_of(
    st.builds(fault, st.sampled_from(PARTS), st.sampled_from([5, 40, 200])),
    st.integers(0, 3).map(lambda number: ClearFault(fault=f"{POD}/fault-{number}")),
    st.just(PlanTopology(dcn=POD)),
    REWIRINGS.map(lambda name: ApproveRewiring(rewiring=name)),
    REWIRINGS.map(lambda name: AbortRewiring(rewiring=name)),
    JOBS.map(joined),
    JOBS.map(running),
    JOBS.map(lambda job: PodsParted(slice=job_name(job), job=job_name(job), ends="finished", reason="")),
)
STEPS = st.tuples(st.integers(0, 30), ACTS)
"""(minutes that pass, message sent then)."""


def store_and_restore(bench: Bench) -> None:
    """Every service of the bench is restored from its stored state."""
    restored_services = []
    for instance in bench.site.instances:
        stored = encode_instance(instance)
        restored_services.append(restore_instance(instance.service, instance.fabric, stored))
        assert encode_instance(restored_services[-1]) == stored
    bench.site = Site(POD, fleet_of(services_of("dcn")), restored_services)


@settings(max_examples=40, deadline=None)
@given(walk=st.lists(STEPS, max_size=14))
def test_states_stored_after_any_walk_continue_unchanged(
    walk: list[tuple[int, Body]],
) -> None:
    undisturbed, restored = Bench(services_of("dcn"), CONFIG), Bench(services_of("dcn"), CONFIG)
    rewire: list[tuple[int, Body]] = [
        (1, PlanTopology(dcn=POD)),
        (1, ApproveRewiring(rewiring=f"{POD}/rewiring-1")),
    ]
    for minutes, body in [(60, joined(0)), *rewire, *walk]:
        for bench in (undisturbed, restored):
            bench.say(body, bench.now_us + 60 * US_PER_S * minutes + 1)
        store_and_restore(restored)
        assert restored.log == undisturbed.log
    for bench in (undisturbed, restored):
        bench.run(bench.now_us + 3 * US_PER_HOUR)
    assert restored.log == undisturbed.log
    assert [encode_instance(one) for one in restored.site.instances] == [
        encode_instance(one) for one in undisturbed.site.instances
    ]
    restored.assert_documents_hold()
