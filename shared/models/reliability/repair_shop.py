"""Input of the kernel: classes of parts that fail, and the crews that repair them."""

from dataclasses import dataclass

from shared.basics.checks import check_count, check_not_negative, check_positive
from shared.basics.errors import InvalidInput

PARTS_MAX = 1_000_000
PRIORITIES_MAX = 16


@dataclass(frozen=True, slots=True)
class PartClass:
    """Parts of one kind.

    Each works for an exponential time with `failure_rate`, and its repair has mean `repair_time`, in the same
    unit of time. Repairs of a lower `repair_priority` start first, and in order of request within a
    priority. `special`: specialists do them, too.
    """

    name: str
    number: int
    failure_rate: float
    repair_time: float
    repair_priority: int = 0
    special: bool = False

    def __post_init__(self) -> None:
        check_count("number", self.number, 0, PARTS_MAX)
        check_not_negative("failure-rate", self.failure_rate)
        check_positive("repair-time", self.repair_time)
        check_count("repair_priority", self.repair_priority, 0, PRIORITIES_MAX - 1)


@dataclass(frozen=True, slots=True)
class Shop:
    """Classes of parts, `crews` for any repair and `specialists` for special repairs only.

    Repair times are exponential, or log-normal with `sigma`, the deviation of the logarithm.
    """

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
        """Number of parts; they are numbered class by class."""
        return sum(one.number for one in self.classes)


def machine_shop(machines: int, crews: int, failure_rate: float, repair_rate: float) -> Shop:
    """Machines of one class, as in `shared.models.availability.machine_repair`. InvalidInput unless all are
    above 0."""
    check_count("machines", machines, 1)
    check_positive("repair-rate", repair_rate)
    return Shop(
        (PartClass("machine", machines, check_positive("failure-rate", failure_rate), 1.0 / repair_rate),),
        crews,
    )
