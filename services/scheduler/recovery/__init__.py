"""Recovery of interrupted slices, and slices that must leave their cubes."""
