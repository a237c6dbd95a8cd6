"""Who wants slices: arrivals of the production mix or a recorded trace, operators, and run times."""
