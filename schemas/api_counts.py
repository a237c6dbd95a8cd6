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
    """Open repairs, and since the start those that ended; of the completed ones, `in_vain` were those after
    which there still was what they were to mend."""

    queued: int
    begun: int
    completed: int
    cancelled: int
    failed: int
    in_vain: int


class VerdictCounts(Model):
    """Open verdicts, and since the start those that were given; and of these that ended, whether by the
    repair of the part or because the readings were as they should be again."""

    open: int
    given: int
    repaired: int
    withdrawn: int


class FaultCounts(Model):
    """Faults begun since the start, by kind; the last five strike nothing but networks."""

    host: int
    chip: int
    cable: int = 0
    cube_power: int = 0
    cooling: int = 0
    link: int
    connector: int
    fibre: int = 0
    laser: int = 0
    receiver: int = 0
    transmitter: int = 0
    flap: int = 0
    circulator: int = 0
    heat: int = 0
    calibration: int = 0
    stuck: int = 0
    late: int = 0
    lying: int = 0
    mirror: int = 0
    shake: int = 0
    batch: int = 0
    ocs: int
    supply: int = 0
    fan: int = 0
    cpu: int = 0
    fpga: int = 0
    driver: int = 0
    camera: int = 0
    injector: int = 0
    port: int
    block: int = 0
    bundle: int = 0
    rack: int = 0
    control: int = 0
    power: int = 0
