"""A pod without OCSes: cubes as a superpod's, at fixed places of a torus."""
