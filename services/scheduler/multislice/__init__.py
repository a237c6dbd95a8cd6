"""Multislice jobs: all slices of a job have cubes, or none."""
