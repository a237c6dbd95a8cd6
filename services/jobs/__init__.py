"""Jobs on slices: steps, checkpoints, restarts and the accounting of their time."""
