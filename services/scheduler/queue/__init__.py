"""The queue: order, backfill, preemption, compaction and reservations."""
