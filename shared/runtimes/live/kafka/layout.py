"""Layout on Kafka: topics, consumer groups, and the headers of a record."""

from dataclasses import dataclass, field

from shared.runtimes.live.kafka.brokers import Brokers
from shared.storage.store.state_digests import LIVE_ADVICE, StateDigests

TYPE, SOURCE, EXPECTED_OFFSET, LEVEL_AT, TWIN = "type", "source", "expected-offset", "level-at", "twin"
"""Header names. `type` and `source` repeat the envelope's fields, so that readers skip records without
parsing. `twin` identifies the twin. A root message also has `expected-offset`, the offset at which it must be
appended (elsewhere it is void), and `level-at`, the position of every service when it was written."""


@dataclass(frozen=True, slots=True)
class Topics:
    """The topics of one twin; its consumer groups have the same prefix."""

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
    """Addresses of a live twin's Kafka and Redis, and the secret of its state digests, which Redis never
    receives; empty if it has none."""

    kafka: Brokers
    redis: str
    topics: Topics
    redis_cluster: bool = False
    digest_secret: bytes = field(default=b"", repr=False)

    def digests(self, twin: str) -> StateDigests:
        """The digests of the states of a twin."""
        return StateDigests(twin, self.digest_secret, advice=LIVE_ADVICE)
