"""The owners that may request slices of a pod."""

from schemas.config.owners import known_owners
from schemas.config.pods import SuperpodConfig
from schemas.config.scheduler import SchedulerConfig
from schemas.config.workload import TraceRow, WorkloadConfig


def test_owners_are_those_of_the_workload_and_those_with_a_quota() -> None:
    row = TraceRow(submit_us=0, duration_us=1, shape=(4, 4, 4), twisted=False, priority=0)
    config = SuperpodConfig(
        workload=WorkloadConfig(owners=2),
        scheduler=SchedulerConfig(quotas="science=25%,team-1=64"),
        trace=(row, row.model_copy(update={"owner": "guest"})),
    )
    assert known_owners(config) == {
        *("team-1", "team-2", "science", "trace", "guest", "free-tier", "operator"),
    }
