"""The event loop of the kernel compiled by numba, on arrays, with arithmetic that is bit-identical to plain
Python.

It is a separate module because numba takes long to import and is optional.
"""

from functools import cache
from typing import Any

from shared.basics.errors import InvalidInput
from shared.models.reliability.event_loop import advance, next_queue
from shared.models.reliability.failure_kernel import Loop

try:
    from numba import njit
except ImportError:
    njit = None  # type: ignore[assignment]  # checked below


@cache
def compiled() -> Loop:
    """For `simulate` and `replay`; compiled on the first call. InvalidInput if numba is not installed."""
    if njit is None:
        raise InvalidInput(
            "compiled: numba is not installed; use the plain form, or run "
            "`pip install 'lightwave-twin[compiled]'`"
        )
    compiling = njit(fastmath=False, error_model="python")
    loop, choose = compiling(advance), compiling(next_queue)

    def compiled_loop(*groups: Any) -> None:
        loop(choose, *groups)

    return compiled_loop
