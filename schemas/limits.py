"""Limits of values that users enter, the same for every interface. Every number fits into 63 bits, and so
does the sum of a simulated time and anything that may be added to it.

This module has plain values and no imports, because the command line reads it first.
"""

COUNT_MAX = 2**63 - 1
"""Maximum of whole numbers without a lower limit of their own."""
DURATION_S_MAX = 100 * 365 * 86_400
"""A century."""
DURATION_US_MAX = DURATION_S_MAX * 1_000_000
DURATION_S_MIN = 1e-6
"""Simulated time is whole microseconds."""
CALLER_NAME_MAX = 64
"""Maximum number of characters of a caller's name."""
COMMENT_MAX = 500
"""Maximum number of characters of a request's comment."""
IDEMPOTENCY_KEY_MAX = 200
"""Maximum number of characters of an idempotency key."""
OWNER_PATTERN = r"[a-z0-9](?:[a-z0-9-]{0,65}[a-z0-9])?"
"""Pattern of the name of an owner of slices: also the hashes and UUIDs of published traces."""
OWNERS_ALLOWED = (
    "1 to 67 lowercase letters, digits and hyphens, like team-7 or 4b2fdc11; must not start or end with a "
    "hyphen"
)
OWNERS_MAX = 1_000
"""Maximum number of owners in one fabric, because the queue is sorted by owner."""
PRIORITY_MAX = 100
"""Maximum priority of a slice; the minimum is its negative."""
QUOTED_MAX = 60
"""Maximum number of characters of the input that an error repeats."""
SPEED_MAX = 1e9
"""Maximum ratio of simulated to wall time."""
TRACE_ROWS_MAX = 29_000
"""Maximum number of recorded requests of one fabric: more than the random workload of a year (78 slices a day
and filler). All of them are in the fabric's first message, which must stay below Kafka's limit of 8 MB."""
PLANNED_FAULTS_MAX = 20_000
"""Maximum number of recorded faults of one fabric. All of them are in its first message."""
TRACE_PART_ROWS_MAX = 1_000
"""Maximum number of rows of each part of a longer trace, which the lab reads while it runs."""

FORK_NAME_PATTERN = r"[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?"
FORK_NAMES_ALLOWED = "1 to 40 lowercase letters, digits and hyphens; must not start or end with a hyphen"
FORK_DRAWS_MAX = 2**52 - 1
"""Largest number of a future whose random draws a fork can have."""
