"""What the HTTP API counts of a fabric: how much of what there is, and how much there has been."""

from schemas.body import Model


class LinkCounts(Model):
    """Link ends by state."""

    up: int
    degraded: int
    down: int
    dark: int


class SliceCounts(Model):
    """Slices since the start. Those of now are `queued`, and `running`: all on cubes, of which some are
    `programming`, in `preflight`, `degraded` or `recovering`. `balked` were not requested, for too much work
    waited."""

    requested: int
    balked: int
    admitted: int
    completed: int
    evicted: int
    refused: int
    running: int
    queued: int
    swapped: int
    programming: int
    preflight: int
    degraded: int
    recovering: int


class WaitTimes(Model):
    """For how long the production and research has waited that waits now."""

    median_us: int
    p95_us: int


class RepairCounts(Model):
    """Open repairs, `tested` those whose part is burnt in; and since the start those that ended; of the
    completed ones, `in_vain` were those after which there still was what they were to mend."""

    queued: int
    begun: int
    tested: int
    completed: int
    cancelled: int
    failed: int
    in_vain: int


class VerdictCounts(Model):
    """Open verdicts, and since the start those that were given; and of these that ended, whether by the
    repair of the part, of which so many were `in_vain`, or because the readings were as they should be
    again."""

    open: int
    given: int
    repaired: int
    in_vain: int
    withdrawn: int
