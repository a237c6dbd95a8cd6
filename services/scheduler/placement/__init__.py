"""Which cubes a slice gets: what is idle, what is kept, what fits, what is best."""
