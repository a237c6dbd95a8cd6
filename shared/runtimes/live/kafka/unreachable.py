"""What every part says when Kafka does not answer."""

from shared.basics.errors import OperationFailed

_TOO_LARGE = ("MessageSizeTooLargeError", "RecordListTooLargeError")
_OUT_OF_RANGE = "OffsetOutOfRangeError"
"""By name: two clients have each a class of their own, and one of them is loaded only where it is used."""


class LogUnreachable(OperationFailed):
    """Kafka does not answer, or refuses. What was being appended may or may not stand on the log."""


def unreachable(bootstrap: str, error: BaseException) -> LogUnreachable:
    """The sentence for whatever a client raised."""
    kind = type(error).__name__
    what = str(error) or kind
    if kind in _TOO_LARGE:
        return LogUnreachable(
            f"Kafka at {bootstrap}: refuses a record as too large: {what}; see max.message.bytes of its topic"
        )
    if kind == _OUT_OF_RANGE:
        return LogUnreachable(
            f"Kafka at {bootstrap}: does not hold the offset that was asked for: {what}; see that nothing "
            "removes messages from its topic (retention)"
        )
    return LogUnreachable(f"Kafka at {bootstrap}: {what}; see that it runs there and takes requests")


def begins_late(topic: str, partition: int, begin: int) -> str:
    """The sentence for a partition of which Kafka has removed the beginning."""
    return (
        f"topic {topic}: partition {partition} begins at {begin}, not at 0: Kafka removed what stood before; "
        "what goes on does so from Redis, which cannot be made again: keep a copy of its files, and restore "
        "the topic from a backup, or make another twin (another LIGHTWAVE_PREFIX and Redis)"
    )
