"""What the kernel simulates: classes of parts that fail, and the crews that repair them."""

from dataclasses import dataclass

from shared.basics.checks import check_count, check_not_negative, check_positive
from shared.basics.errors import InvalidInput

PARTS_MAX = 1_000_000
RANKS_MAX = 16


@dataclass(frozen=True, slots=True)
class PartClass:
    """Parts of one kind: each works for an exponential time and fails at `failure_rate`, and its repair takes
    `repair_time` in the mean, in any one unit of time. Repairs of a lower `rank` are begun first, those of
    one rank in the order in which they were asked for. `special`: specialists do them, too."""

    name: str
    number: int
    failure_rate: float
    repair_time: float
    rank: int = 0
    special: bool = False

    def __post_init__(self) -> None:
        check_count("number", self.number, 0, PARTS_MAX)
        check_not_negative("failure-rate", self.failure_rate)
        check_positive("repair-time", self.repair_time)
        check_count("rank", self.rank, 0, RANKS_MAX - 1)


@dataclass(frozen=True, slots=True)
class Shop:
    """Classes of parts, `crews` who repair anything and `specialists` who repair what is special only. Repair
    times are exponential, or with `sigma` log-normal, with that deviation of the logarithm."""

    classes: tuple[PartClass, ...]
    crews: int
    specialists: int = 0
    sigma: float | None = None

    def __post_init__(self) -> None:
        check_count("crews", self.crews, 1)
        check_count("specialists", self.specialists, 0)
        if self.sigma is not None:
            check_not_negative("sigma", self.sigma)
        if not self.classes:
            raise InvalidInput("classes: none given; must be at least one class of parts")
        check_count("parts", self.parts, 1, PARTS_MAX)

    @property
    def parts(self) -> int:
        """All of them; they are numbered class by class."""
        return sum(one.number for one in self.classes)


def machine_shop(machines: int, crews: int, failure_rate: float, repair_rate: float) -> Shop:
    """Machines of one class, as `shared.models.availability.machine_repair` has them. InvalidInput unless all
    are above 0."""
    check_count("machines", machines, 1)
    check_positive("repair-rate", repair_rate)
    return Shop(
        (PartClass("machine", machines, check_positive("failure-rate", failure_rate), 1.0 / repair_rate),),
        crews,
    )
