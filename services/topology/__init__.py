"""Topology engineering of a network: plans its trunks, and rewires them in stages."""
