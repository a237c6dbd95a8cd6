"""A TPU v4 superpod: its wiring, its slice shapes, its parts."""
