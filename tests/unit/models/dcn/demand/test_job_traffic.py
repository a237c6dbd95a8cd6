"""Traffic of jobs: by hand, and the conserved quantities of every job."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.basics.errors import InvalidInput
from shared.models.dcn.demand.demand_model import DEMAND_MAX_MBPS
from shared.models.dcn.demand.job_traffic import PodJob, job_traffic
from shared.models.network.blocks import Block, layout_of
from shared.models.network.job_rates import PAIR_MAX_MBPS

FOUND = layout_of([Block(f"ab-{n}", 400, 512, pod=f"pod-{n}" if n < 4 else None) for n in range(6)])
PODS = ("pod-0", "pod-1", "pod-2", "pod-3")


def test_a_job_on_one_pod_writes_and_reads() -> None:
    job = PodJob(("pod-1",), 1_000, 5.0, gradient_gb=100.0, checkpoint_gb=900.0, input_mbps=20.0)
    sent = job_traffic(FOUND, [job], ["ab-4", "ab-5"])
    expected = np.zeros((6, 6), dtype=np.int64)
    expected[1, 4] = expected[1, 5] = 900 * 8_000 // 1_800 // 2
    expected[4, 1] = expected[5, 1] = 1_000 * 20 // 2
    assert (sent == expected).all()


def test_two_pods_send_each_other_the_gradients_once() -> None:
    """2·(P − 1)/P·G = G: each sends half of them and gets back the sum of the other half."""
    sent = job_traffic(FOUND, [PodJob(("pod-0", "pod-2"), 64, 4.0, gradient_gb=10.0)], [])
    assert (sent[0, 2], sent[2, 0], sent.sum()) == (20_000, 20_000, 40_000)


def test_rings_go_both_ways_in_the_order_of_the_pods() -> None:
    sent = job_traffic(FOUND, [PodJob(PODS, 64, 1.0, gradient_gb=8.0)], [])
    pairs = {(0, 1), (1, 2), (2, 3), (0, 3)}
    assert {(a, b) for a, b in np.argwhere(sent).tolist()} == pairs | {(b, a) for a, b in pairs}
    assert set(sent[sent > 0].tolist()) == {round(0.5 * 2 * 3 / 4 * 8 * 8_000)}


@given(
    pods=st.lists(st.sampled_from(PODS), min_size=1, unique=True),
    gradient=st.floats(0.0, 1e4),
    step=st.floats(0.5, 60.0),
    checkpoint=st.floats(0.0, 1e6),
)
def test_all_that_is_sent_is_accounted_for(
    pods: list[str], gradient: float, step: float, checkpoint: float
) -> None:
    job = PodJob(tuple(pods), 64, step, gradient_gb=gradient, checkpoint_gb=checkpoint)
    sent = job_traffic(FOUND, [job], ["ab-4"])
    rings = sent[:4, :4].sum()
    assert rings == pytest.approx(2 * (len(pods) - 1) * gradient * 8_000 / step, abs=8)
    assert sent[:4, 4].sum() == pytest.approx(checkpoint * 8_000 / 1_800, abs=4)
    assert (np.diag(sent) == 0).all()


def test_storage_on_the_pods_own_block_takes_no_trunk() -> None:
    sent = job_traffic(FOUND, [PodJob(("pod-0",), 8, 1.0, checkpoint_gb=9.0)], ["ab-0", "ab-4"])
    assert (sent[0, 4], sent.sum()) == (20, 20)


@pytest.mark.parametrize(
    ("job", "storage", "sentence"),
    [
        (
            {"pods": ("pod-9",)},
            [],
            "job 0: pod pod-9 is attached to no block; must be one of pod-0, pod-1, pod-2, pod-3",
        ),
        ({"pods": ("pod-0",), "input_mbps": 1.0}, [], "job 0: writes or reads, but storage is empty"),
        ({"pods": ("pod-0",)}, ["ab-9"], "block: ab-9 does not exist"),
        ({"pods": ()}, [], "pods: an empty list is not allowed; must be one or more, each once"),
        (
            {"pods": ("pod-0", "pod-0")},
            [],
            "pods: pod-0, pod-0 is not allowed; must be one or more, each once",
        ),
        ({"pods": ("pod-0",), "step_s": 0.0}, [], "step_s 0.0: must be a finite number above 0"),
        (
            {"pods": ("pod-0",), "gradient_gb": -1.0},
            [],
            "gradient_gb -1.0: must be a finite number of at least 0",
        ),
    ],
)
def test_a_mistake_is_an_error_in_one_sentence(
    job: dict[str, object], storage: list[str], sentence: str
) -> None:
    given_job: dict[str, object] = {"chips": 64, "step_s": 1.0} | job
    with pytest.raises(InvalidInput, match=re.escape(sentence)):
        job_traffic(FOUND, [PodJob(**given_job)], storage)  # type: ignore[arg-type]  # of several types


@pytest.mark.parametrize(
    "job",
    [
        PodJob(("pod-0", "pod-1"), 2**63, 1e-300, gradient_gb=1e6),
        PodJob(("pod-0",), 2**63, 1.0, input_mbps=1e6),
        PodJob(("pod-0",), 1, 1.0, checkpoint_gb=1e9, checkpoint_every_s=1e-300),
    ],
)
def test_more_than_a_pair_can_want_is_refused(job: PodJob) -> None:
    small = PodJob(("pod-2",), 1, 1.0, checkpoint_gb=1.0)
    with pytest.raises(
        InvalidInput, match=r"job 1: sends too much between two blocks; must be at most 1,000,000,000 Mb/s"
    ):
        job_traffic(FOUND, [small, job], ["ab-4"])
    assert PAIR_MAX_MBPS == DEMAND_MAX_MBPS
