"""Traffic demand between the blocks of a network over time."""
