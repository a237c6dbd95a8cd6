"""The loop of the kernel as numba compiles it: on arrays, without liberties in arithmetic, so that the bits
are those of the plain one. It stands apart because numba takes long to import, and need not be installed."""

from functools import cache
from typing import Any

from shared.basics.errors import InvalidInput
from shared.models.reliability.event_loop import advance, next_queue
from shared.models.reliability.failure_kernel import Loop

try:
    from numba import njit
except ImportError:
    njit = None  # type: ignore[assignment]  # asked below


@cache
def compiled() -> Loop:
    """For `simulate` and `replay`; compiled when it is first called. InvalidInput where numba is not
    installed."""
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
