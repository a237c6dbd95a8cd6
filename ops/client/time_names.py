"""Names the option or argument that has the time of a query, which the API calls `at`, in errors."""

from collections.abc import Iterator
from contextlib import contextmanager

from ops.report.safe_text import quoted
from shared.basics.errors import InvalidInput


@contextmanager
def time_named(name: str, text: str, *, shown: str | None = None) -> Iterator[None]:
    """Let InvalidInput about the time `text` of the queries inside start with `name` and the value that the
    user typed, `shown`, if that is not the time alone."""
    try:
        yield
    except InvalidInput as error:
        at = f"at {quoted(text)}"
        if not str(error).startswith(at):
            raise
        raise InvalidInput(f"{name} {quoted(shown or text)}{str(error)[len(at) :]}") from None
