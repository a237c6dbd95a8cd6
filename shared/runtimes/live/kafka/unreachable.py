"""What every part says when Kafka does not answer."""

from shared.basics.errors import OperationFailed
from shared.runtimes.live.kafka.brokers import Brokers
from shared.runtimes.live.kafka.refusal import refusal
from shared.storage.descriptors import out_of_descriptors

_TOO_LARGE = ("MessageSizeTooLargeError", "RecordListTooLargeError")
_CAME_NOWHERE = "Unable to bootstrap"
_FORBIDDEN = "AuthorizationFailedError"
WORDS_MAX = 80
"""Of what a client says: some quote the whole request."""
_OUT_OF_RANGE = "OffsetOutOfRangeError"
"""By name: two clients have each a class of their own."""


class LogUnreachable(OperationFailed):
    """Kafka does not answer, or refuses. What was being appended may or may not stand on the log."""


def unreachable(brokers: Brokers, error: BaseException) -> LogUnreachable:
    """The sentence for whatever a client raised."""
    kind = type(error).__name__
    what = str(error) or kind
    why = out_of_descriptors(error) or (refusal(brokers) if _CAME_NOWHERE in what else None)
    if why:
        return LogUnreachable(f"Kafka at {brokers}: {why}")
    if kind.endswith(_FORBIDDEN):
        return LogUnreachable(
            f"Kafka at {brokers}: user {brokers.user!r} may not do this: {what[:WORDS_MAX]}; the rights that "
            "a twin needs are in docs/security.md"
        )
    if kind in _TOO_LARGE:
        return LogUnreachable(
            f"Kafka at {brokers}: refuses a record as too large: {what}; see max.message.bytes of its topic"
        )
    if kind == _OUT_OF_RANGE:
        return LogUnreachable(
            f"Kafka at {brokers}: does not hold the offset that was asked for: {what}; see that nothing "
            "removes messages from its topic (retention)"
        )
    return LogUnreachable(f"Kafka at {brokers}: {what}; see that it runs there and takes requests")


def begins_late(topic: str, partition: int, begin: int) -> str:
    """The sentence for a partition of which Kafka has removed the beginning."""
    return (
        f"topic {topic}: partition {partition} begins at {begin}, not at 0: Kafka removed what stood before; "
        "what goes on does so from Redis, which cannot be made again: keep a copy of its files, and restore "
        "the topic from a backup, or make another twin (another LIGHTWAVE_PREFIX and Redis)"
    )
