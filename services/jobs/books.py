"""What the chips that slices had were used for."""

from services.jobs.state import JobsState
from shared.models.jobs.ledger import PLACES
from shared.models.jobs.progress import at


def used_chip_us(state: JobsState, at_us: int) -> dict[str, int]:
    """Chip-microseconds by place of a ledger, of all jobs so far, up to a moment, if nothing happens until
    then."""
    used = dict(state.used_chip_us)
    for job in state.jobs.values():
        ledger = at(job.progress, at_us).ledger
        for place in PLACES:
            used[place] += job.chips * getattr(ledger, place)
    return used
