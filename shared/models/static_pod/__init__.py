"""A pod without OCSes: a superpod's cubes at fixed places of a torus."""
