"""The interval of snapshots, the same for the embedded twin, the historian and every later reader of a
log."""

SNAPSHOT_INTERVAL_MESSAGES = 2_000
"""Messages between two snapshots: 254 snapshots of some 60 kB per pod-year, and at most 0.2 s of folding to
any position."""
