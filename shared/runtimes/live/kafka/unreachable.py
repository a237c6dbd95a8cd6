"""What every part says when Kafka does not answer."""

from shared.basics.errors import OperationFailed


class LogUnreachable(OperationFailed):
    """Kafka does not answer, or refuses. What was being appended may or may not stand on the log."""


def unreachable(bootstrap: str, error: BaseException) -> LogUnreachable:
    """The sentence for whatever a client raised."""
    what = str(error) or type(error).__name__
    return LogUnreachable(f"Kafka at {bootstrap}: {what}; see that it runs there and takes requests")
