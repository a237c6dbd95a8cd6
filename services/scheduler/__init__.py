"""The scheduler: queue, placement, circuits and recovery of slices."""
