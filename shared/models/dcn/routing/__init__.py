"""Routing: the paths that traffic takes over the trunks."""
