"""A soak test: inject random faults into a whole live twin, then verify that nothing was lost."""
