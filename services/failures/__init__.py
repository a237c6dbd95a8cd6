"""Ground truth of faults: hazards, injected faults, repairs and clears."""
