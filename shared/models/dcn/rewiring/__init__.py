"""Rewiring: from one set of circuits to another in safe stages."""
