"""The load of servers, such as technicians, and how long their queue remembers its start.

A queue is steady only if its servers have less work than they can do, and only after many relaxation times.
"""

import math
from dataclasses import dataclass

RELAXATIONS_MIN = 20.0
"""Relaxation times that a run has to last at least: its start then is a small part of it."""


@dataclass(frozen=True, slots=True)
class ServerLoad:
    """Work that arrives at a group of servers.

    `servers` is their mean number on duty, `arrivals_per_day` the number of jobs a day, `work_days` the mean
    time on duty that a job takes one server, repeats included. `lasts_days` is the same work in calendar
    time, which is longer if it pauses between shifts; None if it does not.
    """

    name: str
    servers: float
    arrivals_per_day: float
    work_days: float
    lasts_days: float | None = None

    @property
    def load(self) -> float:
        """Work that arrives over work that can be done (ρ); infinite without servers."""
        work = self.arrivals_per_day * self.work_days
        if self.servers == 0.0:
            return math.inf if work > 0.0 else 0.0
        return work / self.servers

    @property
    def is_overloaded(self) -> bool:
        """Whether the queue grows without end."""
        return self.load >= 1.0

    @property
    def growth_per_day(self) -> float:
        """Jobs by which the queue grows a day: (ρ − 1) · servers ÷ work; 0 unless overloaded."""
        if not self.is_overloaded:
            return 0.0
        return self.arrivals_per_day - (self.servers / self.work_days if self.work_days else 0.0)

    @property
    def relaxation_days(self) -> float:
        """Time in which the memory of the start falls by a factor of e; infinite if overloaded, 0 without
        work.

        It is work ÷ (servers · (1 − √ρ)²), as in a queue with exponential times, and at least the calendar
        time of one job: with many servers no job waits, but each still lasts that long.
        """
        if self.is_overloaded:
            return math.inf
        if self.arrivals_per_day * self.work_days == 0.0:
            return 0.0
        queue_days = self.work_days / (self.servers * (1.0 - math.sqrt(self.load)) ** 2)
        return max(queue_days, self.work_days if self.lasts_days is None else self.lasts_days)

    def relaxations(self, days: float) -> float:
        """The number of relaxation times in a run of this many days."""
        one = self.relaxation_days
        return math.inf if one == 0.0 else days / one

    def is_long_enough(self, days: float) -> bool:
        """Whether a run of this many days has at least RELAXATIONS_MIN relaxation times."""
        return self.relaxations(days) >= RELAXATIONS_MIN
