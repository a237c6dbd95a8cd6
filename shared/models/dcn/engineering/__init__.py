"""Topology engineering: the trunks that a network should have for its demand."""
