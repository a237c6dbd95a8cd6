"""Where things lie on Kafka: topics, the partition of a fabric, the headers of a message."""

from dataclasses import dataclass

from shared.runtimes.live.kafka.brokers import Brokers

TYPE, SOURCE, EXPECTED_OFFSET, LEVEL_AT, TWIN = "type", "source", "expected-offset", "level-at", "twin"
"""Headers. `type` and `source` repeat the envelope's, so that a reader skips without parsing; `twin` says
whose log this is. A root message also carries `expected-offset`, the offset where it must land (elsewhere
it is void), and `level-at`, the position at which every service stood when it was written."""


@dataclass(frozen=True, slots=True)
class Topics:
    """The topics of one twin; consumer groups begin with the same word."""

    prefix: str = "lightwave"

    @property
    def log(self) -> str:
        return f"{self.prefix}.log"

    @property
    def telemetry(self) -> str:
        return f"{self.prefix}.telemetry"

    @property
    def dead_letters(self) -> str:
        return f"{self.prefix}.dead-letters"

    @property
    def operations(self) -> str:
        return f"{self.prefix}.operations"

    def group(self, service: str) -> str:
        return f"{self.prefix}.{service}"


@dataclass(frozen=True, slots=True)
class Endpoints:
    """Where a live twin's Kafka and Redis are."""

    kafka: Brokers
    redis: str
    topics: Topics
    redis_cluster: bool = False
