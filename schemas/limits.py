"""Bounds of what people write, the same wherever they write it. Every number fits into 63 bits,
and so does the sum of a simulated time and all that may be added to it.

Plain values and no import: the command line reads them before it does anything else.
"""

COUNT_MAX = 2**63 - 1
"""Of whole numbers that have no narrower bound of their own."""
DURATION_S_MAX = 100 * 365 * 86_400
"""A century."""
DURATION_US_MAX = DURATION_S_MAX * 1_000_000
DURATION_S_MIN = 1e-6
"""Simulated time is whole microseconds."""
CALLER_NAME_MAX = 64
"""Characters of an asker's name."""
COMMENT_MAX = 500
"""Characters of why somebody asks."""
IDEMPOTENCY_KEY_MAX = 200
"""Characters of an idempotency key."""
OWNER_PATTERN = r"[a-z][a-z0-9]{0,15}(?:-[a-z0-9]{1,16}){0,3}"
"""Of who wants slices."""
OWNERS_MAX = 1_000
"""Of one fabric: the queue is put in order by owner."""
PRIORITY_MAX = 100
"""Of a slice; the lowest is its negative."""
QUOTED_MAX = 60
"""Characters of what was written that a refusal repeats."""
SPEED_MAX = 1e9
"""Simulated over wall time."""
TRACE_ROWS_MAX = 29_000
"""Recorded requests of one fabric: more than a year of what a pod is asked for by itself (78 slices a day
and filler). All of them stand in the fabric's first message, which must stay below the 8 MB that Kafka
takes."""

FORK_NAME_PATTERN = r"[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?"
FORK_NAMES_ALLOWED = "1 to 40 small letters, digits and hyphens, the first and the last of which is no hyphen"
