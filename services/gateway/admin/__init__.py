"""Commissioning of fabrics, and dead letters."""
