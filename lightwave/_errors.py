"""The errors that callers meet: each one sentence, as the command line says it."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from ops.client.http_client import RequestFailed
from shared.basics.errors import InvalidInput, LightwaveError, NotFound, OperationFailed, TwinUnreachable

__all__ = [
    "InvalidInput",
    "LightwaveError",
    "NotFound",
    "OperationFailed",
    "RequestFailed",
    "TwinUnreachable",
    "without_option_names",
]

OPTION_PREFIX = re.compile(r"^--(?:set )?(?=\S)")


@contextmanager
def without_option_names() -> Iterator[None]:
    """Here nobody gave an option: `--set pod.cubes=0: …` is said as `pod.cubes=0: …`."""
    try:
        yield
    except InvalidInput as error:
        raise InvalidInput(OPTION_PREFIX.sub("", str(error))) from None
