"""Kinds of faults, hazards, repair work and shifts."""
