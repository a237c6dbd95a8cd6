"""Worker processes for what several cores can do at once."""

from collections.abc import Iterator
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager

from shared.basics.errors import OperationFailed


@contextmanager
def named_worker_death() -> Iterator[None]:
    """OperationFailed, one sentence, where a worker process of joblib was killed."""
    try:
        yield
    except BrokenProcessPool:
        raise OperationFailed(
            "--jobs: a worker process was killed, as the system does where memory runs out, and the run is "
            "lost; fewer --jobs need less memory"
        ) from None
