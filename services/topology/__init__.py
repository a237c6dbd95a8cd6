"""Topology engineering of a network: which trunks there shall be, and how they come about stage by stage."""
