"""The errors of the public API, each with the same sentence as on the command line."""

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
    """Remove option names from errors: `--set pod.cubes=0: …` becomes `pod.cubes=0: …`."""
    try:
        yield
    except InvalidInput as error:
        raise InvalidInput(OPTION_PREFIX.sub("", str(error))) from None
