"""Requests for slices: arrivals from the production mix or a recorded trace, operators, and run times."""
