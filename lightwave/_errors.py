"""The errors that callers meet: each one sentence, as the command line says it."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from ops.common.client import RequestFailed
from shared.basics.errors import InvalidInput, LightwaveError, NotFound, OperationFailed, TwinUnreachable

__all__ = [
    "InvalidInput",
    "LightwaveError",
    "NotFound",
    "OperationFailed",
    "RequestFailed",
    "TwinUnreachable",
    "without_options",
]

OPTION = re.compile(r"^--(?:set )?(?=\S)")


@contextmanager
def without_options() -> Iterator[None]:
    """Here nobody gave an option: `--set pod.cubes=0: …` is said as `pod.cubes=0: …`."""
    try:
        yield
    except InvalidInput as error:
        raise InvalidInput(OPTION.sub("", str(error))) from None
