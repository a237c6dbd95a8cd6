"""Benchmarks: ratios to a peer that is measured in the same run."""
