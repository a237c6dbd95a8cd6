"""Placement: which cubes and circuits a slice gets."""
