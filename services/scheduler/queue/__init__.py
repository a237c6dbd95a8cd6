"""The queue: order, backfill, pre-emption, compaction and reservations."""
