"""Faults of a soak: one function per fault action, and one row each in the catalog."""
