"""`lightwave live soak`: a whole live twin under random faults, and the proof that nothing happened to it."""
