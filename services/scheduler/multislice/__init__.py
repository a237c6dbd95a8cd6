"""Slices of jobs over several pods: all of a job have cubes, or none."""
